/**
 * A vitest reporter that writes the result of each test, and the errors that belong to none, to the file in RELET_TEST_RESULTS:
 * `npm test` reads it to name the files that failed, scripts/runs.mjs to count over several runs.
 */
import { writeFileSync } from 'node:fs';

export default class TestResults {
  onTestRunEnd(modules, unhandledErrors) {
    const tests = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({
        file: module.relativeModuleId,
        name: test.fullName,
        state: test.result().state,
        ms: Math.round(test.diagnostic()?.duration ?? 0),
      })),
    );
    const failedFiles = modules.filter((module) => !module.ok()).map((module) => module.relativeModuleId);
    const errors = unhandledErrors.map((error) => ({
      file: error.VITEST_TEST_PATH ?? '',
      message: String(error.message ?? error).split('\n')[0],
    }));
    const path = process.env.RELET_TEST_RESULTS;
    if (path) writeFileSync(path, JSON.stringify({ tests, failedFiles, errors }));
  }
}

/** The last lines of `npm test` when it failed: each file with the command that runs it alone, and errors outside of tests. */
export function failureLines({ failedFiles, errors }, root) {
  const relative = (file) => file.replace(`${root}/`, '');
  const files = new Set([...failedFiles, ...errors.map(({ file }) => file).filter(Boolean)].map(relative));
  return [
    ...errors.map(({ file, message }) => `error outside of any test${file && ` in ${relative(file)}`}: ${message}`),
    ...(files.size === 0 ? [] : [`failed: ${files.size} ${files.size === 1 ? 'file' : 'files'}. To run one alone:`]),
    ...[...files].sort().map((file) => `  npx vitest run ${file}`),
  ];
}

/** The tests that a table of docs/weaknesses.md names: the last cell of a row is `FILE: NAME`, or - where there is none. */
export function provenTests(page) {
  const row = /^\| (W\d+) .*\| `([^`]*?): (.*)` \|$/gm;
  return [...page.matchAll(row)].map(([, id, file, name]) => ({ id, file, name }));
}

/** Rows whose test is not among the tests that passed in a run of all tests. */
export function unprovenLines({ tests }, page) {
  const passed = tests.filter(({ state }) => state === 'passed');
  return provenTests(page)
    .filter((proof) => !passed.some(({ file, name }) => file === proof.file && name.includes(proof.name)))
    .map(({ id, file, name }) => `docs/weaknesses.md: ${id}: no test passed: ${file}: ${name}`);
}
