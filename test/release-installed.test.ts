/**
 * A real release, run from its artefacts alone, where nothing else of relet is: the archive in a root without Node.js, the image by
 * containerd, and both for arm64 under qemu. RELEASE names the directory of `npm run release -- --out`. test/release.test.ts tests
 * what does not need the real Node.js.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import lock from '../scripts/release/runtime.lock.json' with { type: 'json' };
import { has } from './programs.js';
import { temporaryDir } from './temporary-dir.js';

const { version } = manifest;
const release = process.env.RELEASE ?? '';
const [systemRoot = ''] = (process.env.SYSTEMD_ROOT ?? '').split(':');
const runtime = (process.env.CONTAINER_RUNTIME_ENDPOINT ?? '').replace(/^unix:\/\//, '');
const qemu = 'qemu-aarch64-static';

/** A suite that runs where all of this is so; where not, its name says why. */
function describeWhere(needed: [isThere: boolean, otherwise: string][], what: string, tests: () => void): void {
  const missing = [[release !== '', 'RELEASE is not set'] as const, ...needed].find(([isThere]) => !isThere);
  const note = missing === undefined ? '' : ` (skipped: ${missing[1]})`;
  describe.skipIf(missing !== undefined)(`${what}${note}`, tests);
}
const isRoot: [boolean, string] = [process.getuid?.() === 0, 'it needs root'];
const program = (name: string): [boolean, string] => [has(name), `${name} not found`];

const dir = temporaryDir();

const unpack = (name: string, to: string) => {
  mkdirSync(to, { recursive: true });
  execFileSync('tar', ['-xf', join(release, name), '-C', to]);
};
const output = (command: string, ...args: string[]) => execFileSync(command, args, { encoding: 'utf8' });
const expected = (arch: string) => ({ version, node: `v${lock.node.version}`, platform: `linux/${arch}` });

/** Manifests of an image, by architecture, and the bytes of what they name. */
function imageIn(layout: string) {
  const blob = (digest: string) => readFileSync(join(layout, 'blobs', digest.replace(':', '/')));
  const json = (bytes: Buffer) => JSON.parse(bytes.toString());
  const index = json(blob(json(readFileSync(join(layout, 'index.json'))).manifests[0].digest));
  const layersOf = (arch: string): { digest: string; size: number }[] =>
    json(
      blob(
        index.manifests.find((one: { platform: { architecture: string } }) => one.platform.architecture === arch)
          .digest,
      ),
    ).layers;
  return { blob, layersOf };
}

describeWhere([], 'sizes', () => {
  test('an archive has at most 45 MB, an image 60 MB compressed', () => {
    const layout = join(dir, 'sizes');
    unpack(`relet-image-${version}.oci.tar`, layout);
    for (const arch of ['amd64', 'arm64']) {
      expect(statSync(join(release, `relet-${version}-linux-${arch}.tar.xz`)).size).toBeLessThan(45e6);
      const sizes = imageIn(layout).layersOf(arch);
      expect(sizes.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(60e6);
    }
  });
});

const systemRootIsThere: [boolean, string] = [systemRoot !== '', 'SYSTEMD_ROOT is not set'];
describeWhere([systemRootIsThere, isRoot, program('mount'), program('chroot')], 'the archive on a host', () => {
  const name = `relet-${version}-linux-amd64`;
  const root = join(dir, 'root');
  const inRoot = (...command: string[]) =>
    spawnSync('chroot', [root, ...command], { encoding: 'utf8', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } });
  beforeAll(() => {
    for (const place of ['root', 'upper', 'work']) mkdirSync(join(dir, place));
    const layers = `lowerdir=${systemRoot},upperdir=${dir}/upper,workdir=${dir}/work`;
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, root]);
    unpack(`${name}.tar.xz`, join(root, 'opt'));
    execFileSync('ln', ['-s', `/opt/${name}/bin/relet`, join(root, 'usr/local/bin/relet')]);
  });
  afterAll(() => void execFileSync('umount', [root]));

  test('runs without a Node.js of the host', () => {
    expect(inRoot('/bin/sh', '-c', 'command -v node').status).toBe(127);
    const { stdout, stderr } = inRoot('/usr/local/bin/relet', 'version', '-o', 'json');
    expect([JSON.parse(stdout), stderr]).toEqual([expect.objectContaining(expected('amd64')), '']);
  });

  test('validates a config, and is in front of a kubelet that is not there', () => {
    writeFileSync(
      join(root, 'tmp/kubelet.yaml'),
      'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 150\n',
    );
    const validate = ['config', 'validate', '/tmp/kubelet.yaml', '--kubelet-version', '1.37'];
    expect(inRoot('/usr/local/bin/relet', ...validate)).toMatchObject({ status: 0 });
    const check = ['kubelet', '--check', '--dynamic-config-dir=/var/lib/dynamic', '--config=/tmp/kubelet.yaml'];
    expect(inRoot('/usr/local/bin/relet', ...check).stderr).toContain('kubelet');
  });
});

const runtimeIsThere: [boolean, string] = [existsSync(runtime), 'CONTAINER_RUNTIME_ENDPOINT is not set'];
describeWhere([runtimeIsThere, isRoot, program('ctr')], 'the image in containerd', () => {
  const image = `ghcr.io/relet-dev/relet:${version}`;
  const ctr = (...args: string[]) => output('ctr', '--address', runtime, '--namespace', 'relet-release-test', ...args);
  beforeAll(() => ctr('images', 'import', join(release, `relet-image-${version}.oci.tar`)));
  afterAll(() => void ctr('images', 'rm', '--sync', image));

  test('is imported under its name, and runs relet as nobody on a read-only root file system', () => {
    expect(ctr('images', 'ls', '-q').trim()).toBe(image);
    const run = ['run', '--rm', '--read-only', image, 'relet-release-test', 'relet', 'version', '-o', 'json'];
    expect(JSON.parse(ctr(...run))).toMatchObject(expected('amd64'));
    expect(ctr('images', 'check')).toContain('complete');
  });
});

describeWhere([program(qemu)], 'for arm64, under qemu', () => {
  const image = join(dir, 'image-arm64');
  const name = `relet-${version}-linux-arm64`;
  beforeAll(() => {
    const layout = join(dir, 'layout');
    unpack(`relet-image-${version}.oci.tar`, layout);
    const { blob, layersOf } = imageIn(layout);
    mkdirSync(image);
    for (const { digest } of layersOf('arm64'))
      execFileSync('tar', ['-x', '-C', image], { input: gunzipSync(blob(digest)) });
    unpack(`${name}.tar.xz`, dir);
  });

  test.each([
    ['the image', join(image, 'usr/local/bin/node'), join(image, 'opt/relet/bin/relet.cjs')],
    ['the archive', join(dir, name, 'lib/relet/node'), join(dir, name, 'lib/relet/bin/relet.cjs')],
  ])('%s runs', (_what, node, relet) => {
    const answer = output(qemu, '-L', image, node, relet, 'version', '-o', 'json');
    expect(JSON.parse(answer)).toMatchObject(expected('arm64'));
  });

  test('both archives have the same files', () => {
    const filesOf = (arch: string) =>
      output('tar', '-tf', join(release, `relet-${version}-linux-${arch}.tar.xz`)).replaceAll(`-${arch}/`, '/');
    expect(filesOf('arm64')).toBe(filesOf('amd64'));
    expect(readdirSync(join(dir, name, 'bin'))).toEqual(['kubectl-relet', 'kubectl_complete-relet', 'relet']);
  });
});
