/**
 * The image of the controller and the agent, where there is no container engine:
 *
 *   node scripts/image.mjs --tree DIR                           the files that relet adds to its base, for the Dockerfile
 *   node scripts/image.mjs --base ROOT --output relet.tar       the whole image, for `ctr -n k8s.io images import`
 *
 * ROOT is a root file system with Node.js as `node` in its PATH: a directory, or a tar of one as `docker export` writes it.
 * What the image runs, and as whom, is read from the Dockerfile. The same files give the same digest. scripts/release makes the
 * image of a release with the same files.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { addImage, OciLayout, tarOf } from './release/archive.mjs';
import { writeSbom } from './release/sbom.mjs';

const repository = join(import.meta.dirname, '..');
const read = (name) => readFileSync(join(repository, name), 'utf8');
const { version, license, description, repository: source } = JSON.parse(read('package.json'));
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The lab, the published libraries and what debuggers read: nobody runs them in a cluster. */
const leftOut = /^dist\/(?:types|metafile\.json|lab\.js|config\.js|hollow\.cjs|apiserver\.cjs|up-\w+\.cjs)$|\.map$/;

/** `beside`: components of the image that are not relet's, for its SBOM. `node`: path of Node.js, where the base has no `env`. */
export function writeTree(dir, { alsoLeftOut = /^$/, node, beside = [] } = {}) {
  const target = join(dir, 'opt/relet');
  // With the manifests that previews and rehearsals read.
  for (const name of ['bin', 'dist', 'package.json', 'LICENSE', 'deploy/base', 'deploy/guards', 'deploy/drain'])
    cpSync(join(repository, name), join(target, name), {
      recursive: true,
      filter: (file) => ![leftOut, alsoLeftOut].some((pattern) => pattern.test(relative(repository, file))),
    });
  const program = join(target, 'bin/relet.cjs');
  if (node !== undefined) writeFileSync(program, read('bin/relet.cjs').replace(/^#!.*/, `#!${node}`));
  writeSbom(target, { beside });
  // For `kubectl exec … -- relet node status`.
  mkdirSync(join(dir, 'usr/local/bin'), { recursive: true });
  symlinkSync('/opt/relet/bin/relet.cjs', join(dir, 'usr/local/bin/relet'));
}

/** The config of the image, by the Dockerfile. */
export const imageConfig = () => ({
  User: instruction('USER'),
  Env: [`PATH=${path}`],
  Entrypoint: JSON.parse(instruction('ENTRYPOINT')),
  Cmd: JSON.parse(instruction('CMD')),
  Labels: {
    'org.opencontainers.image.title': 'relet',
    'org.opencontainers.image.description': description,
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.licenses': license,
    'org.opencontainers.image.source': source.url.replace(/^git\+|\.git$/g, ''),
  },
});

function writeArchive({ base, output, name }) {
  const work = mkdtempSync(join(tmpdir(), 'relet-image-'));
  try {
    writeTree(work);
    const tars = [statSync(base).isDirectory() ? tarOf(base) : readFileSync(base), tarOf(work)];
    const layout = new OciLayout();
    const architecture = { x64: 'amd64' }[process.arch] ?? process.arch;
    const { descriptor, sizes } = addImage(layout, { architecture, config: imageConfig(), tars });
    layout.name(descriptor, { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': version });
    mkdirSync(dirname(resolve(output)), { recursive: true });
    writeFileSync(output, layout.archive());

    const size = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`.padStart(9);
    const [ofBase, ofRelet] = sizes;
    console.log(`${name} ${descriptor.digest}
base:   ${size(ofBase[0])}, compressed ${size(ofBase[1])}
relet:  ${size(ofRelet[0])}, compressed ${size(ofRelet[1])}
${output}: ${size(statSync(output).size).trim()}`);
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** Returns an instruction of the last stage of the Dockerfile, which is the one that runs. */
function instruction(name) {
  const found = [...read('Dockerfile').matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].at(-1);
  if (found === undefined) throw new Error(`the Dockerfile has no ${name}`);
  return found[1];
}

function main() {
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
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) main();
