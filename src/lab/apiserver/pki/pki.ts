/**
 * The server's own certificates, made once and kept under DIR/pki:
 *
 *   ca.crt, ca.key                          signs everything else; clients trust it, and the server trusts what it signed
 *   apiserver.crt, .key                     serving certificate
 *   apiserver-kubelet-client.crt, .key      client certificate for kubelets
 *   admin.crt, .key                         the administrator in admin.kubeconfig
 *   sa.key                                  signs tokens of service accounts
 *
 * Certificates that expire soon, or no longer match, are renewed at start. The authority keeps its key forever: another
 * one would lock out every node.
 */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isMissing, realFiles, replaceFile } from '../../../atomic-file.js';
import type { Clock } from '../../../clock.js';
import type { Log } from '../../../log.js';
import { makeDirectory } from '../../../make-directory.js';
import type { Random } from '../../../random.js';
import { newSigningKey } from '../access/json-web-token.js';
import { mastersGroup, nodesGroup, nodeUserName } from '../well-known.js';
import { createAuthority, issue, type KeyPair, type Leaf } from './issue.js';

const dayMs = 86_400_000;
const authorityDays = 3650;
const leafDays = 365;
const renewWithinDays = 30;

export interface PkiOptions {
  /** The directory; created if missing. */
  dir: string;
  /** The address to listen on, beside the loopback addresses and the host's name. */
  bindAddress: string;
  log: Log;
  clock: Pick<Clock, 'now'>;
  random: Random;
}

export interface Pki {
  /** PEM of the authority's certificate. */
  ca: string;
  apiserver: KeyPair;
  kubeletClient: KeyPair;
  admin: KeyPair;
  /** PEM of the private key that signs tokens of service accounts. */
  serviceAccountKey: string;
  /** A client certificate for the user `system:node:NAME`. Not stored. */
  issueNodeClient(nodeName: string): Promise<KeyPair>;
  /** A client certificate for any user. Not stored. */
  issueClient(user: string, groups: string[]): Promise<KeyPair>;
  /** A serving certificate of a kubelet with these names and addresses. Not stored. */
  issueKubeletServing(nodeName: string, hosts: string[]): Promise<KeyPair>;
}

export async function openPki(options: PkiOptions): Promise<Pki> {
  const { dir, bindAddress, clock, random } = options;
  const now = () => new Date(clock.now());
  makeDirectory(dir);
  const ca = await openAuthority(options, now());
  const leaf = (name: string, wanted: Leaf) => openLeaf(name, wanted, ca, options, now());
  const fresh = (wanted: Leaf) => issue(ca, wanted, validity(now(), leafDays), random);
  const [apiserver, forKubelets, forAdmin] = await Promise.all([
    leaf('apiserver', { commonName: 'kube-apiserver', usage: 'server', hosts: serverHosts(bindAddress) }),
    leaf('apiserver-kubelet-client', kubeletClient),
    leaf('admin', admin),
  ]);
  chmodSync(dir, 0o700);
  return {
    ca: ca.cert,
    apiserver,
    kubeletClient: forKubelets,
    admin: forAdmin,
    serviceAccountKey: openSigningKey(dir),
    issueNodeClient: (nodeName) =>
      fresh({ commonName: nodeUserName(nodeName), organizations: [nodesGroup], usage: 'client' }),
    issueClient: (user, groups) => fresh({ commonName: user, organizations: groups, usage: 'client' }),
    issueKubeletServing: (nodeName, hosts) =>
      fresh({ commonName: nodeUserName(nodeName), organizations: [nodesGroup], usage: 'server', hosts }),
  };
}

const admin: Leaf = { commonName: 'kubernetes-admin', organizations: [mastersGroup], usage: 'client' };

/** Without groups: a node that makes the server call another server must gain nothing. RBAC allows it to use kubelets. */
const kubeletClient: Leaf = { commonName: 'kube-apiserver-kubelet-client', usage: 'client' };

/** Some host names are not valid DNS names. */
const dnsName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

function serverHosts(bindAddress: string): string[] {
  const inCluster = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
  const everywhere = bindAddress === '0.0.0.0' || bindAddress === '::';
  const host = hostname().toLowerCase();
  const names = ['127.0.0.1', '::1', 'localhost', ...inCluster, ...(dnsName.test(host) ? [host] : [])];
  return [...new Set(everywhere ? names : [...names, bindAddress])];
}

