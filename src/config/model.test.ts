/** Paths of fields and their parents. */
import { expect, test } from 'vitest';
import { fieldOf, parentPath } from './model.js';

test.each([
  ['logging.options.json.infoBufferSize', 'logging.options.json'],
  ['logging', ''],
  ['', ''],
  ['evictionHard[memory.available]', 'evictionHard'],
  ['clusterDNS[0]', 'clusterDNS'],
  ['reservedMemory[0].limits[memory]', 'reservedMemory[0].limits'],
  ['reservedMemory[0].limits', 'reservedMemory[0]'],
  ['--max-pods', ''],
])('the parent of %s is %j', (path, parent) => {
  expect(parentPath(path)).toBe(parent);
});

test('the parents of a key with brackets end, so that a search among them does', () => {
  for (const key of ['a]b', ']', '[', 'a[b', ']]', '[]', 'a.b]', '.', ' ]x']) {
    let path = `evictionHard[${key}]`;
    for (let length = path.length; path !== ''; length = path.length) {
      path = parentPath(path);
      expect(path.length).toBeLessThan(length);
    }
    expect(fieldOf(`evictionHard[${key}]`)).toBe('evictionHard');
  }
});
