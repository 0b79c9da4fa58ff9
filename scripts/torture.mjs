/**
 * `npm run torture -- [--hours N] [--seed S] [--driver process|systemd|vm]`: random assignments and faults on a node with a real
 * kubelet, round after round, and what CONTRIBUTING.md says each driver needs.
 *
 * After each round everything heals, the Node must be Ready and its status true. A round is a line; a summary ends the run. The first
 * violation ends it with exit code 1, and the logs of all programs are kept.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from './usage.mjs';

const { values } = readOptions({
  options: {
    hours: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
    driver: { type: 'string', default: 'process' },
  },
});
const env = {
  TORTURE_HOURS: values.hours,
  TORTURE_SEED: values.seed,
  TORTURE_DRIVER: values.driver,
  // Outside the temporary directory of the tests, which is removed.
  TORTURE_LOGS: mkdtempSync(join(tmpdir(), 'relet-torture-')),
};
const vitest = [
  '--no-install',
  'vitest',
  'run',
  'test/torture',
  '--reporter=verbose',
  '--disable-console-intercept=true',
];
const { status } = spawnSync('npx', vitest, { stdio: 'inherit', env: { ...process.env, ...env } });
process.exitCode = status ?? 1;
