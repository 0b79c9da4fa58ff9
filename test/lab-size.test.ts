/** The API in memory and the API server of the lab get smaller: their number of lines may only fall. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
/** Lower it with each removal; never raise it. */
const mostLines = 17_782;

test('src/memory-api and src/lab/apiserver have no more lines than before', () => {
  const files = ['src/memory-api', 'src/lab/apiserver'].flatMap((dir) =>
    readdirSync(join(root, dir), { recursive: true, withFileTypes: true })
      .filter(({ name }) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .map(({ parentPath, name }) => join(parentPath, name)),
  );
  const lines = files.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0);
  console.log(`src/memory-api and src/lab/apiserver: ${files.length} files, ${lines} lines`);
  expect(lines).toBeGreaterThan(1000);
  expect(lines).toBeLessThanOrEqual(mostLines);
});
