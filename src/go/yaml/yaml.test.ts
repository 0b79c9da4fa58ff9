/** YAML as Go reads it. What Go answers was taken from the kubelet's own decoder, 1.23.17. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { readYaml } from './compose.js';
import { dialectOf } from './dialect.js';
import { YamlError } from './tokens.js';
import type { Value } from './value.js';

/** As Go turns it into JSON. */
function toJson(value: Value | undefined): string {
  if (value === undefined) return 'null';
  switch (value.kind) {
    case 'null':
      return 'null';
    case 'number':
      return value.text;
    case 'array':
      return `[${value.items.map(toJson).join(',')}]`;
    case 'object':
      return `{${value.entries.map(({ key, value: child }) => `${JSON.stringify(key)}:${toJson(child)}`).join(',')}}`;
    default:
      return JSON.stringify(value.value);
  }
}

describe('what Go accepts', () => {
  test.each([
    ['yes, on and y are true', 'a: yes\nb: on\nc: y\n', '{"a":true,"b":true,"c":true}'],
    ['tRUE and Y e s are text', 'a: tRUE\nb: yEs\n', '{"a":"tRUE","b":"yEs"}'],
    [
      'a leading zero is octal, unless a digit says no',
      'a: 0144\nb: 089\nc: 0o17\nd: 0b11\n',
      '{"a":100,"b":89,"c":15,"d":3}',
    ],
    ['underscores are dropped from numbers', 'a: 1_000\nb: 0x_1F\n', '{"a":1000,"b":31}'],
    ['base 60 is text', 'a: 1:30\n', '{"a":"1:30"}'],
    [
      'integers are whole up to uint64, then floats',
      'a: 18446744073709551615\nb: 18446744073709551616\n',
      '{"a":18446744073709551615,"b":18446744073709552000}',
    ],
    ['floats are printed as JSON', 'a: 1e3\nb: .5\nc: 1e21\nd: -0.0\n', '{"a":1000,"b":0.5,"c":1e+21,"d":-0}'],
    ['dates are text', 'a: 2020-01-01\n', '{"a":"2020-01-01"}'],
    ['keys become text and are sorted', 'true: a\n5: b\n1.5: c\nA: d\n', '{"1.5":"c","5":"b","A":"d","true":"a"}'],
    [
      'tags decide',
      'a: !!str 50\nb: !!int "50"\nc: !foo 5\nd: !!float 5\ne: !!binary aGk=\n',
      '{"a":"50","b":50,"c":"5","d":5,"e":"hi"}',
    ],
    ['a flow collection may close at column 0', 'a: {\n  b: 1\n}\nc: [\n1,\n2\n]\n', '{"a":{"b":1},"c":[1,2]}'],
    ['quoted text may continue at column 0', 'a: "x\ny"\n', '{"a":"x y"}'],
    ['tabs after a colon and in flow', 'a:\t5\nb: [1,\n\t2]\n', '{"a":5,"b":[1,2]}'],
    ['CR and CRLF break lines', 'a: 1\rb: 2\r\nc: 3', '{"a":1,"b":2,"c":3}'],
    ['a byte order mark', '\ufeffa: 1\n', '{"a":1}'],
    [
      'block text',
      'a: |\n  x\n\n  y\nb: >-\n  x\n  y\n\n  z\nc: |+\n  x\n\n',
      '{"a":"x\\n\\ny\\n","b":"x y\\nz","c":"x\\n\\n"}',
    ],
    ['aliases', 'a: &x {k: 1}\nb: *x\n', '{"a":{"k":1},"b":{"k":1}}'],
    [
      'merge keys overwrite what came before them',
      'a: &x {k: 1, l: 2}\nb: {k: 9, <<: *x, l: 3}\n',
      '{"a":{"k":1,"l":2},"b":{"k":1,"l":3}}',
    ],
    ['of several merged maps the first wins', 'a: {<<: [{k: 1}, {k: 2, l: 3}]}\n', '{"a":{"k":1,"l":3}}'],
    ['the last of equal keys', 'a: 1\na: 2\n', '{"a":2}'],
    ['only the first document', 'a: 1\n---\n{{{\n', '{"a":1}'],
    ['nothing at all', '# only a comment\n', 'null'],
    ['escapes', 'a: "\\x41\\u00e9\\U0001F600\\n"\n', '{"a":"A\u00e9\u{1F600}\\n"}'],
    ['a colon inside plain text', 'a: x:y\nb: {x:1}\n', '{"a":"x:y","b":{"x:1":null}}'],
    ['a list at the indentation of its key', 'a:\n- 1\n- 2\nb: 3\n', '{"a":[1,2],"b":3}'],
    ['a pair as a list item', 'a: [b: c]\n', '{"a":[{"b":"c"}]}'],
  ])('%s', (_name, text, json) => {
    expect(toJson(readYaml(text).value)).toBe(json);
  });
});

