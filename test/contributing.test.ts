/**
 * CONTRIBUTING.md names the files to change for a new command, a new field rule and a new condition. Here each is added to a copy
 * of the repository, in exactly those files; the copy is built and checked, and must have it.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Lab, startLab } from '../src/lab/index.js';
import { eventually } from './eventually.js';
import { temporaryDir } from './temporary-dir.js';

const root = join(import.meta.dirname, '..');
const copy = temporaryDir();
const contributing = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');

/** The content of a new file, or texts with what comes in their place. */
type Patch = string | [string, string][];
const behind = (text: string, added: string): [string, string] => [text, text + added];

const changes: Record<string, Record<string, Patch>> = {
  'A new command': {
    'src/cli/main.ts': [behind("  'Look at nodes': [\n", "    ofCluster('hello', 'Greet a node'),\n")],
    'src/cli/cluster-verbs.ts': [
      behind(
        'const declarations: Record<string, () => Command> = {\n',
        `  hello: () =>
    withExamples(
      verb('relet hello', 'Greet a node.')
        .argument('<NODE>', 'node')
        .action(async (name, options) => (await import('./look/hello.js')).hello(name, options)),
      [['relet hello node-1', 'with the version of its kubelet']],
    ),

`,
      ),
    ],
    'src/cli/look/hello.ts': `/** \`relet hello NODE\`: greets a node. */
import type { ConnectionOptions } from '../command-line.js';
import { nodeName, withSession } from '../session.js';

export const hello = (name: string, options: ConnectionOptions): Promise<void> =>
  withSession(options, async ({ references, terminal, signal }) => {
    const node = await references.get(nodeName(name), { signal });
    terminal.print(\`hello \${node.name}, \${node.kubeletVersion}\`);
  });
`,
    'docs/cli.md': [behind('|---|---|\n', '| `hello` | greet a node |\n')],
  },
  'A new field rule': {
    'src/config/rules/node.ts': [
      behind(
        "import { nameErrors, valueErrors } from './label.js';\n",
        `
export function checkUnluckyPods(view: ConfigView): void {
  if (view.minor >= 30 && view.number('maxPods') === 113)
    view.report('maxPods', 'invalid configuration: maxPods must not be 113');
}
`,
      ),
    ],
    'src/config/validate.ts': [
      ['  checkLease,\n  checkShutdown,', '  checkUnluckyPods,\n  checkLease,\n  checkShutdown,'],
      behind('const rules: readonly ((view: ConfigView) => void)[] = [\n', '  checkUnluckyPods,\n'),
    ],
    'src/config/rules/rules.cases.txt': [
      behind(
        '20 {nodeLeaseDurationSeconds: 1}\n',
        '29 {maxPods: 113}\n30 {maxPods: 113}\n   IC maxPods must not be 113\n',
      ),
    ],
  },
  'A new condition': {
    'src/api/condition-reasons.ts': [
      behind(
        '  message: string;\n}\n',
        `
/** FlagsPinned is True, or False. */
export const pinnedReasons = {
  some: { reason: 'FieldsPinned', message: 'Flags of the kubelet set fields that a config cannot change.' },
  none: { reason: 'NothingPinned', message: 'No field is set by a flag of the kubelet.' },
} as const satisfies Record<string, ConditionReason>;
`,
      ),
    ],
    'src/api/node-config.ts': [behind("  'UnsignedAccepted',\n", "  'FlagsPinned',\n")],
    'src/agent/sync/node-config-reference.ts': [
      behind('  owedReasons,\n', '  pinnedReasons,\n'),
      behind(
        '    { type: nodeConditions[0], ...configCondition(report), ...about },\n',
        `    {
      type: nodeConditions[9],
      status: report.pinnedByFlags?.length ? 'True' : 'False',
      ...(report.pinnedByFlags?.length ? pinnedReasons.some : pinnedReasons.none),
      ...about,
    },
`,
      ),
    ],
    'docs/errors.md': [
      behind(
        '| `NoTrial` | `OnTrial` False | No config is on trial. |\n',
        `| \`FieldsPinned\` | \`FlagsPinned\` True | Flags of the kubelet set fields that a config cannot change. |
| \`NothingPinned\` | \`FlagsPinned\` False | No field is set by a flag of the kubelet. |
`,
      ),
    ],
  },
};

