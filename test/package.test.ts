/** The package of `npm pack` is complete: it is unpacked in a directory without other files of ours, and brings a system up. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { readBlocks } from './page-blocks.js';
import { temporaryDir } from './temporary-dir.js';

const root = join(import.meta.dirname, '..');
const dir = temporaryDir();
const unpacked = join(dir, 'lib', 'node_modules', 'relet');
/** As npm puts a program on the PATH: a symlink into the package. */
const program = join(dir, 'bin', 'relet');
const home = join(dir, 'home');

/** Packs the existing build; a new build would replace files that other tests use. */
beforeAll(() => {
  for (const path of [unpacked, home, join(dir, 'bin')]) mkdirSync(path, { recursive: true });
  execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', dir], {
    cwd: root,
    // The user may have no home directory that can be written to.
    env: { ...process.env, npm_config_cache: join(dir, 'npm-cache') },
  });
  const tarball = readdirSync(dir).find((name) => name.endsWith('.tgz'))!;
  execFileSync('tar', ['-xzf', join(dir, tarball), '-C', unpacked, '--strip-components=1']);
  symlinkSync(join('..', 'lib', 'node_modules', 'relet', manifest.bin.relet), program);
});
afterAll(() => {
  relet('down');
});

function relet(...args: string[]) {
  return spawnSync(program, args, {
    encoding: 'utf8',
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: home, KUBECONFIG: join(home, '.relet', 'admin.kubeconfig') },
  });
}

test('it has the program, what a cluster and a host get, and whose code is in it; no sources, tests or maps', () => {
  for (const path of [...Object.values(manifest.bin), 'deploy/kustomization.yaml', 'deploy/systemd/20-relet.conf'])
    expect(existsSync(join(unpacked, path)), path).toBe(true);
  for (const { types, default: code } of Object.values(manifest.exports))
    for (const path of [types, code]) expect(existsSync(join(unpacked, path)), path).toBe(true);
  expect(readFileSync(join(unpacked, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8')).toMatch(/^commander .*\(MIT\)$/m);
  const files = readdirSync(unpacked, { recursive: true }).map(String);
  expect(files.filter((name) => /^(src|test|bench)\/|\.map$/.test(name))).toEqual([]);
});

test('it has no dependencies: nothing is installed beside it, and no native code', () => {
  expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual(['devDependencies']);
});

test('an empty project starts a lab with relet/lab, sees a node change its config, and has its types', () => {
  const project = join(dir, 'project');
  mkdirSync(join(project, 'node_modules', '@types'), { recursive: true });
  symlinkSync(unpacked, join(project, 'node_modules', 'relet'));
  const page = readBlocks(readFileSync(join(root, 'docs/lab.md'), 'utf8'));
  const example = page.find((block) => block.kind === 'file' && block.name === 'lab.mjs');
  writeFileSync(join(project, 'lab.mjs'), example?.kind === 'file' ? example.text : '');
  const env = { PATH: process.env.PATH, TMPDIR: project };
  const run = spawnSync(process.execPath, ['lab.mjs'], { cwd: project, encoding: 'utf8', env });
  expect(run).toMatchObject({
    status: 0,
    stdout: "[ 'node-1', 'node-2' ]\nnode-1 runs kubelet-config-1\n",
    stderr: '',
  });
  expect(readdirSync(project).filter((name) => name.startsWith('relet-lab-'))).toEqual([]);

  for (const name of ['@types/node', 'undici-types'])
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  const compilerOptions = { module: 'nodenext', target: 'es2022', strict: true, noEmit: true, types: ['node'] };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  writeFileSync(
    join(project, 'typed.ts'),
    `import { type Lab, type LabOptions, startLab } from 'relet/lab';
const options: LabOptions = { nodes: 2, signal: AbortSignal.timeout(60_000) };
const lab: Lab = await startLab(options);
const path: string = lab.kubeconfig;
// @ts-expect-error: not a number
const url: number = lab.url;
await lab.stopNode(lab.nodes[0] ?? path);
await lab.stop();
console.log(url);
`,
  );
  const tsc = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', project], { encoding: 'utf8' });
  expect(tsc).toMatchObject({ status: 0, stdout: '' });
});

test('npm warns of no install script: each one that the lockfile has is covered by allowScripts, and no other', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { hasInstallScript?: boolean }>;
  };
  const withScripts = Object.keys(packages).filter((path) => packages[path]!.hasInstallScript);
  const names = withScripts.map((path) => path.replace(/^.*node_modules\//, ''));
  expect(Object.keys(manifest.allowScripts).sort()).toEqual(names.sort());
});

test('installed as npm does, behind a symlink, it starts a cluster, changes a node and stops it', () => {
  expect(relet('--version').stdout).toBe(`${manifest.version}\n`);
  const up = relet('up', '--detach', '--nodes', '1', '--port', '0');
  expect(up).toMatchObject({ status: 0, stderr: '' });
  const set = relet('set', 'node-1', 'maxPods=120', '--yes');
  expect(set).toMatchObject({ status: 0, stderr: '' });
  expect(set.stdout).toMatch(/^node-1: active: /m);
  expect(relet('down').stdout).toBe(`stopped the cluster in ${join(home, '.relet')}\n`);
});

test('an installation without its manifests is reported as such, not as a missing file', () => {
  renameSync(join(unpacked, 'deploy'), join(dir, 'deploy'));
  const up = relet('up', '--detach', '--port', '0', '--data-dir', join(dir, 'incomplete'));
  renameSync(join(dir, 'deploy'), join(unpacked, 'deploy'));
  expect(up.status).toBe(2);
  expect(up.stderr).toMatch(/^relet: relet is not installed completely: .*install the whole package\n$/);
});