/** An incomplete authority (a key alone) has signed nothing yet and is completed; a damaged one is never replaced. */
async function openAuthority({ dir, log, random }: PkiOptions, now: Date): Promise<KeyPair> {
  const cert = readIfThere(join(dir, 'ca.crt'));
  const key = readIfThere(join(dir, 'ca.key'));
  if (cert !== undefined && key === undefined)
    throw new Error(
      `open pki ${dir}: ca.crt is there but ca.key is not: put the key back, or move the whole directory away to start with a new one`,
    );
  if (cert !== undefined && key !== undefined) {
    const fault = pairFault({ cert, key }, dir);
    if (fault !== undefined)
      throw new Error(
        `open pki ${dir}: ca.crt and ca.key: ${fault}: restore them, or move the whole directory away to start with a new one`,
      );
    if (!isDue(new X509Certificate(cert), now)) return { cert, key };
    log.info('certificate authority renewed with the same key', { dir });
  }
  const made = await createAuthority('relet-ca', validity(now, authorityDays), random, key);
  keep(dir, 'ca', made);
  return made;
}

async function openLeaf(
  name: string,
  wanted: Leaf,
  ca: KeyPair,
  { dir, log, random }: PkiOptions,
  now: Date,
): Promise<KeyPair> {
  const cert = readIfThere(join(dir, `${name}.crt`));
  const key = readIfThere(join(dir, `${name}.key`));
  if (cert !== undefined && key !== undefined) {
    const fault = pairFault({ cert, key }, dir) ?? leafFault(new X509Certificate(cert), wanted, ca, now);
    if (fault === undefined) return { cert, key };
    log.info('certificate renewed', { name, reason: fault });
  }
  const made = await issue(ca, wanted, validity(now, leafDays), random);
  keep(dir, name, made);
  return made;
}

/** Another key would invalidate every token, so a damaged one is rejected, never replaced. */
function openSigningKey(dir: string): string {
  const path = join(dir, 'sa.key');
  const kept = readIfThere(path);
  if (kept === undefined) {
    const made = newSigningKey();
    replaceFile(path, made, { mode: 0o600 });
    return made;
  }
  try {
    createPrivateKey(kept);
    return kept;
  } catch (error) {
    throw new Error(`read ${path}: restore it, or move it away to invalidate all tokens of service accounts`, {
      cause: error,
    });
  }
}

function pairFault({ cert, key }: KeyPair, dir: string): string | undefined {
  try {
    const matches = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
    return matches ? undefined : 'the certificate is of another key';
  } catch (error) {
    return `cannot be read (${(error as Error).message}) in ${dir}`;
  }
}

function leafFault(cert: X509Certificate, { hosts = [] }: Leaf, ca: KeyPair, now: Date): string | undefined {
  const authority = new X509Certificate(ca.cert);
  if (!cert.checkIssued(authority) || !cert.verify(authority.publicKey)) return 'another authority signed it';
  if (isDue(cert, now)) return `it is valid until ${cert.validTo}`;
  const missing = hosts.find((host) => (isIP(host) ? cert.checkIP(host) : cert.checkHost(host)) === undefined);
  return missing === undefined ? undefined : `it does not name ${missing}`;
}

const isDue = (cert: X509Certificate, now: Date) => Date.parse(cert.validTo) - now.getTime() < renewWithinDays * dayMs;

/** From a day before now, since clocks of nodes differ. */
const validity = (now: Date, days: number) => ({
  from: new Date(now.getTime() - dayMs),
  to: new Date(now.getTime() + days * dayMs),
});

/** The key first: a crash in between leaves a key without its certificate, which is completed at the next start. */
function keep(dir: string, name: string, { cert, key }: KeyPair): void {
  replaceFile(join(dir, `${name}.key`), key, { mode: 0o600 });
  replaceFile(join(dir, `${name}.crt`), cert, { mode: 0o600 });
}

function readIfThere(path: string): string | undefined {
  try {
    const text = realFiles.read(path).toString('utf8');
    // The directory may have been copied with wider modes.
    if (((realFiles.stat(path)?.mode ?? 0) & 0o077) !== 0) chmodSync(path, 0o600);
    return text;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new Error(`read ${path}`, { cause: error });
  }
}
