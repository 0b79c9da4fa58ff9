/** Certificates for tests: an authority and what it signs, as PEM. */
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsageExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

cryptoProvider.set(webcrypto);

export interface Signed {
  cert: string;
  key: string;
}

export interface Authority {
  cert: string;
  /** `subject` as in `CN=system:node:a,O=system:nodes`; hosts are names or addresses for servers. */
  sign(subject: string, options?: { hosts?: string[]; notAfter?: Date }): Promise<Signed>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const newKeys = () =>
  webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;
const daysFromNow = (days: number) => new Date(Date.now() + days * 86_400_000);

export async function createAuthority(name = 'test-ca'): Promise<Authority> {
  const keys = await newKeys();
  const root = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: algorithm,
    notBefore: daysFromNow(-1),
    notAfter: daysFromNow(30),
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  return {
    cert: root.toString('pem'),
    async sign(subject, { hosts = [], notAfter = daysFromNow(30) } = {}) {
      const own = await newKeys();
      const cert = await X509CertificateGenerator.create({
        subject,
        issuer: root.subject,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        notBefore: daysFromNow(-2),
        notAfter,
        extensions: [
          new ExtendedKeyUsageExtension(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']),
          new SubjectAlternativeNameExtension(
            hosts.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? 'ip' : 'dns', value })),
          ),
        ],
      });
      const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', own.privateKey);
      return { cert: cert.toString('pem'), key: PemConverter.encode(pkcs8, 'PRIVATE KEY') };
    },
  };
}
