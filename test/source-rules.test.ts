/** Rules for source files: which module may import which, and that every file says what it is. See ARCHITECTURE.md. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const modules: Record<string, { may: string[]; why: string }> = {
  go: { may: [], why: 'how Go reads and prints depends on nothing of ours' },
  api: { may: ['go'], why: 'the types and names of the API are small and pure' },
  config: { may: ['api', 'go'], why: 'knowledge of KubeletConfiguration is pure and published alone' },
  kube: { may: ['api', 'go'], why: 'the client knows any Kubernetes API and nothing of relet' },
  agent: { may: ['api', 'go', 'config', 'kube'], why: 'agent and controller meet only in API objects' },
  fleet: { may: ['api', 'go', 'config', 'kube'], why: 'the view of many nodes needs only the API' },
  rollout: {
    may: ['api', 'go', 'config', 'fleet'],
    why: 'it decides about sets of nodes; the controller reads and writes them',
  },
  audit: {
    may: ['api', 'go', 'config', 'fleet'],
    why: 'benchmarks and exports are pure: they read no cluster and no file',
  },
  controller: {
    may: ['api', 'go', 'config', 'kube', 'fleet', 'rollout'],
    why: 'agent and controller meet only in API objects',
  },
  dashboard: { may: ['api', 'fleet', 'rollout'], why: 'what page and server share is types, and pure' },
  'dashboard/page': {
    may: ['api', 'go', 'config', 'dashboard'],
    why: 'a browser runs it: it checks configs as one types, and asks the server for the rest',
  },
  'dashboard/server': {
    may: ['api', 'go', 'config', 'kube', 'fleet', 'rollout', 'audit', 'dashboard'],
    why: 'it reads with the rights of the person, and changes by running relet itself',
  },
  'memory-api': {
    may: ['api', 'go'],
    why: 'API semantics have no sockets, no credentials and no clock of their own',
  },
  rehearsal: {
    may: ['api', 'go', 'config', 'kube', 'agent', 'fleet', 'rollout', 'controller', 'memory-api'],
    why: 'it is part of the product, which contains nothing of the lab',
  },
  lab: {
    may: ['api', 'go', 'config', 'kube', 'agent', 'fleet', 'rollout', 'controller', 'memory-api', 'rehearsal'],
    why: 'the lab runs the product and has no command line of its own',
  },
  cli: {
    may: [
      'api',
      'go',
      'config',
      'kube',
      'agent',
      'fleet',
      'rollout',
      'audit',
      'controller',
      'memory-api',
      'rehearsal',
      'lab',
      'dashboard',
      'dashboard/server',
    ],
    why: 'the cli puts the modules together',
  },
};

function sources(dir: string): string[] {
  if (!existsSync(join(root, dir))) return [];
  return readdirSync(join(root, dir), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.(tsx?|mjs|cjs)$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** The module of a path such as src/agent/state/directory.ts; undefined for a leaf such as src/clock.ts. Page and server run apart. */
function moduleOf(file: string): string | undefined {
  const [top, module, rest, inside] = file.split('/');
  if (top !== 'src' || rest === undefined) return undefined;
  return module === 'dashboard' && inside !== undefined ? `dashboard/${rest}` : module;
}

function imports(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const pattern =
    /^\s*(?:import|export)\s+(?:type\s+)?(?:[^'"`;]*?\sfrom\s+)?['"](\.[^'"]+)['"]|import\(\s*['"](\.[^'"]+)['"]/gm;
  return [...text.matchAll(pattern)].map((match) =>
    sourceOf(relative(root, join(root, dirname(file), (match[1] ?? match[2])!))),
  );
}

/** The page has files of both kinds. */
function sourceOf(target: string): string {
  const [plain, jsx] = [target.replace(/\.js$/, '.ts'), target.replace(/\.js$/, '.tsx')];
  return existsSync(join(root, jsx)) ? jsx : plain;
}

