/** The present page, from the address below any base path. */
import { describe, expect, test } from 'vitest';
import { link, placeOf } from './router.js';

const at = (url: string, base = 'https://relet.example/') => placeOf(url, base);

describe('place', () => {
  test.each([
    ['https://relet.example/', 'https://relet.example/', []],
    ['https://relet.example/nodes/gpu-1/diff', 'https://relet.example/', ['nodes', 'gpu-1', 'diff']],
    ['https://relet.example/ops/relet/sets/gpu', 'https://relet.example/ops/relet/', ['sets', 'gpu']],
    ['https://relet.example/ops/relet', 'https://relet.example/ops/relet/', []],
    ['https://relet.example/configs/a%2Fb', 'https://relet.example/', ['configs', 'a/b']],
    ['https://relet.example/nodes/%zz', 'https://relet.example/', ['nodes', '%zz']],
  ])('%s below %s', (url, base, path) => {
    expect(at(url, base)?.path).toEqual(path);
  });

  test.each(['https://other.example/nodes', 'https://relet.example/operations'])('%s is not below /ops/', (url) => {
    expect(at(url, 'https://relet.example/ops/')).toBeUndefined();
  });

  test('a link and its place are inverse, and empty values leave the query', () => {
    const to = link(['nodes', 'a/b c', 'diff'], { from: 'local', to: 'x&y=z', empty: '', absent: undefined });
    const place = at(new URL(to, 'https://relet.example/').href)!;
    expect(place.path).toEqual(['nodes', 'a/b c', 'diff']);
    expect(Object.fromEntries(place.query)).toEqual({ from: 'local', to: 'x&y=z' });
  });
});
