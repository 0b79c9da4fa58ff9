/** docs/security.md names a test for each threat, all of them are there, and each hostile party of the suite is on the page. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const read = (path: string) => readFileSync(join(import.meta.dirname, '..', path), 'utf8');
const parties = 'test/cluster/greedy-parties.ts';
/** Where a test is, if the page names no file: the cluster suite and its parts. */
const suite = ['test/cluster/suite.ts', 'test/cluster/reference-states.ts', parties];
const [, threats = ''] = read('docs/security.md').split(/^## Threats$/m);
const rows = (threats.split(/^## /m)[0] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.slice(2, -2).split(' | '))
  .slice(1)
  .map((cells) => ({ threat: cells[0]!, what: cells[1]!, test: cells.at(-1)! }));

/** Names of the tests in a text, also of those in tables or under a condition. */
const testsIn = (text: string) =>
  [...text.matchAll(/\btest(?:\.runIf\(\w+\)|\.each\(\[[\s\S]*?\]\))?\(\s*(['"])(.+?)\1,/g)].map(([, , name]) => name!);

describe('docs/security.md', () => {
  test('there are threats, and each says what stops it', () => {
    expect(rows.length).toBeGreaterThan(12);
    for (const { threat, what } of rows) expect(what, threat).toMatch(/\w/);
  });

  test.each(rows.map(({ threat, test }) => [threat, test]))('%s: the test exists', (_threat, cell) => {
    const [, path, name] = /^(?:`([\w./-]+)`: )?(.+)$/.exec(cell) ?? [];
    const files = path === undefined ? suite : [path];
    const found = files
      .flatMap((file) => testsIn(read(file)))
      .some((one) => one === name || one.startsWith(`${name}: %s`));
    expect(found, `${files.join(', ')}: ${name}`).toBe(true);
  });

  test('each party of the suite who wants more than it may is a threat', () => {
    const named = new Set(rows.map(({ test }) => test));
    for (const name of testsIn(read(parties))) expect(named).toContain(name);
  });
});
