/** Signs JSON web tokens with one elliptic key (ES256) and verifies their signature. Claims are checked elsewhere. */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { isObject } from '../../../json.js';

export type Claims = Record<string, unknown>;

/** PEM of a new private key. */
export function newSigningKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
}

export class TokenSigner {
  private readonly privateKey: KeyObject;
  private readonly publicKey: KeyObject;
  /** Names the key in every token. */
  readonly keyId: string;

  constructor(pem: string) {
    this.privateKey = createPrivateKey(pem);
    this.publicKey = createPublicKey(this.privateKey);
    const der = this.publicKey.export({ type: 'spki', format: 'der' });
    this.keyId = createHash('sha256').update(der).digest('base64url');
  }

  sign(claims: Claims): string {
    const head = encode({ alg: 'ES256', kid: this.keyId });
    const signed = `${head}.${encode(claims)}`;
    const signature = sign('sha256', Buffer.from(signed), { key: this.privateKey, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  }

  /** The claims of a token that this key signed; undefined for anything else. */
  verify(token: string): Claims | undefined {
    const [head, body, signature, ...rest] = token.split('.');
    if (head === undefined || body === undefined || signature === undefined || rest.length > 0) return undefined;
    // The algorithm is ours to choose, never the token's.
    if (decode(head)?.alg !== 'ES256') return undefined;
    const key = { key: this.publicKey, dsaEncoding: 'ieee-p1363' as const };
    const isOurs = verify('sha256', Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url'));
    return isOurs ? decode(body) : undefined;
  }

  /** The claims of any token, unchecked: used only to read its issuer. */
  static peek(token: string): Claims | undefined {
    const body = token.split('.')[1];
    return body === undefined ? undefined : decode(body);
  }
}

const encode = (value: Claims) => Buffer.from(JSON.stringify(value)).toString('base64url');

function decode(part: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return isObject(value) ? (value as Claims) : undefined;
  } catch {
    return undefined;
  }
}
