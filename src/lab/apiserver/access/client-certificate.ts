/** The user a TLS client certificate names: the common name is the user, each organization a group. */
import type { X509Certificate } from 'node:crypto';
import type { User } from '../attributes.js';

export type CertificateVerdict = { kind: 'none' } | { kind: 'user'; user: User } | { kind: 'refused'; cause: string };

const clientAuth = '1.3.6.1.5.5.7.3.2';
const anyUsage = '2.5.29.37.0';

interface Facts {
  fromMs: number;
  toMs: number;
  user: User | undefined;
  forClients: boolean;
}

/** A connection sends thousands of requests; its certificate is read once. */
const known = new WeakMap<X509Certificate, Facts>();

/**
 * Judges a certificate whose signature was already checked against our client CA. A connection may live longer than its
 * certificate, so the dates count at each request, not only at the handshake.
 */
export function judgeCertificate(
  certificate: X509Certificate | 'refused' | undefined,
  nowMs: number,
): CertificateVerdict {
  if (certificate === undefined) return { kind: 'none' };
  if (certificate === 'refused') return { kind: 'refused', cause: 'client certificate: another authority signed it' };
  const facts = known.get(certificate) ?? read(certificate);
  known.set(certificate, facts);
  const { validFrom, validTo } = certificate;
  if (nowMs < facts.fromMs || nowMs > facts.toMs)
    return { kind: 'refused', cause: `client certificate: valid only from ${validFrom} to ${validTo}` };
  if (!facts.forClients)
    return {
      kind: 'refused',
      cause: 'client certificate: its extended key usage does not allow client authentication',
    };
  return facts.user === undefined ? { kind: 'none' } : { kind: 'user', user: facts.user };
}

function read(certificate: X509Certificate): Facts {
  const subject = certificate.toLegacyObject().subject as unknown as Record<string, string | string[] | undefined>;
  const name = [subject?.CN ?? []].flat().at(-1);
  const usages: string[] | undefined = certificate.keyUsage;
  return {
    fromMs: Date.parse(certificate.validFrom),
    toMs: Date.parse(certificate.validTo),
    user: name ? { name, groups: [subject.O ?? []].flat() } : undefined,
    forClients: usages === undefined || usages.includes(clientAuth) || usages.includes(anyUsage),
  };
}
