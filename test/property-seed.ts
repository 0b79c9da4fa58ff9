/**
 * Setup of every test file: property tests try the same cases in every run, unless PROPERTY_SEED is another number. A failure prints
 * the seed. PROPERTY_RUNS is the number of cases where a test does not set its own.
 */
import fc from 'fast-check';

const { PROPERTY_SEED: seed = 1, PROPERTY_RUNS: numRuns = 100 } = process.env;
fc.configureGlobal({ seed: Number(seed), numRuns: Number(numRuns) });
