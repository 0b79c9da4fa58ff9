/** The user of a TLS client certificate: the common name is the user, each organization a group. */
import type { X509Certificate } from 'node:crypto';
import type { User } from '../../../memory-api/attributes.js';

export type CertificateResult = { kind: 'none' } | { kind: 'user'; user: User } | { kind: 'rejected'; cause: string };

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
 * Checks the dates of a certificate whose signature was already verified with our client CA. A connection may outlive its
 * certificate, so they are checked at each request, not only at the handshake.
 */
export function checkCertificate(
  certificate: X509Certificate | 'rejected' | undefined,
  nowMs: number,
): CertificateResult {
  if (certificate === undefined) return { kind: 'none' };
  if (certificate === 'rejected') return { kind: 'rejected', cause: 'client certificate: another authority signed it' };
  const facts = known.get(certificate) ?? read(certificate);
  known.set(certificate, facts);
  const { validFrom, validTo } = certificate;
  if (nowMs < facts.fromMs || nowMs > facts.toMs)
    return { kind: 'rejected', cause: `client certificate: valid only from ${validFrom} to ${validTo}` };
  if (!facts.forClients)
    return {
      kind: 'rejected',
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