describe('what Go refuses, in its words', () => {
  test.each([
    ['a tab as indentation', 'x: 1\na:\n\tb: 1\n', 'yaml: line 3: found character that cannot start any token', 3, 1],
    [
      'a tab on an empty line',
      'a: 1\n\t\nb: 2\n',
      'yaml: line 2: found a tab character that violates indentation',
      2,
      1,
    ],
    ['a line without a colon', 'a: 1\nb\n', "yaml: line 3: could not find expected ':'", 2, 1],
    ['two colons', 'a: b: c\n', 'yaml: mapping values are not allowed in this context', 1, 5],
    ['a list on the line of its key', 'a: - b\n', 'yaml: block sequence entries are not allowed in this context', 1, 4],
    ['wrong indentation', 'a:\n  b: 1\n c: 2\n', 'yaml: line 2: did not find expected key', 3, 2],
    ['an open bracket', 'a: [1\n', "yaml: line 1: did not find expected ',' or ']'", 2, 1],
    ['an open quote', 'a: "x\n', 'yaml: line 2: found unexpected end of stream', 2, 1],
    ['an unknown escape', 'a: "\\q"\n', 'yaml: found unknown escape character', 1, 5],
    ['an unknown anchor', 'a: *x\n', "yaml: unknown anchor 'x' referenced", 1, 4],
    ['YAML 1.2', '%YAML 1.2\n---\na: 1\n', 'yaml: found incompatible YAML document', 1, 1],
    ['a reserved character', 'a: @x\n', 'yaml: found character that cannot start any token', 1, 4],
    ['a control character', 'a: 1\nb: \u0000\n', 'yaml: control characters are not allowed', 2, 4],
    ['a null key', '~: 1\n', 'Unsupported map key of type: %!s(<nil>), key: <nil>', 1, 1],
    ['not a number', 'a: .nan\n', 'json: unsupported value: NaN', 1, 4],
    ['a merged scalar', 'a: {<<: 5}\n', 'yaml: map merge requires map or sequence of maps as the value', 1, 9],
    ['a tag that does not fit', 'a: !!int x\n', 'yaml: cannot decode !!str `x` as a !!int', 1, 4],
    ['an anchor inside itself', 'a: &x [*x]\n', "yaml: anchor 'x' value contains itself", 1, 8],
  ])('%s', (_name, text, message, line, column) => {
    let caught: unknown;
    try {
      readYaml(text);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(YamlError);
    expect(caught).toMatchObject({ message, line, column });
  });
});

describe('older kubelets', () => {
  test('read 1e3 as text until 1.16', () => {
    expect(toJson(readYaml('a: 1e3\nb: 1e+3\n', dialectOf(16)).value)).toBe('{"a":"1e3","b":1000}');
    expect(toJson(readYaml('a: 1e3\n', dialectOf(17)).value)).toBe('{"a":1000}');
  });

  test('rejects text after the first document that does not start another one, until 1.12', () => {
    expect(() => readYaml(' a: 1\nb: 2\n', dialectOf(12))).toThrow('did not find expected <document start>');
    expect(toJson(readYaml(' a: 1\nb: 2\n', dialectOf(13)).value)).toBe('{"a":1}');
    expect(toJson(readYaml('a: 1\n---\n{{{\n', dialectOf(12)).value)).toBe('{"a":1}');
  });

  test('refused a colon inside a word in flow until 1.12', () => {
    expect(() => readYaml('a: {b:c}\n', dialectOf(12))).toThrow("found unexpected ':'");
    expect(toJson(readYaml('a: {b:c}\n', dialectOf(13)).value)).toBe('{"a":{"b:c":null}}');
  });
});

describe('repeated keys', () => {
  test('are named with the line of their value, as Go does', () => {
    const { duplicates } = readYaml('a: 1\nb:\n  c: 1\n  "c":\n    2\na: 3\n');
    expect(duplicates).toEqual([
      { path: ['b', 'c'], at: { line: 4, column: 3 }, message: 'key "c" already set in map', line: 5 },
      { path: ['a'], at: { line: 6, column: 1 }, message: 'key "a" already set in map', line: 6 },
    ]);
  });

  test('count when a merge brings them', () => {
    expect(readYaml('a: &x {k: 1}\nb: {k: 2, <<: *x}\n').duplicates).toMatchObject([{ path: ['b', 'k'], line: 1 }]);
  });
});

describe('bombs', () => {
  test('aliases of aliases end in an error', () => {
    let text = 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n';
    for (let i = 1; i < 12; i++)
      text += `a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(', ')}]\n`;
    expect(() => readYaml(text)).toThrow('document contains excessive aliasing');
  });

  test('deep nesting ends in an error, in flow and in block', () => {
    expect(() => readYaml('['.repeat(500_000))).toThrow('exceeded max depth');
    expect(() => readYaml('{a: '.repeat(250_000))).toThrow('exceeded max depth');
    expect(() => readYaml('- '.repeat(500_000))).toThrow('exceeded max depth');
    expect(readYaml(`${'['.repeat(900)}${']'.repeat(900)}`).value?.kind).toBe('array');
  });
});

test('whether a token begins a key is looked up for each token, not for each look at it', () => {
  const look = vi.spyOn(Map.prototype, 'get');
  onTestFinished(() => look.mockRestore());
  const lookups = (keys: number) => {
    look.mockClear();
    readYaml(`x: {${'a,'.repeat(keys)}}`);
    return look.mock.calls.filter(([token]) => typeof token === 'number').length;
  };
  // Two tokens for each key, and one of them is read before the other is settled.
  const more = lookups(2000) - lookups(1000);
  expect(more).toBeGreaterThan(0);
  expect(more).toBeLessThanOrEqual(3 * 1000);
});
