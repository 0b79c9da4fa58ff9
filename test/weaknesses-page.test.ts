/** docs/weaknesses.md names 36 weaknesses, and each with a test names one that is there. `npm test` fails if one of them did not pass. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
// @ts-expect-error: a script without types
import * as results from '../scripts/test-results.mjs';

const provenTests = results.provenTests as (page: string) => { id: string; file: string; name: string }[];
const unprovenLines = results.unprovenLines as (run: object, page: string) => string[];
const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs', 'weaknesses.md'), 'utf8');
const ids = [...page.matchAll(/^\| (W\d+) /gm)].map(([, id]) => id!);

describe('docs/weaknesses.md', () => {
  test('all 36 are there, in order', () => {
    expect(ids).toEqual(Array.from({ length: 36 }, (_, index) => `W${index + 1}`));
  });

  test('35 of them name a test: a file of npm test, and a name', () => {
    const named = provenTests(page);
    expect(named.map(({ id }) => id)).toEqual(ids.filter((id) => id !== 'W36'));
    expect(named.filter(({ file }) => !existsSync(join(root, file)))).toEqual([]);
  });

  test('a test that a run does not have, or that did not pass, is named at the end of the run', () => {
    const row = '| W1 | H | weak | answer | `test/a.test.ts: it holds` |';
    const result = (name: string, state: string) => ({ tests: [{ file: 'test/a.test.ts', name, state }] });
    expect(unprovenLines(result('a node: it holds here', 'passed'), row)).toEqual([]);
    for (const other of [result('a node: it holds', 'skipped'), result('it held', 'passed'), { tests: [] }])
      expect(unprovenLines(other, row)).toEqual(['docs/weaknesses.md: W1: no test passed: test/a.test.ts: it holds']);
  });
});
