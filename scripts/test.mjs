/** `npm test`: build, checks, tests. Installs nothing; ends by naming what was skipped. Arguments go to vitest. */
import { spawnSync } from 'node:child_process';
import { missingPrograms, skipLines } from './programs.mjs';

function run(...command) {
  const { status } = spawnSync(command[0], command.slice(1), { stdio: 'inherit' });
  if (status !== 0) process.exitCode = status ?? 1;
  return status === 0;
}

if (run(process.execPath, 'scripts/build.mjs') && run(process.execPath, 'scripts/check.mjs')) {
  run('npx', '--no-install', 'vitest', 'run', ...process.argv.slice(2));
  const lines = skipLines(missingPrograms());
  if (lines.length > 0)
    console.warn(['tests were skipped; npm run setup installs what they need:', ...lines].join('\n'));
}
