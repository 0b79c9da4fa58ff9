/** All that `npm test` does on a fresh clone: system packages, build, checks, tests. Arguments go to vitest. */
import { spawnSync } from 'node:child_process';
import { installSystemPackages } from './system-packages.mjs';

function run(...command) {
  const { status } = spawnSync(command[0], command.slice(1), { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

installSystemPackages();
run(process.execPath, 'scripts/build.mjs');
run(process.execPath, 'scripts/check.mjs');
run('npx', '--no-install', 'vitest', 'run', ...process.argv.slice(2));
