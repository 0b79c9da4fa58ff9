/**
 * Makes keys and X.509 certificates. Elliptic curves only: an RSA key takes longer than the rest of the start.
 * The library is loaded when something must be made, so a start that finds all files on disk does not load it.
 */
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import type { Random } from '../../../random.js';

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  cert: string;
  key: string;
}

export interface Leaf {
  /** The user name for clients, a description for servers. */
  commonName: string;
  /** The user's groups for clients. */
  organizations?: string[];
  usage: 'client' | 'server';
  /** DNS names and addresses of a server. */
  hosts?: string[];
}

export interface Validity {
  from: Date;
  to: Date;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const usages = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' };

/** A certificate authority; with `key` the same authority renewed, so that certificates it signed stay valid. */
export async function createAuthority(
  commonName: string,
  validity: Validity,
  random: Random,
  key?: string,
): Promise<KeyPair> {
  const x509 = await loadX509();
  const keys = key === undefined ? await generateKeys() : await importKeys(key);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(random),
    name: [{ CN: [commonName] }],
    keys,
    signingAlgorithm: algorithm,
    notBefore: validity.from,
    notAfter: validity.to,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: pem(certificate.toString('pem')), key: key ?? (await exportKey(keys.privateKey)) };
}

export async function issue(authority: KeyPair, leaf: Leaf, validity: Validity, random: Random): Promise<KeyPair> {
  const x509 = await loadX509();
  const signer = await importKeys(authority.key);
  const keys = await generateKeys();
  const hosts = (leaf.hosts ?? []).map((value) => ({ type: isIP(value) ? ('ip' as const) : ('dns' as const), value }));
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(random),
    subject: [...(leaf.organizations ?? []).map((name) => ({ O: [name] })), { CN: [leaf.commonName] }],
    issuer: new x509.X509Certificate(authority.cert).subjectName,
    publicKey: keys.publicKey,
    signingKey: signer.privateKey,
    signingAlgorithm: algorithm,
    notBefore: validity.from,
    notAfter: validity.to,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([usages[leaf.usage]]),
      await x509.AuthorityKeyIdentifierExtension.create(signer.publicKey),
      ...(hosts.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(hosts)]),
    ],
  });
  return { cert: pem(certificate.toString('pem')), key: await exportKey(keys.privateKey) };
}

async function loadX509() {
  // The library throws at import unless this is imported first.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto);
  return x509;
}

const generateKeys = () =>
  webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
}

/** Both halves of a private key; the public half is inside the private one. */
async function importKeys(text: string): Promise<webcrypto.CryptoKeyPair> {
  const der = Buffer.from(text.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  const privateKey = await webcrypto.subtle.importKey('pkcs8', der, algorithm, true, ['sign']);
  const { d: _secret, ...jwk } = await webcrypto.subtle.exportKey('jwk', privateKey);
  const publicKey = await webcrypto.subtle.importKey('jwk', { ...jwk, key_ops: ['verify'] }, algorithm, true, [
    'verify',
  ]);
  return { privateKey, publicKey };
}

const pem = (text: string) => (text.endsWith('\n') ? text : `${text}\n`);

/** Positive, as X.509 requires. */
function serialNumber(random: Random): string {
  const bytes = random.bytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x01;
  return bytes.toString('hex');
}
