/**
 * `npm run fuzz -- [--kubelet PATH [--documents N] | --runs N [--coverage]] [--seed N]`: generated input for a longer time than
 * `npm test` has.
 *
 * With --kubelet, N documents (10000) are given to that kubelet and to relet, which must read the same or refuse; it needs no root and
 * starts no pods. Without it, each parser gets N texts (20000); --coverage prints how much
 * of each parser was run. Another seed gives others.
 */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { readOptions } from './usage.mjs';

const { values } = readOptions({
  options: {
    kubelet: { type: 'string' },
    documents: { type: 'string', default: '10000' },
    runs: { type: 'string', default: '20000' },
    coverage: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
  },
});
const { kubelet, documents, runs, coverage, seed } = values;
const env = { PROPERTY_SEED: seed, FUZZ_RUNS: runs };
if (coverage) Object.assign(env, { FUZZ_COVERAGE: '1' });
if (kubelet !== undefined) Object.assign(env, { FUZZ_KUBELET: resolve(kubelet), FUZZ_DOCUMENTS: documents });
const files = kubelet === undefined ? ['test/fuzz/parsers'] : ['test/fuzz/kubelet'];
const vitest = ['--no-install', 'vitest', 'run', '--reporter=verbose', '--testTimeout=36000000', ...files];
const { status } = spawnSync('npx', vitest, { stdio: 'inherit', env: { ...process.env, ...env } });
process.exitCode = status ?? 1;
