/** The server's certificates: created once, kept and renewed; and authentication with them over a real TLS socket. */

import { X509Certificate } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { temporaryDir } from '../../../../test/temporary-dir.js';
import { silentLog } from '../../../log.js';
import { systemRandom } from '../../../random.js';
import { RequestAuthenticator } from '../access/authenticate.js';
import { kubeconfigText, serverUrl } from './admin-kubeconfig.js';
import type { KeyPair } from './issue.js';
import { openPki, type Pki } from './pki.js';

let dir: string;
beforeEach(() => {
  dir = join(temporaryDir(), 'pki');
});

const at = (date: string) => ({ now: () => Date.parse(date) });
const open = (clock = at('2026-01-01'), bindAddress = '127.0.0.1') =>
  openPki({ dir, bindAddress, log: silentLog, clock, random: systemRandom });
const read = (name: string) => readFileSync(join(dir, name), 'utf8');

describe('on disk', () => {
  test('certificates are created once and readable by their owner only', async () => {
    const first = await open();
    expect(readdirSync(dir).sort()).toEqual([
      ...['admin.crt', 'admin.key', 'apiserver-kubelet-client.crt', 'apiserver-kubelet-client.key'],
      ...['apiserver.crt', 'apiserver.key', 'ca.crt', 'ca.key', 'sa.key'],
    ]);
    expect(readdirSync(dir).map((name) => statSync(join(dir, name)).mode & 0o777)).toEqual(Array(9).fill(0o600));
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    const second = await open();
    expect([second.ca, second.admin, second.apiserver, second.kubeletClient]).toEqual([
      first.ca,
      first.admin,
      first.apiserver,
      first.kubeletClient,
    ]);
  });

  test('the serving certificate has loopback, host name and bind address', async () => {
    const certificate = new X509Certificate((await open(at('2026-01-01'), '10.9.8.7')).apiserver.cert);
    for (const ip of ['127.0.0.1', '::1', '10.9.8.7']) expect(certificate.checkIP(ip)).toBe(ip);
    for (const name of ['localhost', 'kubernetes', 'kubernetes.default.svc'])
      expect(certificate.checkHost(name)).toBe(name);
    expect(certificate.checkIP('10.9.8.6')).toBeUndefined();
  });

  test('another bind address renews only the serving certificate', async () => {
    const first = await open();
    const second = await open(at('2026-01-02'), '10.0.0.1');
    expect([second.ca, second.admin]).toEqual([first.ca, first.admin]);
    expect(second.apiserver.cert).not.toBe(first.apiserver.cert);
  });

  test('certificates that expire soon are renewed; the authority keeps its key, so certificates it signed stay valid', async () => {
    const first = await open();
    const nextYear = await open(at('2026-12-15'));
    expect(nextYear.ca).toBe(first.ca);
    expect(nextYear.admin.cert).not.toBe(first.admin.cert);
    const muchLater = await open(at('2035-12-20'));
    expect(muchLater.ca).not.toBe(first.ca);
    expect(new X509Certificate(nextYear.admin.cert).verify(new X509Certificate(muchLater.ca).publicKey)).toBe(true);
  });

  test('a damaged certificate, or one without its key, is created again; a wider file mode is narrowed', async () => {
    const first = await open();
    writeFileSync(join(dir, 'admin.crt'), 'nonsense');
    rmSync(join(dir, 'apiserver.key'));
    chmodSync(join(dir, 'ca.key'), 0o644);
    const second = await open();
    expect(second.ca).toBe(first.ca);
    expect(new X509Certificate(second.admin.cert).subject).toContain('CN=kubernetes-admin');
    expect(new X509Certificate(second.apiserver.cert).serialNumber).not.toBe(
      new X509Certificate(first.apiserver.cert).serialNumber,
    );
    expect(statSync(join(dir, 'ca.key')).mode & 0o777).toBe(0o600);
  });

  test('a damaged authority is rejected and not changed', async () => {
    await open();
    writeFileSync(join(dir, 'ca.crt'), 'nonsense');
    await expect(open()).rejects.toThrow(/ca\.crt and ca\.key: cannot be read .* restore them, or move/);
    expect(read('ca.crt')).toBe('nonsense');
    rmSync(join(dir, 'ca.key'));
    await expect(open()).rejects.toThrow('ca.crt is there but ca.key is not: put the key back');
  });

  test('the key of service-account tokens is kept, and rejected when it is damaged', async () => {
    const { serviceAccountKey } = await open();
    expect((await open(at('2035-12-20'))).serviceAccountKey).toBe(serviceAccountKey);
    writeFileSync(join(dir, 'sa.key'), 'nonsense');
    await expect(open()).rejects.toThrow('sa.key: restore it, or move it away');
  });

  test('after a crash between writing the key and the certificate of the authority, that key is used', async () => {
    await open();
    const key = read('ca.key');
    rmSync(join(dir, 'ca.crt'));
    const { ca, admin } = await open();
    expect(read('ca.key')).toBe(key);
    expect(new X509Certificate(admin.cert).verify(new X509Certificate(ca).publicKey)).toBe(true);
  });
});

