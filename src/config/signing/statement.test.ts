/** The text that is signed: made, read back, and refused in any other form. */
import { describe, expect, test } from 'vitest';
import { contentDigest, contentOf, formatStatement, parseStatement, type Statement, sameContent } from './statement.js';

const content = contentOf({
  data: { kubelet: 'maxPods: 150\n', 'extra.yaml': '' },
  binaryData: { blob: 'AAEC' },
  annotations: { 'relet.dev/allow-fields': 'enableServer,\n"x"\u2028', 'relet.dev/by': 'ann', other: 'x' },
});
const statement: Statement = {
  ...content,
  pools: ['web', 'gpu'],
  serial: 1795030000,
  floor: 1795020000,
  notBefore: 1795028400,
  notAfter: 1802977200,
};

const text = `relet.dev/kubelet-config statement v1
serial 1795030000
floor 1795020000
not-before 2026-11-18T19:00:00Z
not-after 2027-02-18T19:00:00Z
pool gpu
pool web
annotation relet.dev/allow-fields "enableServer,\\n\\"x\\"\u2028"
data extra.yaml sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
data kubelet sha256:7f3ab9f2e7be22b4bb88e1ae36f0ac7e58a8b0ca5ce1bd53fe0b2c8a2d0d5bd4
binary-data blob sha256:ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc
`;

describe('a statement', () => {
  test('has one line for each fact, in one order, and is read back as it was', () => {
    const found = formatStatement(statement);
    expect(found).toBe(text.replace(/(kubelet sha256:).*/, `$1${content.data.kubelet}`));
    expect(parseStatement(found)).toEqual({ ...statement, pools: ['gpu', 'web'] });
  });

  test.each([
    ['another version', (t: string) => t.replace('v1', 'v2'), 'begins with'],
    ['no line feed at its end', (t: string) => t.slice(0, -1), 'is missing'],
    ['an empty line', (t: string) => t.replace('pool web\n', 'pool web\n\n'), 'line 8 is not one of a statement'],
    ['lines in another order', (t: string) => t.replace('pool gpu\npool web', 'pool web\npool gpu'), 'canonical'],
    ['a line twice', (t: string) => t.replace('pool gpu\n', 'pool gpu\npool gpu\n'), 'canonical'],
    ['two serials', (t: string) => t.replace('serial 1', 'serial 2\nserial 1'), 'canonical'],
    ['a serial with a sign', (t: string) => t.replace('serial 1', 'serial +1'), 'no serial'],
    ['no floor', (t: string) => t.replace(/floor .*\n/, ''), 'no floor'],
    ['a floor above its serial', (t: string) => t.replace(/floor .*/, 'floor 1795030001'), 'above the serial'],
    ['a time with an offset', (t: string) => t.replace('19:00:00Z', '19:00:00+01:00'), 'is not a time'],
    ['a day that does not exist', (t: string) => t.replace('2027-02-18', '2027-02-30'), 'canonical'],
    ['an end before its beginning', (t: string) => t.replace('2027-02', '2026-02'), 'not later than'],
    ['a carriage return', (t: string) => t.replaceAll('\n', '\r\n'), 'begins with'],
    ['an annotation in other JSON', (t: string) => t.replace('enable', '\\u0065nable'), 'canonical'],
    ['an annotation that is not JSON', (t: string) => t.replace('\\n', '\\q'), 'line 8'],
    ['a digest in capitals', (t: string) => t.replace('e3b0c', 'E3B0C'), 'line 9'],
    ['no key', (t: string) => t.replace(/^(binary-)?data .*\n/gm, ''), 'no key'],
  ])('with %s is not read', (_what, change, message) => {
    const changed = change(formatStatement(statement));
    if (message === 'is missing') expect(() => parseStatement(changed)).toThrow();
    else expect(() => parseStatement(changed)).toThrow(message);
  });

  test.each([
    ['a key with a space', { data: { 'a b': '0'.repeat(64) } }],
    ['a pool with a line feed', { pools: ['gpu\nserial 9'] }],
    ['a serial that is not whole', { serial: 1795030000.5 }],
    ['a floor that is not whole', { floor: 1.5 }],
    ['a serial below 0', { serial: -1, floor: -1 }],
    ['times that are equal', { notBefore: 5, notAfter: 5 }],
    ['a time that is not whole', { notAfter: 1802977200.5 }],
    ['a time below 0', { notBefore: -1 }],
    ['a time after the year 9999', { notAfter: 253402300800 }],
    ['a key of 254 characters', { data: { ['a'.repeat(254)]: '0'.repeat(64) } }],
    ['no key', { data: {} }],
    ['an annotation of somebody else', { annotations: { 'example.com/x y': '' } }],
  ])('with %s is not made', (_what, change) => {
    expect(() => formatStatement({ ...statement, ...change })).toThrow();
  });
});

test.each<[string, Parameters<typeof contentOf>[0], boolean]>([
  ['keys in another order', { data: { b: '1', a: '0' }, binaryData: { c: 'AA==' } }, true],
  [
    'an annotation without effect',
    { data: { a: '0', b: '1' }, binaryData: { c: 'AA==' }, annotations: { x: 'y' } },
    true,
  ],
  ['another value', { data: { a: '0', b: '2' }, binaryData: { c: 'AA==' } }, false],
  ['a key less', { data: { a: '0' }, binaryData: { c: 'AA==' } }, false],
  ['no binaryData', { data: { a: '0', b: '1' } }, false],
  ['its binaryData as data', { data: { a: '0', b: '1', c: '\0' } }, false],
])('content with %s is the same, and has the same digest: %s', (_what, parts, expected) => {
  const [one, other] = [contentOf({ data: { a: '0', b: '1' }, binaryData: { c: 'AA==' } }), contentOf(parts)];
  expect([sameContent(one, other), contentDigest(one) === contentDigest(other)]).toEqual([expected, expected]);
});
