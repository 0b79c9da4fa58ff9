/**
 * The serving certificate of the hollow kubelet: the config's files, or a self-signed one kept in --cert-dir as
 * kubelet.crt and kubelet.key, as the kubelet does. Node can sign but not write X.509, and a library for it would need a
 * quarter of this process' memory; a self-signed certificate is a page of DER.
 */
import { generateKeyPairSync, sign, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '../../clock.js';
import type { Random } from '../../random.js';

export interface ServingCertificate {
  cert: string;
  key: string;
}

export function servingCertificate(options: {
  certFile: string;
  keyFile: string;
  certDir: string;
  hostname: string;
  addresses: string[];
  clock: Pick<Clock, 'now'>;
  random: Random;
}): ServingCertificate {
  const { certFile, keyFile, certDir, hostname, addresses, clock, random } = options;
  const paths = { cert: join(certDir, 'kubelet.crt'), key: join(certDir, 'kubelet.key') };
  // The kubelet sets its default paths in a config without any.
  const named = certFile !== '' && keyFile !== '' && certFile !== paths.cert;
  if (named) return { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  if (existsSync(paths.cert) && existsSync(paths.key)) {
    const kept = { cert: readFileSync(paths.cert, 'utf8'), key: readFileSync(paths.key, 'utf8') };
    if (isUsable(kept, clock.now())) return kept;
  }
  const made = selfSigned(hostname, addresses, clock.now(), random);
  mkdirSync(certDir, { recursive: true, mode: 0o755 });
  for (const part of ['key', 'cert'] as const) {
    writeFileSync(`${paths[part]}.tmp`, made[part], { mode: 0o600 });
    renameSync(`${paths[part]}.tmp`, paths[part]);
  }
  return made;
}

function isUsable({ cert }: ServingCertificate, nowMs: number): boolean {
  try {
    return Date.parse(new X509Certificate(cert).validTo) > nowMs;
  } catch {
    return false;
  }
}

const yearMs = 365 * 24 * 3600 * 1000;

export function selfSigned(hostname: string, addresses: string[], nowMs: number, random: Random): ServingCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(set(sequence(oid.commonName, tag(0x0c, Buffer.from(hostname)))));
  const times = [new Date(nowMs - 3_600_000), new Date(nowMs + yearMs)].map(utcTime);
  const names = [
    tag(0x82, Buffer.from(hostname)),
    ...addresses.filter(isIPv4).map((address) => tag(0x87, ipv4(address))),
  ];
  const body = sequence(
    tag(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([0x01]), random.bytes(15)])),
    ecdsaWithSha256,
    name,
    sequence(...times),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tag(0xa3, sequence(sequence(oid.subjectAltName, tag(0x04, sequence(...names))))),
  );
  const signature = sign('sha256', body, privateKey);
  const cert = sequence(body, ecdsaWithSha256, tag(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = cert.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

/** DER: a tag, a length, the content. */
function tag(type: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([type, ...size]), content]);
}
function sequence(...parts: Buffer[]): Buffer {
  return tag(0x30, Buffer.concat(parts));
}
function set(...parts: Buffer[]): Buffer {
  return tag(0x31, Buffer.concat(parts));
}
function integer(bytes: Buffer): Buffer {
  return tag(0x02, bytes);
}
function utcTime(date: Date): Buffer {
  return tag(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replace(/[-T:]/g, '')}Z`));
}
function ipv4(address: string): Buffer {
  return Buffer.from(address.split('.').map(Number));
}

const oid = {
  commonName: Buffer.from('0603550403', 'hex'),
  subjectAltName: Buffer.from('0603551d11', 'hex'),
};
const ecdsaWithSha256 = sequence(Buffer.from('06082a8648ce3d040302', 'hex'));
