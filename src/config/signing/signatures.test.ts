/** Keys and signatures that are not well-formed, or not of the text: each has the sentence that says what is wrong. */
import { describe, expect, test } from 'vitest';
import { armor, testKey, wrap } from '../../../test/rig/signing.js';
import { readPublicKey } from './public-key.js';
import { readSignatures, whyInvalid } from './signatures.js';
import { readWire, wireString } from './wire.js';

const text = 'the statement';
const namespace = 'relet.dev/kubelet-config';
const [ed, ec, rsa, sk] = [
  testKey(),
  testKey('ecdsa-sha2-nistp256'),
  testKey('ssh-rsa'),
  testKey('sk-ssh-ed25519@openssh.com'),
];
const bytesOf = (armored: string) => Buffer.from(armored.split('\n').slice(1, -2).join(''), 'base64');
const good = bytesOf(ed.sign(text));
const [zero, one] = [Buffer.of(0), Buffer.of(1)];
const replaced = (from: string, to: string) => Buffer.from(good.toString('latin1').replace(from, to), 'latin1');

test('a signature is read with its key, namespace and hash', () => {
  const [found] = readSignatures(`\n${ed.sign(text, { hash: 'sha256', namespace: 'file' })}  `);
  const { type, fingerprint } = readPublicKey(ed.blob);
  const key = ed.blob.toString('base64');
  expect(found).toMatchObject({ keyType: type, fingerprint, key, namespace: 'file', hash: 'sha256' });
  expect(readSignatures(ed.sign(text).repeat(32))).toHaveLength(32);
});

const inPlace = `${namespace}\0\0\0`;
test.each<[string, string, string]>([
  ['other data', armor(replaced('SSHSIG', 'SSHSIX')), 'signature 1: it is not an SSH signature'],
  ['a later version', armor(replaced('\x01', '\x02')), 'signature 1: version 2 of SSH signatures is not supported'],
  [
    'a weak hash',
    armor(replaced('\x06sha512', '\x06sha384')),
    'signature 1: its hash "sha384" is not sha256 or sha512',
  ],
  ['more data', armor(Buffer.concat([good, zero])), 'signature 1: there is data behind its end'],
  ['less data', armor(good.subarray(0, -1)), 'signature 1: the data ends too early'],
  [
    'data in the reserved place',
    armor(replaced(`${inPlace}\0`, `${inPlace}\x01x`)),
    'signature 1: it has data in a place that is reserved',
  ],
  ['bits that base64 ignores', ed.sign(text).replace(/\n-----END/, '=\n-----END'), 'signature 1: it is not base64'],
  ['text behind the first', `${ed.sign(text)}x`, 'signature 2 is not armored as ssh-keygen does it'],
  ['33 of them', ed.sign(text).repeat(33), 'more than 32 signatures'],
])('signatures with %s cannot be read', (_what, armored, message) => {
  expect(() => readSignatures(armored)).toThrow(new Error(message));
});