describe('over a real socket', () => {
  let pki: Pki;
  let close: () => void;
  let url: string;
  let now = Date.now();
  beforeEach(async () => {
    now = Date.now();
    pki = await open({ now: () => Date.now() });
    const authenticator = new RequestAuthenticator({
      tokens: [],
      anonymous: true,
      issuer: 'here',
      clock: { now: () => now },
    });
    const options = { ...pki.apiserver, ca: pki.ca, requestCert: true, rejectUnauthorized: false };
    const server = createServer(options, (request, response) => {
      const socket = request.socket as TLSSocket;
      const user = authenticator.authenticate({
        header: (name) => request.headers[name] as string | undefined,
        clientCertificate: () => (socket.authorized ? socket.getPeerX509Certificate() : undefined),
      });
      response.end(JSON.stringify(user ?? 401));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    close = () => server.close();
  });
  afterEach(() => close());

  const ask = (client?: KeyPair) =>
    new Promise((resolve, reject) => {
      get(url, { ca: pki.ca, ...client, agent: false }, async (response) => {
        let text = '';
        for await (const chunk of response) text += chunk;
        resolve(JSON.parse(text));
      }).on('error', reject);
    });

  test('certificates authenticate as administrator or node, and a client without one is anonymous', async () => {
    expect(await ask(pki.admin)).toEqual({
      name: 'kubernetes-admin',
      groups: ['system:masters', 'system:authenticated'],
    });
    expect(await ask(await pki.issueNodeClient('node-a'))).toEqual({
      name: 'system:node:node-a',
      groups: ['system:nodes', 'system:authenticated'],
    });
    expect(await ask()).toEqual({ name: 'system:anonymous', groups: ['system:unauthenticated'] });
  });

  test('a user name with commas and equal signs grants no group', async () => {
    expect(await ask(await pki.issueNodeClient('x,O=system:masters\nO=system:masters'))).toEqual({
      name: 'system:node:x,O=system:masters\nO=system:masters',
      groups: ['system:nodes', 'system:authenticated'],
    });
  });

  test('a kubelet’s serving certificate does not authenticate as a node', async () => {
    const serving = await pki.issueKubeletServing('node-a', ['127.0.0.1']);
    expect(await ask(serving)).not.toMatchObject({ name: 'system:node:node-a' });
  });

  test('an expired certificate is rejected on an open connection', async () => {
    now = Date.now() + 400 * 86_400_000;
    expect(await ask(pki.admin)).toBe(401);
  });
});

describe('the kubeconfig', () => {
  test('the kubeconfig has everything inline and can be read as YAML', async () => {
    const { ca, admin } = await open();
    const config = parse(
      kubeconfigText({ server: serverUrl('::1', 6443), ca, user: 'kubernetes-admin', client: admin }),
    );
    expect(config.clusters[0].cluster.server).toBe('https://[::1]:6443');
    expect(Buffer.from(config.users[0].user['client-key-data'], 'base64').toString()).toBe(admin.key);
    expect(config['current-context']).toBe(config.contexts[0].name);
  });

  test.each([
    ['0.0.0.0', 'https://127.0.0.1:1'],
    ['::', 'https://[::1]:1'],
    ['10.0.0.1', 'https://10.0.0.1:1'],
  ])('a server bound to %s is reached at %s', (address, expected) => {
    expect(serverUrl(address, 1)).toBe(expected);
  });
});