/** Pairs of directories inside one module that import each other. A directory and one inside it are not a pair. */
function mutualDirectories(files: string[]): string[] {
  const pairs = new Set<string>();
  for (const file of files)
    for (const target of imports(file)) {
      const [from, to] = [dirname(file), dirname(target)];
      const isInside = `${from}/`.startsWith(`${to}/`) || `${to}/`.startsWith(`${from}/`);
      if (moduleOf(target) === moduleOf(file) && moduleOf(file) !== undefined && !isInside) pairs.add(`${from} ${to}`);
    }
  return [...pairs].filter((pair) => {
    const [from, to] = pair.split(' ') as [string, string];
    return from < to && pairs.has(`${to} ${from}`);
  });
}

/** Files that import themselves through others of their module. */
function filesInCycles(files: string[]): string[] {
  const next = new Map(files.map((file) => [file, imports(file).filter((to) => moduleOf(to) === moduleOf(file))]));
  return files.filter((file) => {
    const reached = new Set<string>();
    const toVisit = [...next.get(file)!];
    for (let at = toVisit.pop(); at !== undefined; at = toVisit.pop()) {
      if (reached.has(at)) continue;
      reached.add(at);
      toVisit.push(...(next.get(at) ?? []));
    }
    return reached.has(file);
  });
}

/** Uses of the system's time and randomness. A method such as socket.setTimeout is not one. */
const systemUses = (text: string): string[] =>
  text
    .replace(/\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, '')
    .match(
      /\bDate\.now\b|\bnew Date\(\)|(?<!\.)\bset(Timeout|Interval|Immediate)\b|\bAbortSignal\.timeout\b|\bMath\.random\b|\brandom(UUID|Bytes)\b|\bperformance\.|\bprocess\.hrtime\b|\bsystem(Clock|Random)\b/g,
    ) ?? [];

function complaint(file: string, target: string): string | undefined {
  const from = moduleOf(file);
  const to = moduleOf(target);
  if (!target.startsWith('src/'))
    return target.endsWith('package.json') ? undefined : `${file} imports ${target}: src imports only src`;
  if (from === undefined)
    return to === undefined ? undefined : `${file} imports ${target}: a leaf imports nothing of ours`;
  if (to === undefined || to === from) return undefined;
  const rule = modules[from];
  if (rule === undefined) return `${file}: there is no module '${from}'`;
  if (!rule.may.includes(to))
    return `${file} imports ${target}: '${from}' may import only [${rule.may.join(', ')}] and leaves, because ${rule.why}`;
  return undefined;
}

