/** The rules of the house: which room may import which, and that every file says what it is. See ARCHITECTURE.md. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const rooms: Record<string, { may: string[]; why: string }> = {
  api: { may: [], why: 'the nouns import nothing of ours' },
  config: { may: ['api'], why: 'knowledge of KubeletConfiguration is pure and published alone' },
  kube: { may: ['api'], why: 'the client knows any Kubernetes API and no part of relet' },
  apiserver: { may: ['api'], why: 'the embedded server is a generic Kubernetes API server' },
  agent: { may: ['api', 'config', 'kube'], why: 'agent and rollout meet only in API objects' },
  rollout: { may: ['api', 'config', 'kube'], why: 'agent and rollout meet only in API objects' },
  dashboard: { may: ['api'], why: 'the dashboard is an HTTP client like any other; types only' },
  cli: {
    may: ['api', 'config', 'kube', 'apiserver', 'agent', 'rollout', 'dashboard'],
    why: 'the cli puts the rooms together',
  },
};

function sources(dir: string): string[] {
  if (!existsSync(join(root, dir))) return [];
  return readdirSync(join(root, dir), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.(ts|mjs|cjs)$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** The room of a path such as src/agent/store/memory.ts; undefined for a leaf such as src/clock.ts. */
function roomOf(file: string): string | undefined {
  const [top, room, rest] = file.split('/');
  return top === 'src' && rest !== undefined ? room : undefined;
}

function imports(file: string): { target: string; typeOnly: boolean }[] {
  const text = readFileSync(join(root, file), 'utf8');
  const pattern =
    /^\s*(?:import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?['"](\.[^'"]+)['"]|import\(\s*['"](\.[^'"]+)['"]/gm;
  return [...text.matchAll(pattern)].map((match) => ({
    target: relative(root, join(root, dirname(file), (match[2] ?? match[3])!)).replace(/\.js$/, '.ts'),
    typeOnly: match[1] !== undefined,
  }));
}

function complaint(file: string, target: string, typeOnly: boolean): string | undefined {
  const from = roomOf(file);
  const to = roomOf(target);
  if (!target.startsWith('src/'))
    return target.endsWith('package.json') ? undefined : `${file} imports ${target}: src imports only src`;
  if (from === undefined)
    return to === undefined ? undefined : `${file} imports ${target}: a leaf imports nothing of ours`;
  if (to === undefined || to === from) return undefined;
  const rule = rooms[from];
  if (rule === undefined) return `${file}: there is no room '${from}' in the house`;
  if (!rule.may.includes(to))
    return `${file} imports ${target}: '${from}' may import only [${rule.may.join(', ')}] and leaves, because ${rule.why}`;
  if (from === 'dashboard' && !typeOnly) return `${file} imports ${target}: the dashboard imports types only`;
  return undefined;
}

/** Ways to wait for a fixed time, or until a hand-written limit, and to measure. A call of a manual clock is none. */
const timeKept = (text: string): string[] =>
  text.match(
    /\bset(Timeout|Interval)\(|timers\/promises|\bperformance\.now\(|\bvi\.wait\w+\(|\bexpect\s*\.poll\(|\bsystemClock\.sleep\(|await (sleep|delay)\(/g,
  ) ?? [];

const isTest = (file: string) => /\.test\.ts$/.test(file);

describe('the house', () => {
  const files = sources('src');

  test('imports follow the arrows', () => {
    const complaints = files
      .filter((file) => !isTest(file))
      .flatMap((file) => imports(file).map(({ target, typeOnly }) => complaint(file, target, typeOnly)))
      .filter((line) => line !== undefined);
    expect(complaints).toEqual([]);
  });

  test('the arrows test sees imports and refuses the wrong ones', () => {
    expect(files.filter((file) => !isTest(file)).flatMap(imports).length).toBeGreaterThan(0);
    expect(complaint('src/agent/agent.ts', 'src/rollout/plan.ts', false)).toContain('meet only in API objects');
    expect(complaint('src/clock.ts', 'src/api/object.ts', false)).toContain('a leaf imports nothing of ours');
    expect(complaint('src/config/decode.ts', 'src/api/quantity.ts', false)).toBeUndefined();
  });

  test('every source file opens by saying what it is', () => {
    const silent = [...files, ...sources('scripts'), ...sources('test'), ...sources('bench')].filter(
      (file) => !/^(#!.*\n)?\s*(\/\*\*|\/\/)\s*\S/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(silent).toEqual([]);
  });

  test('the cli writes through write-out.ts, which lets no control sequence of a value pass', () => {
    const isAllowed = (file: string, line: string) =>
      // Log lines are escaped by the log; a hollow kubelet speaks as a kubelet does.
      /createLog\(/.test(line) || file.endsWith('hollow-kubelet.ts');
    const found = files
      .filter((file) => !isTest(file))
      .flatMap((file) =>
        readFileSync(join(root, file), 'utf8')
          .split('\n')
          .map((line) => ({ file, line })),
      )
      .filter(({ line }) => /process\.std(out|err)\.write\(|console\.\w+\(|writeSync\([12],/.test(line))
      .filter(({ file, line }) => !isAllowed(file, line));
    expect(found).toEqual([]);
  });

  test('tests wait with eventually() only, and measure no time', () => {
    const mayKeepTime: Record<string, string> = {
      'test/eventually.ts': 'it is the one that waits',
      'test/end-process.ts': 'kills what does not obey',
      'test/flowing-clock.ts': 'is a clock',
      'test/house.test.ts': 'names them here',
      'test/kill-at-any-step.test.ts': 'watches for a second kubelet all the time',
    };
    const found = [...files.filter(isTest), ...sources('test')]
      .filter((file) => file.endsWith('.ts') && !(file in mayKeepTime))
      .flatMap((file) => timeKept(readFileSync(join(root, file), 'utf8')).map((words) => `${file}: ${words}`));
    expect(found).toEqual([]);
    expect(timeKept("await sleep(5); setTimeout(next, 700); import 'timers/promises'")).toHaveLength(3);
  });

  test('no test has a limit that is shorter than the common one, which a busy machine could pass', () => {
    const own = /(?:\}, |['`], \{ timeout: )(\d+)_000\b[ })]*(?:\);$|, (?:async )?\()/gm;
    const found = [...files.filter(isTest), ...sources('test').filter((file) => file !== 'test/house.test.ts')].flatMap(
      (file) =>
        [...readFileSync(join(root, file), 'utf8').matchAll(own)]
          .filter(([, seconds]) => Number(seconds) <= 180)
          .map(([text]) => `${file}: ${text}`),
    );
    expect(found).toEqual([]);
    expect("test('x', { timeout: 60_000 }, async () => {}, 90_000);".match(own)).toHaveLength(2);
  });

  test('only the cli reads argv and env, or exits', () => {
    const found = files
      .filter((file) => !isTest(file) && roomOf(file) !== 'cli')
      .filter((file) => /process\.(argv|env\b|exit\()/.test(readFileSync(join(root, file), 'utf8')));
    expect(found).toEqual([]);
  });
});
