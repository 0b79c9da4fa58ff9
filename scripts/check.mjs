/** Types, lint, format, dead code, words and, where actionlint is there, workflows, one after the other; `--fix` fixes what can be fixed automatically. */
import { spawnSync } from 'node:child_process';
import { has } from './programs.mjs';

const fix = process.argv.includes('--fix');
const steps = [
  ['types', ['npx', '--no-install', 'tsc', '-p', 'tsconfig.json']],
  ['types of the page', ['npx', '--no-install', 'tsc', '-p', 'tsconfig.page.json']],
  ['lint and format', ['npx', '--no-install', 'biome', 'check', '--error-on-warnings', ...(fix ? ['--write'] : [])]],
  ['dead code', ['npx', '--no-install', 'knip', '--no-progress', '--exclude', 'binaries']],
  ['words', [process.execPath, 'scripts/words.mjs']],
  ...(has('actionlint') ? [['workflows', ['actionlint']]] : []),
];

for (const [name, command] of steps) {
  const { status } = spawnSync(command[0], command.slice(1), { stdio: 'inherit' });
  if (status !== 0) {
    console.error(
      `check: ${name} failed (${command.join(' ')})${fix ? '' : "; 'npm run check:fix' fixes what it can"}`,
    );
    process.exit(1);
  }
}
console.log('check: types, lint, format, dead code, words: clean');
