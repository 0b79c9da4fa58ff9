/** docs/operations.md lists every record that a node keeps on its disk: an operator must know which ones must not be deleted. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

test('docs/operations.md lists every record of a node, and no other', () => {
  const code = readdirSync(join(root, 'src/agent'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => read(`src/agent/${name}`))
    .join('\n');
  const records = [...code.matchAll(/(?:defineRecord\(|#readSource\(|'meta', )'([\w-]+)'/g)].map((match) => match[1]!);
  const table = read('docs/operations.md').match(/^\| `meta\/.*$/gm) ?? [];
  const listed = table.flatMap((row) => [...row.split('|')[1]!.matchAll(/meta\/([\w-]+)/g)].map((match) => match[1]!));
  expect(listed.sort()).toEqual([...new Set(records)].sort());
  expect(listed.length).toBeGreaterThan(10);
});
