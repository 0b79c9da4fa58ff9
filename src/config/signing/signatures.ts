/** Parses SSH signatures (SSHSIG, OpenSSH's PROTOCOL.sshsig) as `ssh-keygen -Y sign` writes them, one after the other. */
import { createHash } from 'node:crypto';
import { signatureNamespace } from '../../api/signing.js';
import { fingerprintOf, keyTypeOf, readPublicKey } from './public-key.js';
import { readWire, wireString } from './wire.js';

export interface Signature {
  keyType: string;
  /** As `ssh-keygen -l` prints it. */
  fingerprint: string;
  /** The public key, in base64. */
  key: string;
  namespace: string;
  hash: string;
  /** The signature in the form of its key, without SSHSIG around it. */
  signature: Buffer;
}

const magic = 'SSHSIG';
const armor = /\s*-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)-----END SSH SIGNATURE-----\s*/y;
/** More than persons that a threshold counts; a hostile text may hold thousands. */
const mostSignatures = 32;

/** Throws an Error for a text that is not armored signatures. None of them is verified. */
export function readSignatures(text: string): Signature[] {
  const found: Signature[] = [];
  armor.lastIndex = 0;
  for (let at = 0; at < text.length; at = armor.lastIndex) {
    const base64 = armor.exec(text)?.[1]?.replaceAll('\n', '');
    if (base64 === undefined) throw new Error(`signature ${found.length + 1} is not armored as ssh-keygen does it`);
    if (found.length === mostSignatures) throw new Error(`more than ${mostSignatures} signatures`);
    try {
      found.push(readSignature(decodeBase64(base64)));
    } catch (cause) {
      throw new Error(`signature ${found.length + 1}: ${(cause as Error).message}`, { cause });
    }
  }
  return found;
}

/** Undefined if it is the signature of this text; otherwise why it is not. */
export function whyInvalid({ key, namespace, hash, signature }: Signature, text: string): string | undefined {
  if (namespace !== signatureNamespace)
    return `it was made for ${JSON.stringify(namespace)} and not for ${signatureNamespace}`;
  try {
    const digest = createHash(hash).update(text, 'utf8').digest();
    const parts = [namespace, '', hash, digest].map((part) => wireString(part));
    return readPublicKey(Buffer.from(key, 'base64')).whyNot(signature, Buffer.concat([Buffer.from(magic), ...parts]));
  } catch (error) {
    return (error as Error).message;
  }
}

function readSignature(data: Buffer): Signature {
  if (data.subarray(0, magic.length).toString('latin1') !== magic) throw new Error('it is not an SSH signature');
  const reader = readWire(data.subarray(magic.length));
  const version = reader.uint32();
  if (version !== 1) throw new Error(`version ${version} of SSH signatures is not supported`);
  const [key, namespace, reserved, hash, signature] = [
    reader.string(),
    reader.text(),
    reader.string(),
    reader.text(),
    reader.string(),
  ];
  reader.end();
  if (reserved.length > 0) throw new Error('it has data in a place that is reserved');
  if (hash !== 'sha256' && hash !== 'sha512')
    throw new Error(`its hash ${JSON.stringify(hash)} is not sha256 or sha512`);
  const about = { keyType: keyTypeOf(key), fingerprint: fingerprintOf(key), key: key.toString('base64') };
  return { ...about, namespace, hash, signature };
}

/** Only what encoding would give back: two texts are never one signature. */
export function decodeBase64(text: string): Buffer {
  const data = Buffer.from(text, 'base64');
  if (data.toString('base64') !== text) throw new Error('it is not base64');
  return data;
}
