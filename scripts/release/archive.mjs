/** Archives that depend on contents alone: no time, user, umask or locale of this machine is in them. And OCI layouts of them. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** A tar of what is in a directory, or of some names in it. Who may run a file may still run it; everybody may read. */
export function tarOf(dir, names = ['.']) {
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  const env = { ...process.env, LC_ALL: 'C' };
  const args = [...same, '--mode=u=rwX,go=rX', '-C', dir, '-cf', '-', ...names];
  return execFileSync('tar', args, { env, maxBuffer: 2 ** 31 });
}

/** Blocks of a fixed size, so that the number of threads does not change the bytes. */
export const xz = (bytes, level) =>
  execFileSync('xz', ['--compress', '--stdout', `-${Math.floor(level / 2)}`, '--threads=2', '--block-size=32MiB'], {
    input: bytes,
    maxBuffer: 2 ** 31,
  });

/** Content of an OCI registry as a directory: blobs by digest, and an index that names some of them. */
export class OciLayout {
  #dir = mkdtempSync(join(tmpdir(), 'relet-oci-'));
  #named = [];

  constructor() {
    mkdirSync(join(this.#dir, 'blobs/sha256'), { recursive: true });
  }

  blob(mediaType, bytes) {
    const hex = sha256(bytes);
    writeFileSync(join(this.#dir, 'blobs/sha256', hex), bytes);
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
  }

  json(mediaType, value) {
    return this.blob(mediaType, Buffer.from(JSON.stringify(value)));
  }

  /** `layers` are blobs, `config` too. */
  manifest({ config, layers, annotations }) {
    const mediaType = 'application/vnd.oci.image.manifest.v1+json';
    return this.json(mediaType, { schemaVersion: 2, mediaType, config, layers, ...(annotations && { annotations }) });
  }

  index(manifests) {
    const mediaType = indexType;
    return this.json(mediaType, { schemaVersion: 2, mediaType, manifests });
  }

  /** Gives a manifest or an index a name in the layout. */
  name(descriptor, annotations) {
    this.#named.push({ ...descriptor, annotations });
  }

  /** The layout as a tar; the directory is gone afterwards. */
  archive() {
    writeFileSync(join(this.#dir, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
    const index = { schemaVersion: 2, mediaType: indexType, manifests: this.#named };
    writeFileSync(join(this.#dir, 'index.json'), JSON.stringify(index));
    try {
      return tarOf(this.#dir, ['blobs', 'index.json', 'oci-layout']);
    } finally {
      this.close();
    }
  }

  close() {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

const indexType = 'application/vnd.oci.image.index.v1+json';
const layerType = 'application/vnd.oci.image.layer.v1.tar+gzip';

/** An image of layers, each a tar, for one architecture; returns its descriptor and the sizes of its layers. */
export function addImage(layout, { architecture, config, tars, level = 6 }) {
  const layers = tars.map((tar) => layout.blob(layerType, gzipSync(tar, { level })));
  const rootfs = { type: 'layers', diff_ids: tars.map((tar) => `sha256:${sha256(tar)}`) };
  const descriptor = layout.manifest({
    config: layout.json('application/vnd.oci.image.config.v1+json', { architecture, os: 'linux', config, rootfs }),
    layers,
  });
  return { descriptor, sizes: layers.map(({ size }, index) => [tars[index].length, size]) };
}
