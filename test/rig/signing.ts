/** Keys and SSH signatures of every supported type, made with node:crypto; those of keys in hardware as such a key would make them. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { TrustFile, TrustSource } from '../../src/agent/validate/trust-file.js';
import { signatureNamespace, signaturesAnnotation, statementAnnotation } from '../../src/api/signing.js';
import { decideSignature } from '../../src/config/signing/decide.js';
import { contentOf, formatStatement, type Statement } from '../../src/config/signing/statement.js';
import { wireString } from '../../src/config/signing/wire.js';

export const keyTypes = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
] as const;
export type KeyType = (typeof keyTypes)[number];

export interface SigningOptions {
  namespace?: string;
  hash?: 'sha256' | 'sha512';
  /** Nobody touched the key in hardware. */
  untouched?: true;
}

export interface TestKey {
  /** `TYPE BASE64`, as in a .pub file. */
  line: string;
  blob: Buffer;
  /** An armored signature. */
  sign(text: string, options?: SigningOptions): string;
}

export function testKey(type: KeyType = 'ssh-ed25519'): TestKey {
  const curve = /nistp\d+/.exec(type)?.[0];
  const isHardware = type.startsWith('sk-');
  const { publicKey, privateKey } = pairOf(type, curve);
  const application = isHardware ? [wireString('ssh:')] : [];
  const blob = Buffer.concat([wireString(type), ...publicParts(publicKey, curve), ...application]);
  return {
    line: `${type} ${blob.toString('base64')}`,
    blob,
    sign(text, { namespace = signatureNamespace, hash = 'sha512', untouched } = {}) {
      const digest = createHash(hash).update(text, 'utf8').digest();
      const parts = [namespace, '', hash, digest].map((part) => wireString(part));
      const data = Buffer.concat([Buffer.from('SSHSIG'), ...parts]);
      const signature = isHardware
        ? hardwareSignature(type, privateKey, data, untouched ? 0 : 1)
        : Buffer.concat([
            wireString(type === 'ssh-rsa' ? `rsa-sha2-${hash.slice(3)}` : type),
            rawSignature(privateKey, data, hash),
          ]);
      return armor(wrap(blob, { namespace, hash, signature }));
    },
  };
}

/** The annotations of a ConfigMap that these keys signed. */
export function signedAnnotations(
  parts: Parameters<typeof contentOf>[0],
  about: Partial<Statement> & { keys: readonly TestKey[] },
): Record<string, string> {
  const { keys, ...facts } = about;
  const statement = formatStatement({ pools: [], serial: 0, floor: 0, ...contentOf(parts), ...facts });
  const signatures = keys.map((key) => key.sign(statement)).join('');
  return { ...parts.annotations, [statementAnnotation]: statement, [signaturesAnnotation]: signatures };
}

/** A trust file as these facts are at each time. */
export function trustSource(facts: () => Omit<TrustFile, 'decide'> | undefined): TrustSource {
  const read = () => {
    const found = facts();
    return found && { ...found, decide: decideSignature };
  };
  return { path: 'trust.yaml', load: async () => {}, read };
}

export function wrap(
  key: Buffer,
  { namespace, hash, signature }: { namespace: string; hash: string; signature: Buffer },
): Buffer {
  const parts = [key, namespace, '', hash, signature].map((part) => wireString(part));
  return Buffer.concat([Buffer.from('SSHSIG\0\0\0\x01'), ...parts]);
}

export function armor(data: Buffer): string {
  const lines = data.toString('base64').match(/.{1,70}/g) ?? [];
  return `-----BEGIN SSH SIGNATURE-----\n${lines.join('\n')}\n-----END SSH SIGNATURE-----\n`;
}

function pairOf(type: KeyType, curve: string | undefined): { publicKey: KeyObject; privateKey: KeyObject } {
  if (type === 'ssh-rsa') return generateKeyPairSync('rsa', { modulusLength: 2048 });
  if (curve === undefined) return generateKeyPairSync('ed25519');
  return generateKeyPairSync('ec', { namedCurve: `P-${curve.slice(5)}` });
}

function publicParts(key: KeyObject, curve: string | undefined): Buffer[] {
  const { x = '', y = '', n, e } = key.export({ format: 'jwk' });
  if (n !== undefined && e !== undefined) return [e, n].map((part) => mpint(Buffer.from(part, 'base64url')));
  const [first, second] = [x, y].map((part) => Buffer.from(part, 'base64url'));
  if (curve === undefined) return [wireString(first!)];
  return [wireString(curve), wireString(Buffer.concat([Buffer.of(4), first!, second!]))];
}

/** Without the name of its algorithm. */
function rawSignature(key: KeyObject, data: Buffer, hash: string): Buffer {
  if (key.asymmetricKeyType === 'ed25519') return wireString(sign(null, data, key));
  if (key.asymmetricKeyType === 'rsa') return wireString(sign(hash, data, key));
  const { namedCurve = '' } = key.asymmetricKeyDetails ?? {};
  const own = { prime256v1: 'sha256', secp384r1: 'sha384', secp521r1: 'sha512' }[namedCurve];
  const pair = sign(own, data, { key, dsaEncoding: 'ieee-p1363' });
  const half = pair.length / 2;
  return wireString(Buffer.concat([mpint(pair.subarray(0, half)), mpint(pair.subarray(half))]));
}

function hardwareSignature(type: KeyType, key: KeyObject, data: Buffer, flags: number): Buffer {
  const counter = Buffer.of(0, 0, 0, 7);
  const signed = Buffer.concat([sha256('ssh:'), Buffer.of(flags), counter, sha256(data)]);
  return Buffer.concat([wireString(type), rawSignature(key, signed, 'sha256'), Buffer.of(flags), counter]);
}

function mpint(number: Buffer): Buffer {
  const digits = number.subarray(
    Math.max(
      0,
      number.findIndex((byte) => byte !== 0),
    ),
  );
  return wireString(digits[0]! > 0x7f ? Buffer.concat([Buffer.of(0), digits]) : digits);
}

const sha256 = (data: Uint8Array | string): Buffer => createHash('sha256').update(data).digest();
