/** Which texts are IP addresses for a kubelet. */
import { expect, test } from 'vitest';
import { isGoIp, parseGoIp } from './ip.js';

test.each([
  ['0.0.0.0', true],
  ['127.0.0.1', true],
  ['010.001.0.255', true],
  ['256.0.0.1', false],
  ['1.2.3', false],
  ['1.2.3.4.5', false],
  ['1.2.3.x', false],
  ['', false],
  ['::', true],
  ['::1', true],
  ['fe80::1', true],
  ['1:2:3:4:5:6:7:8', true],
  ['1:2:3:4:5:6:7', false],
  ['1:2:3:4:5:6:7:8:9', false],
  ['1::2:3:4:5:6:7:8', false],
  ['1::2::3', false],
  ['::ffff:10.0.0.1', true],
  ['1:2:3:4:5:6:10.0.0.1', true],
  ['1:2:3:4:5:6:7:10.0.0.1', false],
  ['::10.0.0.1:1', false],
  ['::12345', false],
  ['fe80::1%eth0', false],
  ['[::1]', false],
])('%s: %s', (text, expected) => {
  expect(isGoIp(text)).toBe(expected);
});

test('an address has the value of its bits, and leading zeros are accepted only on request', () => {
  const strict = { leadingZeros: false };
  expect(parseGoIp('10.0.0.1', strict)).toEqual({ bits: 32, value: 0x0a000001n });
  expect(parseGoIp('fe80::10.0.0.1', strict)).toEqual({ bits: 128, value: (0xfe80n << 112n) | 0x0a000001n });
  expect(parseGoIp('010.0.0.1', strict)).toBeUndefined();
  expect(parseGoIp('::010.0.0.1', strict)).toBeUndefined();
});
