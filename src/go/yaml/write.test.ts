/** Text of several lines, as it is written and as the readers of Go and of the page read it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readYaml } from './compose.js';
import type { Value } from './value.js';
import { asYaml } from './write.js';

test('a signature is written line by line', () => {
  const text = '-----BEGIN SSH SIGNATURE-----\nU1NI\n\n  a: b\n-----END SSH SIGNATURE-----\n';
  const lines = [
    '|',
    '    -----BEGIN SSH SIGNATURE-----',
    '    U1NI',
    '',
    '      a: b',
    '    -----END SSH SIGNATURE-----',
    '',
  ];
  expect(asYaml({ signatures: [text] })).toBe(`signatures:\n  - ${lines.join('\n')}`);
});

test('any text of several lines is read as it was', () => {
  const words = fc.constantFrom(
    '\n',
    '\n\n',
    ' ',
    '  ',
    '#',
    '---',
    '- ',
    'a',
    'a: b',
    '|',
    '\t',
    '\r\n',
    'é',
    '%',
    '...',
    '"',
  );
  const texts = fc.array(words, { maxLength: 8 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(texts, texts, (one, other) => {
      const value = { one, list: [other, one, [other, { one }]], inner: { other, last: one } };
      const written = asYaml(value);
      expect(parse(written)).toEqual(value);
      expect(plain(readYaml(written).value)).toEqual(value);
    }),
    { numRuns: 1000 },
  );
});

function plain(value: Value | undefined): unknown {
  if (value?.kind === 'array') return value.items.map(plain);
  if (value?.kind === 'object')
    return Object.fromEntries(value.entries.map(({ key, value: child }) => [key, plain(child)]));
  return value !== undefined && 'value' in value ? value.value : undefined;
}
