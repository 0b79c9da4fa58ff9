/** Which word a mistyped one stands for. */
import { describe, expect, test } from 'vitest';
import { nearest } from './suggest.js';

const verbs = ['config', 'controller', 'completion', 'edit', 'get', 'gc'];

describe('nearest', () => {
  test.each([
    ['confg', 'config'],
    ['cofnig', 'config'],
    ['CONFIG', 'config'],
    ['controler', 'controller'],
    ['egt', 'get'],
  ])('%s stands for %s', (word, expected) => {
    expect(nearest(word, verbs)).toBe(expected);
  });

  test.each([['kubernetes'], ['x'], ['']])("'%s' stands for nothing known", (word) => {
    expect(nearest(word, verbs)).toBeUndefined();
  });
});
