/** docs/operations.md lists every record that a node keeps on its disk: an operator must know which ones must not be deleted. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const read = (path: string) => readFileSync(join(import.meta.dirname, '..', path), 'utf8');

test('docs/operations.md lists every record of a node, and no other', () => {
  const code = ['memory', 'directory'].map((name) => read(`src/agent/state/${name}.ts`)).join('\n');
  const records = [...code.matchAll(/(?:record|passing|#read|'meta',)\(? ?'([\w-]+)'/g)].map((match) => match[1]!);
  const table = read('docs/operations.md').match(/^\| `meta\/.*$/gm) ?? [];
  const listed = table.flatMap((row) => [...row.split('|')[1]!.matchAll(/meta\/([\w-]+)/g)].map((match) => match[1]!));
  expect(listed.sort()).toEqual([...new Set(records)].sort());
  expect(listed.length).toBeGreaterThan(10);
});
