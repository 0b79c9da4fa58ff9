/**
 * Installs from Debian what the tests use and the machine lacks, where the user may install. Where it cannot, the
 * tests that need the missing program are skipped by name.
 */
import { spawnSync } from 'node:child_process';

const has = (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
// Debian's own Python: another on the PATH does not see Debian's packages.
const hasPythonModule = (name) => spawnSync('/usr/bin/python3', ['-c', `import ${name}`]).status === 0;

// what is used → the Debian package that brings it, unless it is there
const wanted = {
  kubectl: 'kubernetes-client',
  jq: 'jq',
  curl: 'curl',
  openssl: 'openssl',
  tmux: 'tmux',
  "Python's kubernetes": 'python3-kubernetes',
};

const isThere = (what) => (what === "Python's kubernetes" ? hasPythonModule('kubernetes') : has(what));

export function installSystemPackages() {
  const missing = Object.entries(wanted).filter(([what]) => !isThere(what));
  if (missing.length === 0) return;
  const names = missing.map(([, name]) => name);
  const mayInstall = process.getuid?.() === 0 && has('apt-get');
  if (!mayInstall) {
    console.warn(
      `setup: ${missing.map(([what]) => what).join(', ')} not found; tests that need them are skipped. To install: apt-get install ${names.join(' ')}`,
    );
    return;
  }
  console.log(`setup: installing ${names.join(', ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args) =>
    spawnSync('apt-get', ['-qq', ...args], { stdio: ['ignore', 'ignore', 'inherit'], env }).status === 0;
  if (
    !(
      apt('install', '-y', '--no-install-recommends', ...names) ||
      (apt('update') && apt('install', '-y', '--no-install-recommends', ...names))
    )
  )
    console.warn(`setup: could not install ${names.join(', ')}; tests that need them are skipped`);
}
