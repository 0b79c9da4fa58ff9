/** `npm test`: build, checks, tests. Installs nothing; ends by naming what was skipped and what failed. Arguments go to vitest. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missingPrograms, skipLines } from './programs.mjs';
import { failureLines, unprovenLines } from './test-results.mjs';

const dir = mkdtempSync(join(tmpdir(), 'relet-test-'));
/** Without arguments every test runs. */
const isWhole = process.argv.length === 2;
const results = process.env.RELET_TEST_RESULTS ?? join(dir, 'results.json');

async function run(...command) {
  const env = { ...process.env, RELET_TEST_RESULTS: results };
  const child = spawn(command[0], command.slice(1), { stdio: 'inherit', env });
  const [status, why] = await new Promise((resolve) => {
    child.on('error', (error) => resolve([null, error.message]));
    child.on('close', (code, signal) => resolve([code, `ended by ${signal}`]));
  });
  if (status === 0) return true;
  if (status === null) console.error(`${command.join(' ')}: ${why}`);
  process.exitCode = status ?? 1;
  return false;
}

function readResults() {
  try {
    return JSON.parse(readFileSync(results, 'utf8'));
  } catch {
    return { failedFiles: [], errors: [{ file: '', message: 'vitest ended before it had results; see above' }] };
  }
}

// Neither needs the other, and each has a part that uses one core only.
const prepared = await Promise.all(['build', 'check'].map((name) => run(process.execPath, `scripts/${name}.mjs`)));
if (prepared.every(Boolean)) {
  const reporters = ['--reporter=default', '--reporter=./scripts/test-results.mjs'];
  const passed = await run('npx', '--no-install', 'vitest', 'run', ...reporters, ...process.argv.slice(2));
  const skipped = skipLines(missingPrograms());
  if (skipped.length > 0)
    console.warn(['tests were skipped; npm run setup installs what they need:', ...skipped].join('\n'));
  const unproven = isWhole && passed ? unprovenLines(readResults(), readFileSync('docs/weaknesses.md', 'utf8')) : [];
  if (unproven.length > 0) process.exitCode = 1;
  if (!passed || unproven.length > 0)
    console.error([...failureLines(readResults(), process.cwd()), ...unproven].join('\n'));
}
rmSync(dir, { recursive: true, force: true });
