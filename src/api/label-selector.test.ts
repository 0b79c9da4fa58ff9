/** Label selectors: what they choose, and the words for what cannot be read. */
import { describe, expect, test } from 'vitest';
import { matchesLabels, parseLabelSelector } from './label-selector.js';

const objects = {
  a: { env: 'prod', tier: 'web' },
  b: { env: 'dev' },
  c: { env: 'test', tier: 'db', n: '12' },
  d: {},
};

describe('label selectors choose', () => {
  test.each([
    ['', 'abcd'],
    ['env=prod', 'a'],
    ['env==prod', 'a'],
    ['env!=prod', 'bcd'],
    ['env in (prod, dev)', 'ab'],
    ['env notin (prod,dev)', 'cd'],
    ['tier', 'ac'],
    ['!tier', 'bd'],
    ['tier,env=test', 'c'],
    ['env=', ''],
    ['env in ()', ''],
    ['env in (,dev)', 'b'],
    ['n>3', 'c'],
    ['n<3', ''],
    ['in', ''],
    ['toString', ''],
    ['!__proto__x', 'error'],
  ])('%s', (selector, chosen) => {
    const choose = () =>
      Object.entries(objects)
        .filter(([, labels]) => matchesLabels(parseLabelSelector(selector), labels))
        .map(([name]) => name)
        .join('');
    if (chosen === 'error') expect(choose).toThrow('unable to parse requirement');
    else expect(choose()).toBe(chosen);
  });
});

describe('label selectors that cannot be read', () => {
  test.each([
    ['==', "found '==', expected: !, identifier, or 'end of string'"],
    ['env in prod', "unable to parse requirement: found 'prod' expected: '('"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a,', "found '', expected: identifier after ','"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    ['a=)', "unable to parse requirement: found ')', expected: identifier"],
    ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a in (=)', "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
    [
      'n>x',
      "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
  ])('%s', (selector, message) => {
    expect(() => parseLabelSelector(selector)).toThrow(message);
  });

  test('a key that is none is named with its rule', () => {
    expect(() => parseLabelSelector('b@d=1')).toThrow(
      'unable to parse requirement: <nil>: Invalid value: "b@d": name part must consist of alphanumeric characters',
    );
  });
});
