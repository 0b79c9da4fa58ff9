/** The image: what goes into it is enough, the manifests run it as it says, and it can be built without a container engine. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import pkg from '../package.json' with { type: 'json' };
import { temporaryDir } from './temporary-dir.js';

const repository = join(import.meta.dirname, '..');
const read = (name: string) => readFileSync(join(repository, name), 'utf8');
const dockerfile = read('Dockerfile');
const instructions = (name: string) =>
  [...dockerfile.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].map(([, rest]) => rest!);
const { spec } = parseDocument(read('deploy/base/controller.yaml')).toJS().spec.template;

interface Metafile {
  outputs: Record<string, { inputs: Record<string, object> }>;
}

const dir = temporaryDir();

function image(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(repository, 'scripts/image.mjs'), ...args]);
  expect(String(stderr)).toBe('');
  expect(status).toBe(0);
  return String(stdout);
}

test('the Deployment names the image of this version, and runs it as nobody', () => {
  expect(spec.containers[0].image).toBe(`relet:${pkg.version}`);
  expect(dockerfile).toContain(`relet:${pkg.version} .`);
  expect(instructions('USER')).toEqual([`${spec.securityContext.runAsUser}:${spec.securityContext.runAsUser}`]);
  const [command] = instructions('CMD');
  expect(JSON.parse(command!)).toEqual(spec.containers[0].args);
});

test('the Dockerfile adds the files of scripts/image.mjs, and they are enough for controller, agent and dashboard', () => {
  expect(dockerfile).toMatch(/node scripts\/image\.mjs --tree \/image$/m);
  expect(instructions('COPY').at(-1)).toBe('--from=build /image /');
  const root = join(dir, 'tree');
  image('--tree', root);
  const [program, ...args] = JSON.parse(instructions('ENTRYPOINT')[0]!) as string[];
  const inImage = args.map((arg) => (arg.startsWith('/') ? join(root, arg) : arg));
  const run = (...words: string[]) => spawnSync(program!, [...inImage, ...words], { encoding: 'utf8' });
  const set = join(repository, 'examples/rehearsal/web.yaml');
  // The dashboard runs it, and a preview reads the same manifests.
  expect(run('rollout', 'rehearse', set, '--count', '2', '--trial', '10s').stderr).toContain('complete');
  expect(run('controller', '--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('--leader-elect') });
  expect(run('kubelet', '--version', '--kubelet-binary=/nowhere').stderr).toContain('/nowhere');
  const files = readdirSync(root, { recursive: true }).map(String);
  expect(files.filter((name) => /\.map$|\.d\.ts$|node_modules|metafile|\.node$/.test(name))).toEqual([]);
  // By the bundler's own record of what each bundle was made of.
  const { outputs } = JSON.parse(read('dist/metafile.json')) as Metafile;
  const bundles = files.filter((name) => name.endsWith('.cjs') && name.startsWith('opt/relet/dist/'));
  const ofLab = (name: string) =>
    Object.keys(outputs[name.replace('opt/relet/', '')]!.inputs).filter((input) => input.startsWith('src/lab/'));
  expect(bundles.length).toBeGreaterThan(30);
  expect(bundles.filter((name) => ofLab(name).length > 0)).toEqual([]);
  expect(ofLab('dist/apiserver.cjs').length).toBeGreaterThan(0);
});

test('the build may read what it copies', () => {
  const allowed = new Set(
    read('.dockerignore')
      .match(/^!.*$/gm)
      ?.map((line) => line.slice(1)),
  );
  const wanted = instructions('COPY')
    .filter((one) => !one.startsWith('--'))[0]!
    .split(' ')
    .slice(0, -1);
  for (const name of [...wanted, 'src', 'bin', 'deploy', 'scripts', 'tsconfig.json', 'LICENSE'])
    expect(allowed, name).toContain(name);
});

test('without an engine the same image is an OCI archive whose digests hold, and the same files give the same digest', () => {
  const base = join(dir, 'base');
  mkdirSync(join(base, 'usr/bin'), { recursive: true });
  writeFileSync(join(base, 'usr/bin/node'), 'stands for Node.js');
  const archive = join(dir, 'image.tar');
  const printed = image('--base', base, '--output', archive);
  const layout = join(dir, 'layout');
  mkdirSync(layout);
  expect(spawnSync('tar', ['-xf', archive, '-C', layout]).status).toBe(0);
  const blob = ({ digest, size }: { digest: string; size: number }) => {
    const bytes = readFileSync(join(layout, 'blobs', digest.replace(':', '/')));
    expect([digest, size]).toEqual([`sha256:${sha256(bytes)}`, bytes.length]);
    return bytes;
  };
  const json = (bytes: Buffer) => JSON.parse(bytes.toString());
  const [image1] = json(readFileSync(join(layout, 'index.json'))).manifests;
  expect(image1.annotations['io.containerd.image.name']).toBe(`docker.io/library/relet:${pkg.version}`);
  const manifest = json(blob(image1));
  const { config, rootfs } = json(blob(manifest.config));
  expect(config).toMatchObject({ User: '65532:65532', Cmd: spec.containers[0].args });
  const tars: Buffer[] = manifest.layers.map((layer: { digest: string; size: number }) => gunzipSync(blob(layer)));
  expect(tars.map((tar) => `sha256:${sha256(tar)}`)).toEqual(rootfs.diff_ids);
  const names = tars.map((input) => String(spawnSync('tar', ['-t'], { input }).stdout).split('\n'));
  expect(names[0]).toContain('./usr/bin/node');
  expect(names[1]).toContain(`.${config.Entrypoint[1]}`);

  // A base as `docker export` writes it, and another time: only contents count.
  const tar = join(dir, 'base.tar');
  writeFileSync(tar, tars[0]!);
  expect(image('--base', tar, '--output', archive)).toBe(printed);
});

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
