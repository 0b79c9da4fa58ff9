/** Signs a release: SHA256SUMS names every other file, so a signature of it covers them all. Needs no network. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** No transparency log, no time stamps and no certificates: a key of one's own needs none of them. */
const services = {
  'signing-config': {
    mediaType: 'application/vnd.dev.sigstore.signingconfig.v0.2+json',
    rekorTlogConfig: {},
    tsaConfig: {},
  },
  'trusted-root': { mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1' },
};

/** `key`: an SSH private key, for ssh-keygen; or a key of cosign (*.key), for cosign 3. */
export function sign(out, key) {
  const sums = join(out, 'SHA256SUMS');
  if (!key.endsWith('.key')) {
    rmSync(`${sums}.sig`, { force: true });
    return run('ssh-keygen', ['-Y', 'sign', '-q', '-f', key, '-n', 'relet-release', sums]);
  }
  const work = mkdtempSync(join(tmpdir(), 'relet-sign-'));
  try {
    const files = Object.entries(services).map(([option, value]) => {
      writeFileSync(join(work, option), JSON.stringify(value));
      return `--${option}=${join(work, option)}`;
    });
    run('cosign', ['sign-blob', '--yes', '--key', key, ...files, '--bundle', `${sums}.sigstore.json`, sums]);
  } finally {
    rmSync(work, { recursive: true });
  }
}

function run(program, args) {
  const { status, error } = spawnSync(program, args, { stdio: ['inherit', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`${program} did not sign: ${error?.message ?? `exit code ${status}`}`);
}
