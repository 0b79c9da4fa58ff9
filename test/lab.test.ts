/** `relet/lab` from the inside: options, stopping single nodes, and that nothing is left behind. docs/lab.md is compared. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Lab, type LabOptions, startLab } from '../src/lab/index.js';
import { eventually } from './eventually.js';
import { temporaryDir } from './temporary-dir.js';

const packageDir = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(packageDir, path), 'utf8');
const labs: Lab[] = [];
// Labs of other test files must not be taken for ours.
beforeAll(() => void vi.stubEnv('TMPDIR', mkdtempSync(join(tmpdir(), 'relet-labs-'))));
afterAll(async () => {
  await Promise.all(labs.map((lab) => lab.stop()));
  rmSync(tmpdir(), { recursive: true, force: true });
  vi.unstubAllEnvs();
});

async function start(options: LabOptions = {}): Promise<Lab> {
  const lab = await startLab({ packageDir, ...options });
  labs.push(lab);
  return lab;
}

/** Processes whose environment names the directory of a lab. */
function processesOf(dataDir: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`RELET_SYSTEM=${dataDir}`);
    } catch {
      return false;
    }
  });
}

describe('startLab', () => {
  test('a node can be stopped and started again, and after stop() no process and no file is left', async () => {
    const lab = await start({ nodes: 2, kubeletVersion: '1.31.4' });
    expect(lab.nodes).toEqual(['node-1', 'node-2']);
    expect(readFileSync(lab.kubeconfig, 'utf8')).toBe(lab.kubeconfigText);
    expect(lab.kubeconfigText).toContain(lab.url);
    const all = processesOf(lab.dataDir).length;
    await lab.stopNode('node-2');
    expect(processesOf(lab.dataDir)).toHaveLength(all - 2);
    await lab.startNode('node-2');
    expect(processesOf(lab.dataDir)).toHaveLength(all);
    expect(() => lab.stopNode('node-3')).toThrow("there is no node 'node-3'; there are node-1, node-2");
    await Promise.all([lab.stop(), lab.stop()]);
    expect(processesOf(lab.dataDir)).toEqual([]);
    expect(existsSync(lab.dataDir)).toBe(false);
  });

  test('a signal that is aborted while a lab starts ends it, and nothing is left', async () => {
    const before = new Set(readdirSync(tmpdir()));
    const abort = new AbortController();
    const starting = startLab({ packageDir, signal: abort.signal });
    const dataDir = await eventually('the lab has a directory', () => {
      const name = readdirSync(tmpdir()).find((entry) => entry.startsWith('relet-lab-') && !before.has(entry));
      expect(name).toBeDefined();
      return join(tmpdir(), name!);
    });
    abort.abort(new Error('enough'));
    await expect(starting).rejects.toThrow('enough');
    expect(processesOf(dataDir)).toEqual([]);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('a signal that is aborted later stops a running lab', async () => {
    const abort = new AbortController();
    const lab = await start({ signal: abort.signal, references: 'Node' });
    abort.abort();
    await eventually('nothing is left', () => expect(existsSync(lab.dataDir)).toBe(false));
  });

  test('a program that exits without stop() leaves no process running', async () => {
    const dir = temporaryDir();
    const script = join(dir, 'exits.mjs');
    writeFileSync(
      script,
      `import { startLab } from '${join(packageDir, 'dist/lab.js')}';
const lab = await startLab();
console.log(lab.dataDir);
process.exit(0);
`,
    );
    const { stdout } = spawnSync(process.execPath, [script], { encoding: 'utf8', env: { TMPDIR: dir } });
    expect(stdout).toContain('relet-lab-');
    await eventually('its processes have ended', () => expect(processesOf(stdout.trim())).toEqual([]));
  });

  test.each<[LabOptions, string]>([
    [{ nodes: 0 }, 'nodes must be a whole number from 1 to 500'],
    [{ nodes: 1.5 }, 'nodes must be a whole number from 1 to 500'],
    [{ trialDuration: 'soon' }, "trialDuration must be a duration such as 2s or 10m, not 'soon'"],
    [{ kubeletVersion: '1.10.0' }, "kubeletVersion must be from 1.11.0 to 1.37.x, not '1.10.0'"],
    [{ references: 'Pod' as 'Node' }, "references must be 'NodeConfig' or 'Node', not 'Pod'"],
    [{ packageDir: '/nowhere' }, 'install the whole relet package, or set packageDir'],
  ])('%j is rejected with a sentence that says what to do', async (options, message) => {
    await expect(startLab({ packageDir, ...options })).rejects.toThrow(message);
  });
});

test('docs/lab.md has every option and every member, with the sentence and the default of the code', () => {
  const code = read('src/lab/index.ts');
  const members = (name: string) => {
    const [body = ''] = code.split(`export interface ${name} {`)[1]!.split('\n}');
    return [...body.matchAll(/\/\*\* (.+?)(?: Default: (.+?))?\.? \*\/\n {2}(?:readonly )?(\w+)/g)].map(
      ([, sentence, standard, member]) => ({ member: member!, standard, sentence: `${sentence!.replace(/\.$/, '')}.` }),
    );
  };
  const rows = [...read('docs/lab.md').matchAll(/^\| `(\w+)` \| (?:(.+?) \| )?(.+?) \|$/gm)].map(
    ([, member, standard, sentence]) => ({ member, standard: standard?.replaceAll('`', ''), sentence }),
  );
  expect(rows).toEqual([...members('LabOptions'), ...members('Lab')]);
});