/** Ways to wait for a fixed time, or until a hand-written limit, and to measure. A call of a manual clock is none. */
const timeKept = (text: string): string[] =>
  text.match(
    /\bset(Timeout|Interval)\(|timers\/promises|\bperformance\.now\(|\bvi\.wait\w+\(|\bexpect\s*\.poll\(|\bsystemClock\.sleep\(|await (sleep|delay)\(/g,
  ) ?? [];

const isTest = (file: string) => /\.test\.ts$/.test(file);

describe('source files', () => {
  const files = sources('src');

  test('a module imports only the modules that it may import', () => {
    const complaints = files
      .filter((file) => !isTest(file))
      .flatMap((file) => imports(file).map((target) => complaint(file, target)))
      .filter((line) => line !== undefined);
    expect(complaints).toEqual([]);
  });

  test('the import rule finds imports and rejects wrong ones', () => {
    expect(files.filter((file) => !isTest(file)).flatMap(imports).length).toBeGreaterThan(0);
    expect(complaint('src/agent/agent.ts', 'src/controller/sets.ts')).toContain('meet only in API objects');
    expect(complaint('src/rollout/plan.ts', 'src/kube/client.ts')).toContain('the controller reads and writes');
    expect(complaint('src/clock.ts', 'src/api/object.ts')).toContain('a leaf imports nothing of ours');
    expect(complaint('src/rehearsal/rehearse.ts', 'src/lab/faults/server.ts')).toContain('nothing of the lab');
    expect(complaint('src/config/decode.ts', 'src/go/quantity.ts')).toBeUndefined();
    expect(complaint('src/dashboard/page/app.tsx', 'src/fleet/preview.ts')).toContain('a browser runs it');
    expect(complaint('src/dashboard/page/app.tsx', 'src/dashboard/server/server.ts')).toContain('a browser runs it');
    expect(complaint('src/dashboard/page/app.tsx', 'src/dashboard/wire.ts')).toBeUndefined();
  });

  test('names are sorted by src/natural-order.ts: node-9 before node-10, everywhere', () => {
    const others = files.filter(
      (file) => !isTest(file) && /^src\/(cli|controller|dashboard|fleet|rollout)\//.test(file),
    );
    const sorted = /localeCompare|Intl\.Collator|\bnames?\)?\.sort\(\)|sort\(\(a, b\) => \(?a\S*name < /i;
    expect(others.filter((file) => sorted.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
  });

  test('only tests import vitest', () => {
    const found = files.filter((file) => !isTest(file) && /from 'vitest/.test(readFileSync(join(root, file), 'utf8')));
    expect(found).toEqual([]);
  });

  test('the directories of a module do not import each other', () => {
    expect(mutualDirectories(files.filter((file) => !isTest(file)))).toEqual([]);
  });

  test('no file of a module imports itself through others, not even their types', () => {
    expect(filesInCycles(files.filter((file) => !isTest(file)))).toEqual([]);
  });

  test('time and randomness are injected', () => {
    const isDeterministic =
      /^src\/(agent|kube|controller|fleet|rollout|dashboard\/server|memory-api|rehearsal|lab\/apiserver|lab\/hollow-kubelet|lab\/faults)\//;
    const exceptions: Record<string, string> = {
      'src/lab/apiserver/apiserver.ts': 'the server is also started without a simulation; these are its defaults',
      'src/rehearsal/simulation/virtual-clock.ts': 'one turn of the event loop shows that nothing is left to happen',
    };
    const found = files
      .filter((file) => isDeterministic.test(file) && !isTest(file))
      .filter((file) => systemUses(readFileSync(join(root, file), 'utf8')).length > 0);
    expect(found.sort()).toEqual(Object.keys(exceptions));
    expect(systemUses('a.setTimeout(5); // Date.now()\nnew Date(5); /* Math.random */')).toEqual([]);
    expect(systemUses('setTimeout(f); new Date(); [1].map(Math.random); systemClock.now()')).toHaveLength(4);
  });

  test('every source file opens by saying what it is', () => {
    const silent = [...files, ...sources('scripts'), ...sources('test'), ...sources('bench')].filter(
      (file) => !/^(#!.*\n)?\s*(\/\*\*|\/\/)\s*\S/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(silent).toEqual([]);
  });

  test('the cli writes through terminal.ts, which lets no control sequence of a value pass', () => {
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
      'test/eventually.ts': 'is the one that waits',
      'test/program.ts': 'kills a program that does not exit',
      'test/flowing-clock.ts': 'is a clock',
      'test/source-rules.test.ts': 'names them here',
      'test/traps.ts': 'traps them',
      'test/traps.test.ts': 'is trapped',
      'test/kill-at-any-step.test.ts': 'watches for a second kubelet all the time',
      'test/torture/round.ts': 'holds faults for a while that a seed chooses',
      'test/torture/tortured-node.ts': 'starts a program again a second after it exited',
    };
    const found = [...files.filter(isTest), ...sources('test')]
      .filter((file) => file.endsWith('.ts') && !(file in mayKeepTime))
      .flatMap((file) => timeKept(readFileSync(join(root, file), 'utf8')).map((words) => `${file}: ${words}`));
    expect(found).toEqual([]);
    expect(timeKept("await sleep(5); setTimeout(next, 700); import 'timers/promises'")).toHaveLength(3);
  });

  test('tests start, type into and signal processes through test/program.ts, which knows that they may have ended', () => {
    const mayAlso: Record<string, string> = {
      'test/program.ts': 'is that file',
      'test/process-rig.ts': 'signal 0 only asks whether a process is there',
      'test/source-rules.test.ts': 'names them here',
      'src/agent/drivers/systemd/agent-lock.test.ts': 'is the text of a program that kills itself',
    };
    const uses = /\bspawn\(|\bfork\(|\.stdin\b[!?]?\.|(?<!\w\.)\bprocess\.kill\(/g;
    const found = [...files.filter(isTest), ...sources('test')]
      .filter((file) => file.endsWith('.ts') && !(file in mayAlso))
      .flatMap((file) => (readFileSync(join(root, file), 'utf8').match(uses) ?? []).map((use) => `${file}: ${use}`));
    expect(found).toEqual([]);
    expect("spawn('x').stdin!.write(''); process.kill(1); started.process.kill(1)".match(uses)).toHaveLength(3);
  });

  test('a socket that a test opens has a handler for errors: the other side may be gone', () => {
    const opens = /\b(?:connect|connectTls|connectHttp2|createConnection)\((?!\))/g;
    const isHandled = (after: string) =>
      /\.on(?:ce)?\('error'|\bjoin\(socket, upstream\)/.test(after.split('\n').slice(0, 25).join('\n'));
    const mayNot: Record<string, string> = {
      'test/source-rules.test.ts': 'names them here',
      'test/traps.test.ts': 'is trapped before it connects',
    };
    const unhandled = (text: string) =>
      /from 'node:(?:net|tls|http2)'/.test(text)
        ? [...text.matchAll(opens)].filter(({ index }) => !isHandled(text.slice(index)))
        : [];
    const found = [...files.filter(isTest), ...sources('test')]
      .filter((file) => file.endsWith('.ts') && !(file in mayNot))
      .filter((file) => unhandled(readFileSync(join(root, file), 'utf8')).length > 0);
    expect(found).toEqual([]);
    expect(unhandled("import { connect } from 'node:net';\nconnect(1);")).toHaveLength(1);
  });

  test('a request that a scenario does not wait for may fail: the server may be gone', () => {
    const dropped = /^\s*void (?!watchLoop\b|\w+\.watch\(|attempt\b|candidate\b|more\b)(?!.*\.(?:catch|then)\().*\(/gm;
    const found = sources('test')
      .filter((file) => file.endsWith('.ts') && file !== 'test/source-rules.test.ts')
      .flatMap((file) =>
        (readFileSync(join(root, file), 'utf8').match(dropped) ?? []).map((line) => `${file}: ${line}`),
      );
    expect(found).toEqual([]);
    expect('void client.patch(x);\nvoid watchLoop(x);\nvoid a().catch(b);'.match(dropped)).toHaveLength(1);
  });

  test('tests answer requests of a page through whileAnswered() only: a request may be under way when they have ended', () => {
    const uses = /\.(?:un)?route(?:All)?\(/;
    const found = sources('test').filter((file) => uses.test(readFileSync(join(root, file), 'utf8')));
    expect(found).toEqual(['test/dashboard-rig.ts']);
  });

  test('paths of the repository come from import.meta.dirname: the path of a URL has no space and no letter beyond ASCII', () => {
    const found = [...files, ...sources('scripts'), ...sources('bench'), ...sources('test')].filter((file) =>
      /import\.meta\.url\)\.pathname/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(found).toEqual([]);
  });

  test('a test does not change the environment for the files that run after it in its worker', () => {
    const changes = /\bprocess\.(env\.\w+ =[^=]|chdir\(|umask\()/;
    const found = [...files.filter(isTest), ...sources('test')].filter(
      (file) => file !== 'test/source-rules.test.ts' && changes.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(found).toEqual([]);
    expect('process.env.TMPDIR = dir').toMatch(changes);
  });

  test('no test has a limit that is shorter than the common one, which a busy machine could pass', () => {
    const own = /(?:\}, |['`],\s*\{\s*timeout: )(\d+)_000\b[\s,})]*(?:\);$|(?<=,\s*)(?:async )?\()/gm;
    const found = [
      ...files.filter(isTest),
      ...sources('test').filter((file) => file !== 'test/source-rules.test.ts'),
    ].flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(own)]
        .filter(([, seconds]) => Number(seconds) <= 180)
        .map(([text]) => `${file}: ${text}`),
    );
    expect(found).toEqual([]);
    const short = "test('x', { timeout: 60_000 }, async () => {}, 90_000);";
    expect(short.match(own)).toHaveLength(2);
    expect(short.replace(/ (?=[{}])/g, '\n').match(own)).toHaveLength(2);
  });

  test('only the cli reads argv and env, or exits', () => {
    const found = files
      .filter((file) => !isTest(file) && moduleOf(file) !== 'cli')
      .filter((file) => /process\.(argv|env\b|exit\()/.test(readFileSync(join(root, file), 'utf8')));
    expect(found).toEqual([]);
  });
});
