/** The API server of the lab gets smaller: docs/decisions/lab-api-server.md has its greatest number of lines. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');

test('src/lab/apiserver has no more lines than its decision says', () => {
  const decision = readFileSync(join(root, 'docs/decisions/lab-api-server.md'), 'utf8');
  const most = Number(/has\s+at\s+most\s+([\d,]+)\s+lines/.exec(decision)?.[1]?.replace(',', ''));
  const files = readdirSync(join(root, 'src/lab/apiserver'), { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map(({ parentPath, name }) => join(parentPath, name));
  const lines = files.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0);
  console.log(`src/lab/apiserver: ${files.length} files, ${lines} lines`);
  expect(lines).toBeLessThanOrEqual(most);
  expect(most).toBeGreaterThan(1000);
});
