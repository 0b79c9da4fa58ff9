/**
 * The image of the controller and the agent, where there is no container engine:
 *
 *   node scripts/image.mjs --tree DIR                           the files that relet adds to its base, for the Dockerfile
 *   node scripts/image.mjs --base ROOT --output relet.tar       the whole image, for `ctr -n k8s.io images import`
 *
 * ROOT is a root file system with Node.js as `node` in its PATH: a directory, or a tar of one as `docker export` writes it.
 * What the image runs, and as whom, is read from the Dockerfile. The same files give the same digest.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';

const repository = join(import.meta.dirname, '..');
const read = (name) => readFileSync(join(repository, name), 'utf8');
const { version, license, description } = JSON.parse(read('package.json'));
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The lab, the published libraries and what debuggers read: nobody runs them in a cluster. */
const leftOut = /^dist\/(?:types|lab\.js|config\.js|hollow\.cjs|apiserver[\w-]*\.cjs)$|\.map$/;

function writeTree(dir) {
  const target = join(dir, 'opt/relet');
  // With the manifests that previews and rehearsals read.
  for (const name of ['bin', 'dist', 'package.json', 'LICENSE', 'deploy/base', 'deploy/guards', 'deploy/drain'])
    cpSync(join(repository, name), join(target, name), {
      recursive: true,
      filter: (file) => !leftOut.test(relative(repository, file)),
    });
  // For `kubectl exec … -- relet node status`.
  mkdirSync(join(dir, 'usr/local/bin'), { recursive: true });
  symlinkSync('/opt/relet/bin/relet.cjs', join(dir, 'usr/local/bin/relet'));
}

/** A tar without times and users of this machine. */
function tarOf(dir) {
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  return execFileSync('tar', [...same, '-C', dir, '-cf', '-', '.'], { maxBuffer: 2 ** 31 });
}

function writeArchive({ base, output, name }) {
  const work = mkdtempSync(join(tmpdir(), 'relet-image-'));
  try {
    const blobs = join(work, 'layout/blobs/sha256');
    mkdirSync(blobs, { recursive: true });
    const addBlob = (mediaType, bytes) => {
      const hex = createHash('sha256').update(bytes).digest('hex');
      writeFileSync(join(blobs, hex), bytes);
      return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
    };
    const addJson = (mediaType, value) => addBlob(mediaType, Buffer.from(JSON.stringify(value)));

    writeTree(join(work, 'tree'));
    const tars = [statSync(base).isDirectory() ? tarOf(base) : readFileSync(base), tarOf(join(work, 'tree'))];
    const layers = tars.map((tar) => addBlob('application/vnd.oci.image.layer.v1.tar+gzip', gzipSync(tar)));
    const config = addJson('application/vnd.oci.image.config.v1+json', {
      architecture: { x64: 'amd64' }[process.arch] ?? process.arch,
      os: 'linux',
      config: {
        User: instruction('USER'),
        Env: [`PATH=${path}`],
        Entrypoint: JSON.parse(instruction('ENTRYPOINT')),
        Cmd: JSON.parse(instruction('CMD')),
        Labels: {
          'org.opencontainers.image.title': 'relet',
          'org.opencontainers.image.description': description,
          'org.opencontainers.image.version': version,
          'org.opencontainers.image.licenses': license,
        },
      },
      rootfs: {
        type: 'layers',
        diff_ids: tars.map((tar) => `sha256:${createHash('sha256').update(tar).digest('hex')}`),
      },
    });
    const index = 'application/vnd.oci.image.index.v1+json';
    const manifest = 'application/vnd.oci.image.manifest.v1+json';
    const image = addJson(manifest, { schemaVersion: 2, mediaType: manifest, config, layers });
    const annotations = { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': version };
    const layout = join(work, 'layout');
    writeFileSync(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
    writeFileSync(
      join(layout, 'index.json'),
      JSON.stringify({ schemaVersion: 2, mediaType: index, manifests: [{ ...image, annotations }] }),
    );
    mkdirSync(dirname(resolve(output)), { recursive: true });
    writeFileSync(output, tarOf(layout));

    const size = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`.padStart(9);
    const [ofBase, ofRelet] = layers;
    console.log(`${name} ${image.digest}
base:   ${size(tars[0].length)}, compressed ${size(ofBase.size)}
relet:  ${size(tars[1].length)}, compressed ${size(ofRelet.size)}
${output}: ${size(statSync(output).size).trim()}`);
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** Of the stage that runs, which is the last one. */
function instruction(name) {
  const found = [...read('Dockerfile').matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].at(-1);
  if (found === undefined) throw new Error(`the Dockerfile has no ${name}`);
  return found[1];
}

const { values } = parseArgs({
  options: {
    tree: { type: 'string' },
    base: { type: 'string' },
    output: { type: 'string', default: `relet-${version}.tar` },
    // containerd takes names with a registry; the kubelet looks for `relet:VERSION` under this one.
    name: { type: 'string', default: `docker.io/library/relet:${version}` },
  },
});
if (values.tree !== undefined) writeTree(values.tree);
else if (values.base !== undefined) writeArchive(values);
else {
  console.error('usage: node scripts/image.mjs --tree DIR | --base DIR|TAR [--output FILE] [--name NAME]');
  process.exitCode = 2;
}
