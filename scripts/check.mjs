/** Types, lint, format, dead code, words and, where actionlint is there, workflows, at once; `--fix` fixes what can be fixed automatically. */
import { spawn } from 'node:child_process';
import { has } from './programs.mjs';

const fix = process.argv.includes('--fix');
const lint = ['lint and format', ['npx', '--no-install', 'biome', 'check', '--error-on-warnings']];
const others = [
  ['types', ['npx', '--no-install', 'tsc', '-p', 'tsconfig.json']],
  ['types of the page', ['npx', '--no-install', 'tsc', '-p', 'tsconfig.page.json']],
  ['dead code', ['npx', '--no-install', 'knip', '--no-progress', '--exclude', 'binaries']],
  ['words', [process.execPath, 'scripts/words.mjs']],
  ...(has('actionlint') ? [['workflows', ['actionlint']]] : []),
];

/** Prints the output of a step when it has ended, so that it is not mixed with that of others. */
async function run([name, command]) {
  const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] });
  const printed = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => printed.push(bytes));
  const status = await new Promise((resolve) => child.on('error', resolve).on('close', resolve));
  process.stdout.write(Buffer.concat(printed));
  if (status === 0) return;
  process.exitCode = 1;
  console.error(`check: ${name} failed (${command.join(' ')})${fix ? '' : "; 'npm run check:fix' fixes what it can"}`);
}

// The others read the files that it changes.
if (fix) await run([lint[0], [...lint[1], '--write']]);
await Promise.all([...(fix ? [] : [lint]), ...others].map(run));
if (process.exitCode === undefined) console.log('check: types, lint, format, dead code, words: clean');
