/** Types, lint, format and dead code, one after the other; `--fix` mends what can be mended by itself. */
import { spawnSync } from 'node:child_process';

const fix = process.argv.includes('--fix');
const steps = [
  ['types', ['tsc', '-p', 'tsconfig.json']],
  ['lint and format', ['biome', 'check', '--error-on-warnings', ...(fix ? ['--write'] : [])]],
  ['dead code', ['knip', '--no-progress', '--exclude', 'binaries']],
];

for (const [name, command] of steps) {
  const { status } = spawnSync('npx', ['--no-install', ...command], { stdio: 'inherit' });
  if (status !== 0) {
    console.error(
      `check: ${name} failed (${command.join(' ')})${fix ? '' : "; 'npm run check:fix' mends what it can"}`,
    );
    process.exit(1);
  }
}
console.log('check: types, lint, format, dead code: clean');
