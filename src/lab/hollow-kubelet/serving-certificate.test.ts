/** The self-signed certificate, read back by Node's own X.509 and used in a real handshake. */
import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { systemClock } from '../../clock.js';
import { systemRandom } from '../../random.js';
import { selfSigned, servingCertificate } from './serving-certificate.js';

const dir = temporaryDir();
const options = {
  certFile: '',
  keyFile: '',
  certDir: join(dir, 'pki'),
  hostname: 'node-a',
  addresses: ['127.0.0.1'],
  clock: systemClock,
  random: systemRandom,
};

test('the certificate has the host and its addresses and is self-signed', () => {
  const { cert } = selfSigned('node-a', ['127.0.0.1', '10.1.2.3'], Date.now(), systemRandom);
  const read = new X509Certificate(cert);
  expect(read.subject).toBe('CN=node-a');
  expect(read.subjectAltName).toBe('DNS:node-a, IP Address:127.0.0.1, IP Address:10.1.2.3');
  expect(read.verify(read.publicKey)).toBe(true);
  expect(Date.parse(read.validTo)).toBeGreaterThan(Date.now() + 300 * 86_400_000);
});

test('a client that trusts the certificate can connect', async () => {
  const certificate = selfSigned('node-a', ['127.0.0.1'], Date.now(), systemRandom);
  const server = createServer(certificate, (_request, response) => response.end('ok'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const status = await new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, ca: certificate.cert, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });
  server.close();
  expect(status).toBe(200);
});

test('the certificate is created once, kept for the next start, and readable by its owner only', () => {
  const first = servingCertificate(options);
  expect(servingCertificate(options)).toEqual(first);
  expect(statSync(join(dir, 'pki/kubelet.key')).mode & 0o777).toBe(0o600);
});

test('a damaged certificate is created again', () => {
  const first = servingCertificate(options);
  writeFileSync(join(dir, 'pki/kubelet.crt'), 'torn');
  expect(servingCertificate(options).cert).not.toBe(first.cert);
  expect(readFileSync(join(dir, 'pki/kubelet.crt'), 'utf8')).toContain('BEGIN CERTIFICATE');
});

test('certificate files named in the config are used, and must exist', () => {
  const { cert, key } = selfSigned('other', [], Date.now(), systemRandom);
  const named = { ...options, certFile: join(dir, 'a.crt'), keyFile: join(dir, 'a.key') };
  expect(() => servingCertificate(named)).toThrow('a.crt');
  writeFileSync(named.certFile, cert);
  writeFileSync(named.keyFile, key);
  expect(servingCertificate(named)).toEqual({ cert, key });
});