function apply(file: string, patch: Patch): void {
  const path = join(copy, file);
  if (typeof patch === 'string') {
    expect(existsSync(path), `${file} is new`).toBe(false);
    writeFileSync(path, patch);
    return;
  }
  const patched = patch.reduce(
    (text, [from, to]) => {
      expect(text, `${file} has changed: update the patch here, and CONTRIBUTING.md if need be`).toContain(from);
      return text.replace(from, () => to);
    },
    readFileSync(path, 'utf8'),
  );
  writeFileSync(path, patched);
}

/** Runs a program in the copy, which must succeed. */
function run(program: string, ...args: string[]): string {
  const ended = spawnSync(program, args, { cwd: copy, encoding: 'utf8' });
  expect(ended, ended.stdout + ended.stderr).toMatchObject({ status: 0 });
  return ended.stdout;
}

const relet = (...args: string[]) =>
  spawnSync(process.execPath, [join(copy, 'bin/relet.cjs'), ...args], { cwd: copy, encoding: 'utf8' });

beforeAll(() => {
  const parts = ['bin', 'deploy', 'docs', 'scripts', 'src', 'test', 'bench', 'package.json', 'vitest.config.ts'];
  for (const part of [...parts, 'tsconfig.json', 'tsconfig.types.json', 'README.md', 'ARCHITECTURE.md'])
    cpSync(join(root, part), join(copy, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const patches of Object.values(changes)) for (const [file, patch] of Object.entries(patches)) apply(file, patch);
  run(process.execPath, 'scripts/build.mjs');
});

describe('CONTRIBUTING.md', () => {
  test.each(Object.keys(changes))('%s: names at most four files, and the change here needs exactly those', (title) => {
    const [, section = ''] = contributing.split(`### ${title}\n`);
    const named = [...section.split(/^##/m)[0]!.matchAll(/^\d\. `([^`]+)`/gm)].map(([, file]) => file!);
    expect(named.length).toBeLessThanOrEqual(4);
    expect(named.map((file) => file.replace('NAME', 'hello'))).toEqual(Object.keys(changes[title]!));
  });
});

describe('in a copy with all three changes', () => {
  test('types, the rules for source files and the pages are in order', () => {
    run('npx', '--no-install', 'tsc', '-p', 'tsconfig.json');
    const pages = ['source-rules', 'errors-page', 'cli-page'].map((name) => `test/${name}.test.ts`);
    run('npx', '--no-install', 'vitest', 'run', ...pages, 'src/config/validate.test.ts');
  });

  test('the new command is in the help', () => {
    expect(relet('--help').stdout).toMatch(/^ {2}hello +Greet a node$/m);
    expect(relet('hello', '--help').stdout).toContain('relet hello node-1');
  });

  test('the new rule rejects a config', () => {
    const file = join(copy, 'unlucky.yaml');
    writeFileSync(file, 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 113\n');
    const { status, stdout } = relet('config', 'validate', file, '--kubelet-version', '1.32');
    expect(status).toBe(1);
    expect(stdout).toContain('invalid configuration: maxPods must not be 113');
  });

  test('the new command runs, and the new condition is in the status of a NodeConfig', async () => {
    const path = join(copy, 'dist/lab.js');
    const { startLab: start } = (await import(path)) as { startLab: typeof startLab };
    const lab = await start();
    try {
      const conditions = await eventually('the node has reported', () => conditionsOf(lab));
      expect(conditions.find(({ type }) => type === 'FlagsPinned')).toMatchObject({
        status: 'True',
        reason: 'FieldsPinned',
      });
      const greeting = relet('hello', 'node-1', '--kubeconfig', lab.kubeconfig);
      expect(greeting).toMatchObject({ status: 0, stdout: 'hello node-1, v1.32.1\n' });
    } finally {
      await lab.stop();
    }
  });
});

interface Condition {
  type: string;
  status: string;
  reason: string;
}

function conditionsOf(lab: Lab): Promise<Condition[] | false> {
  return new Promise((resolve, reject) => {
    const path = `${lab.url}/apis/relet.dev/v1alpha1/nodeconfigs/node-1`;
    request(path, lab.tls, async (answer) => {
      const text = (await answer.setEncoding('utf8').toArray()).join('');
      const { conditions } = (JSON.parse(text) as { status?: { conditions?: Condition[] } }).status ?? {};
      resolve(conditions?.some(({ type }) => type === 'ConfigOK') ? conditions : false);
    })
      .on('error', reject)
      .end();
  });
}