describe('a signature', () => {
  const wrong = 'it is not the signature of this statement by this key';
  const more = 'there is data behind its end';
  const tooOld = 'its algorithm "ssh-rsa" is not one of the key';
  const untouched = 'nobody touched the key in hardware for it';
  const notAbove0 = 'a number in it is not above 0';
  /** The signature of the key, with its parts changed. */
  const changed = (key: typeof ed, change: (algorithm: string, rest: Buffer) => [string, Buffer]) => {
    const { signature, hash } = readSignatures(key.sign(text))[0]!;
    const reader = readWire(signature);
    const algorithm = reader.text();
    const [name, rest] = change(algorithm, signature.subarray(4 + algorithm.length));
    return armor(wrap(key.blob, { namespace, hash, signature: Buffer.concat([wireString(name), rest]) }));
  };
  const longer = (algorithm: string, rest: Buffer): [string, Buffer] => [algorithm, Buffer.concat([rest, zero])];
  const pair = (...halves: Buffer[]) => wireString(Buffer.concat(halves.map((half) => wireString(half))));
  const inEc = (rest: Buffer) => changed(ec, (algorithm) => [algorithm, rest]);
  test.each<[string, () => string, string | undefined]>([
    ['of the text is valid', () => ed.sign(text), undefined],
    ['with the other hash is valid', () => rsa.sign(text, { hash: 'sha256' }), undefined],
    [
      'for another namespace',
      () => ed.sign(text, { namespace: 'file' }),
      `it was made for "file" and not for ${namespace}`,
    ],
    ['of another text', () => ed.sign('other'), wrong],
    ['of another key', () => armor(replaced(ed.blob.toString('latin1'), testKey().blob.toString('latin1'))), wrong],
    ['by an algorithm that is too old', () => changed(rsa, (_, rest) => ['ssh-rsa', rest]), tooOld],
    ['with the hash of another algorithm', () => changed(rsa, (_, rest) => ['rsa-sha2-256', rest]), wrong],
    [
      'of RSA that is too long',
      () => changed(rsa, (name, rest) => [name, wireString(Buffer.concat([zero, rest.subarray(4)]))]),
      wrong,
    ],
    ['of Ed25519 with more data', () => changed(ed, longer), more],
    ['of RSA with more data', () => changed(rsa, longer), more],
    ['of ECDSA with more data', () => changed(ec, longer), more],
    ['of a key in hardware with more data', () => changed(sk, longer), more],
    ['of ECDSA with three numbers', () => inEc(pair(one, one, one)), more],
    ['of ECDSA with a number that is 0', () => inEc(pair(zero, one)), notAbove0],
    ['of ECDSA with a number below 0', () => inEc(pair(Buffer.of(0x80), one)), notAbove0],
    ['of ECDSA with a number that is too long', () => inEc(pair(Buffer.alloc(33, 1), one)), wrong],
    ['of ECDSA with small numbers', () => inEc(pair(Buffer.of(0x7f), one)), wrong],
    ['that nobody touched the key for', () => sk.sign(text, { untouched: true }), untouched],
  ])('%s', (_what, signed, why) => {
    expect(whyInvalid(readSignatures(signed())[0]!, text)).toBe(why);
  });
});

const blob = (...parts: (string | Buffer)[]) => Buffer.concat(parts.map((part) => wireString(part)));
const point = (bytes: number, first = 4) => Buffer.concat([Buffer.of(first), Buffer.alloc(bytes, 1)]);
const modulus = (bits: number) => {
  const number = Buffer.alloc(Math.ceil(bits / 8), 0xff);
  number[0] = 0xff >> (number.length * 8 - bits);
  return Buffer.concat([zero, number]);
};
const exponent = Buffer.of(1, 0, 1);

test.each<[string, Buffer, string]>([
  ['an unknown type', blob('ssh-dss'), 'type ssh-dss are not supported; supported are ssh-ed25519, ecdsa-'],
  ['an Ed25519 key of 31 bytes', blob('ssh-ed25519', Buffer.alloc(31)), 'the key does not have 32 bytes'],
  ['more data', Buffer.concat([ed.blob, zero]), 'there is data behind its end'],
  ['another curve', blob('ecdsa-sha2-nistp256', 'nistp384', point(64)), 'the key is of another curve than its type'],
  ['a short point', blob('ecdsa-sha2-nistp256', 'nistp256', point(63)), 'the key is not an uncompressed point'],
  ['a compressed point', blob('ecdsa-sha2-nistp256', 'nistp256', point(64, 2)), 'the key is not an uncompressed point'],
  ['a short RSA key', blob('ssh-rsa', exponent, modulus(2047)), 'must have 2048 to 16384 bits, it has 2047'],
  ['a long RSA key', blob('ssh-rsa', exponent, modulus(16_385)), 'must have 2048 to 16384 bits, it has 16385'],
  ['a long exponent', blob('ssh-rsa', Buffer.alloc(9, 1), modulus(2048)), 'the exponent of the RSA key'],
])('a public key with %s cannot be read', (_what, bytes, message) => {
  expect(() => readPublicKey(bytes)).toThrow(message);
});

test.each([2048, 16_384])('an RSA key of %i bits is read', (bits) => {
  expect(readPublicKey(blob('ssh-rsa', Buffer.alloc(8, 1), modulus(bits))).type).toBe('ssh-rsa');
});
