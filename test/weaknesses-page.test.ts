/** docs/weaknesses.md names 36 weaknesses, and every test it names is there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const rows = readFileSync(join(root, 'docs', 'weaknesses.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| W'))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\|\s*|\s*\|$/g, '')));

describe('docs/weaknesses.md', () => {
  test('all 36 are there, in order', () => {
    expect(rows.map(([id]) => id)).toEqual(Array.from({ length: 36 }, (_, index) => `W${index + 1}`));
  });

  test.each(rows.filter((row) => row.at(-1) !== '-').map((row) => [row[0]!, row.at(-1)!]))(
    'the test of %s exists: %s',
    (_id, cell) => {
      const [file, name] = cell.replaceAll('`', '').split(': ') as [string, string];
      const text = readFileSync(join(root, file), 'utf8').replaceAll("\\'", "'");
      expect(text).toContain(name);
    },
  );
});
