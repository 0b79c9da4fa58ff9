/**
 * docs/conformance.md lists every case of the conformance list, and for each the test files that name it by its id. Kept
 * equal both ways: an id that no test names, a file that stops naming one and a row too many all fail here.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const specification = join(root, '..', 'shared', 'spec', 'upstream-dkc.md');

const numbered = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);
const ids = [
  'E1',
  ...numbered('E1.', 13),
  ...numbered('E', 9).slice(1),
  ...numbered('A', 3),
  ...numbered('U1.', 2),
  ...numbered('U2.', 9),
  ...numbered('U3.', 15),
  ...numbered('U4.', 6),
  ...numbered('U5.', 35),
  ...numbered('U6.', 17),
  ...numbered('U7.', 18),
  ...numbered('N', 5),
  ...numbered('X', 15),
];
/** As the specification writes them. */
const idPattern = /(?<![\w.])(?:[EU]\d\.\d+|[EA]\d|N[1-5]|X\d{1,2})(?![\w]|\.\d)/g;
/** At the head of a name, or after another one: `'X5 an edit …'`, `'U4.1 and U5.30: …'`, `'U5.7'` in a table. */
const inName = /(?<=['"`]|\band )(?:[EU]\d\.\d+(?=[ :'"`])|(?:[EA]\d|N[1-5]|X\d{1,2})(?=[ :]))/g;

/** Ids in the names of a file's tests; a comment proves nothing. */
function namedIn(text: string): Set<string> {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  return new Set(code.match(inName) ?? []);
}

function testFiles(dir: string): string[] {
  return readdirSync(join(root, dir), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts') && entry.name !== 'conformance-list.test.ts')
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

const files = [...testFiles('src'), ...testFiles('test')];
const named = new Map(files.map((file) => [file, namedIn(readFileSync(join(root, file), 'utf8'))]));
const filesOf = (id: string) => files.filter((file) => named.get(file)!.has(id));

const rows = readFileSync(join(root, 'docs', 'conformance.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| [EAUNX]\d/.test(line))
  .map((line) => line.slice(2, -2).split(' | '))
  .map(([id, what, shownBy, note]) => ({
    id: id!,
    what: what!,
    files: [...shownBy!.matchAll(/`([^`]+)`/g)].map(([, file]) => file!),
    note: note?.trim() ?? '',
  }));

describe('docs/conformance.md', () => {
  test('has one row for every id, in order', () => {
    expect(rows.map(({ id }) => id)).toEqual(ids);
  });

  test('names exactly the test files that name the id', () => {
    expect(Object.fromEntries(rows.map((row) => [row.id, row.files]))).toEqual(
      Object.fromEntries(ids.map((id) => [id, filesOf(id)])),
    );
  });

  test('what has no test says why not', () => {
    const without = rows.filter((row) => row.files.length === 0);
    expect(without.map(({ id }) => id)).toEqual(['U3.8', 'U5.17']);
    for (const { id, note } of without) expect(note, id).toMatch(/^Does not apply: /);
  });

  test('the search for ids sees names and nothing else', () => {
    const text =
      "test('X1 a', …);\n// 'X3 b'\n/* 'E1.2' */ ['U5.7', 'E1.13 and U6.1: x', 'A1', 'see X4', 'v1.2', 'AE12']";
    expect([...namedIn(text)]).toEqual(['X1', 'U5.7', 'E1.13', 'U6.1']);
  });

  test.skipIf(!existsSync(specification))(
    'every id of the specification is on the list (skipped where it is not at hand)',
    () => {
      const text = readFileSync(specification, 'utf8');
      const list = text.slice(text.indexOf('## 16. Conformance list'), text.indexOf('## 17.'));
      const known = new Set(ids);
      expect([...new Set(list.match(idPattern) ?? [])].filter((id) => !known.has(id))).toEqual([]);
    },
  );
});
