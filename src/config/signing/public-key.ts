/**
 * Parses public keys in SSH's format and verifies signatures with them, by node:crypto. The formats are those of RFC 4253, 5656, 8332,
 * 8709, and of OpenSSH's PROTOCOL.u2f for hardware keys (`sk-`).
 */
import { constants, createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { readWire, type WireReader, wireString } from './wire.js';

export interface PublicKey {
  type: string;
  /** As `ssh-keygen -l` prints it. */
  fingerprint: string;
  /** Undefined if `signature` is the key's over `data`; otherwise why it is not. */
  whyNot(signature: Buffer, data: Buffer): string | undefined;
}

export const fingerprintOf = (blob: Uint8Array): string =>
  `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;

export const keyTypeOf = (blob: Buffer): string => readWire(blob).text();

/** Checks a signature whose algorithm was read and belongs to the key. */
type Check = (algorithm: string, signature: WireReader, data: Buffer) => boolean;

interface Kind {
  algorithms: readonly string[];
  read(blob: WireReader): Check;
}

/** Cached keys, least recently used first: creating a key takes longer than verifying with it, and a host has few of them. */
const recent = new Map<string, PublicKey>();
const mostRecent = 32;

/** Throws an Error for a key that cannot be used. */
export function readPublicKey(blob: Buffer): PublicKey {
  const name = blob.toString('latin1');
  const key = recent.get(name) ?? newPublicKey(blob);
  recent.delete(name);
  recent.set(name, key);
  if (recent.size > mostRecent) recent.delete(recent.keys().next().value!);
  return key;
}

function newPublicKey(blob: Buffer): PublicKey {
  const reader = readWire(blob);
  const type = reader.text();
  const kind = kinds.get(type);
  if (kind === undefined)
    throw new Error(`keys of type ${type} are not supported; supported are ${[...kinds.keys()].join(', ')}`);
  const check = kind.read(reader);
  reader.end();
  return { type, fingerprint: fingerprintOf(blob), whyNot: (signature, data) => whyNot(kind, check, signature, data) };
}

function whyNot({ algorithms }: Kind, check: Check, signature: Buffer, data: Buffer): string | undefined {
  try {
    const reader = readWire(signature);
    const algorithm = reader.text();
    if (!algorithms.includes(algorithm)) return `its algorithm ${JSON.stringify(algorithm)} is not one of the key`;
    return check(algorithm, reader, data) ? undefined : 'it is not the signature of this statement by this key';
  } catch (error) {
    return (error as Error).message;
  }
}

const curves: Record<string, { crv: string; hash: string; bytes: number }> = {
  nistp256: { crv: 'P-256', hash: 'sha256', bytes: 32 },
  nistp384: { crv: 'P-384', hash: 'sha384', bytes: 48 },
  nistp521: { crv: 'P-521', hash: 'sha512', bytes: 66 },
};

const leastBits = 2048;
const mostBits = 16_384;

const kinds = new Map<string, Kind>([
  ['ssh-ed25519', { algorithms: ['ssh-ed25519'], read: (blob) => ed25519(ed25519Key(blob)) }],
  ...Object.keys(curves).map((curve): [string, Kind] => {
    const type = `ecdsa-sha2-${curve}`;
    return [type, { algorithms: [type], read: (blob) => ecdsa(curve, ecKey(curve, blob)) }];
  }),
  ['ssh-rsa', { algorithms: ['rsa-sha2-256', 'rsa-sha2-512'], read: (blob) => rsa(blob) }],
  [
    'sk-ssh-ed25519@openssh.com',
    {
      algorithms: ['sk-ssh-ed25519@openssh.com'],
      read: (blob) => inHardware(ed25519(ed25519Key(blob)), blob.string()),
    },
  ],
  [
    'sk-ecdsa-sha2-nistp256@openssh.com',
    {
      algorithms: ['sk-ecdsa-sha2-nistp256@openssh.com'],
      read: (blob) => inHardware(ecdsa('nistp256', ecKey('nistp256', blob)), blob.string()),
    },
  ],
]);

function ed25519Key(blob: WireReader): KeyObject {
  const x = blob.string();
  if (x.length !== 32) throw new Error('the key does not have 32 bytes');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: x.toString('base64url') }, format: 'jwk' });
}

function ecKey(curve: string, blob: WireReader): KeyObject {
  const { crv, bytes } = curves[curve]!;
  if (blob.text() !== curve) throw new Error('the key is of another curve than its type');
  const point = blob.string();
  if (point.length !== 1 + 2 * bytes || point[0] !== 4)
    throw new Error('the key is not an uncompressed point of its curve');
  const [x, y] = [point.subarray(1, 1 + bytes), point.subarray(1 + bytes)].map((half) => half.toString('base64url'));
  return createPublicKey({ key: { kty: 'EC', crv, x: x!, y: y! }, format: 'jwk' });
}

function ed25519(key: KeyObject): Check {
  return (_algorithm, signature, data) => {
    const bytes = signature.string();
    signature.end();
    return verify(null, data, key, bytes);
  };
}

function ecdsa(curve: string, key: KeyObject): Check {
  const { hash, bytes } = curves[curve]!;
  return (_algorithm, signature, data) => {
    const pair = readWire(signature.string());
    signature.end();
    const halves = [pair.mpint(), pair.mpint()];
    pair.end();
    if (halves.some((half) => half.length > bytes)) return false;
    const padded = halves.map((half) => padTo(bytes, half));
    return verify(hash, data, { key, dsaEncoding: 'ieee-p1363' }, Buffer.concat(padded));
  };
}

function rsa(blob: WireReader): Check {
  const [e, n] = [blob.mpint(), blob.mpint()];
  const bits = n.length * 8 - Math.clz32(n[0]!) + 24;
  if (bits < leastBits || bits > mostBits)
    throw new Error(`an RSA key must have ${leastBits} to ${mostBits} bits, it has ${bits}`);
  // OpenSSL takes as long as the exponent is.
  if (e.length > 8) throw new Error('the exponent of the RSA key is too large');
  const jwk = { kty: 'RSA', n: n.toString('base64url'), e: e.toString('base64url') };
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  return (algorithm, signature, data) => {
    const bytes = signature.string();
    signature.end();
    if (bytes.length > n.length) return false;
    const hash = algorithm === 'rsa-sha2-512' ? 'sha512' : 'sha256';
    return verify(hash, data, { key, padding: constants.RSA_PKCS1_PADDING }, padTo(n.length, bytes));
  };
}

/** The key signs digests, with what it says about itself between them. */
function inHardware(check: Check, application: Buffer): Check {
  return (algorithm, signature, data) => {
    const inner = signature.string();
    const flags = signature.byte();
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(signature.uint32());
    signature.end();
    if ((flags & userPresent) === 0) throw new Error('nobody touched the key in hardware for it');
    const signed = Buffer.concat([sha256(application), Buffer.of(flags), counter, sha256(data)]);
    return check(algorithm, readWire(wireString(inner)), signed);
  };
}

const userPresent = 1;

const padTo = (length: number, bytes: Buffer): Buffer => Buffer.concat([Buffer.alloc(length - bytes.length), bytes]);

const sha256 = (data: Uint8Array): Buffer => createHash('sha256').update(data).digest();
