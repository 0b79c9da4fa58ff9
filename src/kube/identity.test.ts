/**
 * Authentication as a server sees it. Each kubeconfig is used by our client, by the official client library and by real
 * kubectl against one TLS server; the requests must be the same.
 */

import { once } from 'node:events';
import { chmodSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { type RequestOptions, request } from 'node:https';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Authority, createAuthority, type Signed } from '../../test/pki.js';
import { Program } from '../../test/program.js';
import { needs } from '../../test/programs.js';
import {
  type Asked,
  answerJson,
  answerStatus,
  type ScriptedServer,
  startScriptedServer,
} from '../../test/scripted-server.js';
import { temporaryDir } from '../../test/temporary-dir.js';
import { systemClock } from '../clock.js';
import { readPlain } from '../config/plain-document.js';
import { createLog, silentLog } from '../log.js';
import { systemRandom } from '../random.js';
import { createClient, type KubeClient } from './client.js';
import { kubeconfigSource, waitForKubeconfig } from './identity.js';
import { systemFileReader } from './kubeconfig.js';
import { nodes } from './resource-type.js';

const dir = temporaryDir();
const kubectl = needs('kubectl');
let authority: Authority;
let alice: Signed;
let server: ScriptedServer;
let refuseToken = '';

beforeAll(async () => {
  authority = await createAuthority();
  alice = await authority.sign('CN=alice,O=team');
  const own = await authority.sign('CN=server', { hosts: ['127.0.0.1', 'api.example'] });
  server = await startScriptedServer(
    (asked, response) =>
      refuseToken !== '' && asked.headers.authorization === `Bearer ${refuseToken}`
        ? answerStatus(response, 401, 'Unauthorized', 'Unauthorized')
        : answerJson(response, { kind: 'Node', apiVersion: 'v1', metadata: { name: 'a' } }),
    { tls: { ...own, ca: authority.cert } },
  );
});
afterAll(async () => {
  await server.close();
});
beforeEach(() => {
  server.asked.length = 0;
  refuseToken = '';
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
function file(name: string, text: string): string {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
}
function plugin(name: string, script: string): string {
  const path = file(name, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}
function kubeconfig(user: object, cluster: object = {}): string {
  return file(
    'config',
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'c',
      clusters: [
        {
          name: 'k',
          cluster: { server: server.url, 'certificate-authority-data': base64(authority.cert), ...cluster },
        },
      ],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    }),
  );
}
const execCredential = (status: object, version = 'v1') =>
  JSON.stringify({ apiVersion: `client.authentication.k8s.io/${version}`, kind: 'ExecCredential', status });

function ourClient(path: string, env: Record<string, string | undefined> = process.env): KubeClient {
  const source = kubeconfigSource({
    paths: [path],
    mustExist: true,
    env,
    readYaml: readPlain,
    files: systemFileReader,
    clock: systemClock,
    log: silentLog,
  });
  return createClient({ source, clock: systemClock, random: systemRandom, userAgent: 'test' });
}

/** The parts of a request that identify its sender. */
function seen(asked: Asked) {
  const { headers, clientName, serverName } = asked;
  const who = Object.entries(headers).filter(([name]) => name === 'authorization' || name.startsWith('impersonate-'));
  return { headers: Object.fromEntries(who), clientName, serverName };
}

async function askedByUs(path: string) {
  const client = ourClient(path);
  await client.get(nodes, { name: 'a' });
  client.close();
  return seen(server.asked.pop()!);
}

async function askedByLibrary(path: string) {
  const config = new KubeConfig();
  config.loadFromFile(path);
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const sent = request(new URL('/api/v1/nodes/a', server.url), options).end();
  const [response] = await once(sent, 'response');
  response.resume();
  await once(response, 'end');
  return seen(server.asked.pop()!);
}

async function askedByKubectl(path: string) {
  const kubectl = new Program('kubectl', ['--kubeconfig', path, 'get', '--raw', '/api/v1/nodes/a']);
  expect(await kubectl.ended).toMatchObject({ status: 0 });
  return seen(server.asked.pop()!);
}

describe('identity', () => {
  const cases: { name: string; user: () => object; cluster?: object; library?: false; kubectl?: false }[] = [
    { name: 'a token', user: () => ({ token: 'abc' }) },
    { name: 'a token file', user: () => ({ tokenFile: file('token', 'from-file\n') }), library: false },
    {
      name: 'a token file beside a token',
      user: () => ({ token: 'old', tokenFile: file('token', 'new') }),
      library: false,
    },
    { name: 'user name and password', user: () => ({ username: 'me', password: 'p:w' }) },
    {
      name: 'a client certificate in the kubeconfig',
      user: () => ({ 'client-certificate-data': base64(alice.cert), 'client-key-data': base64(alice.key) }),
    },
    {
      name: 'a client certificate in files',
      user: () => ({ 'client-certificate': file('c.pem', alice.cert), 'client-key': file('k.pem', alice.key) }),
    },
    {
      name: 'a token of an exec plugin',
      user: () => ({
        exec: {
          apiVersion: 'client.authentication.k8s.io/v1',
          interactiveMode: 'Never',
          command: plugin('p1', `echo '${execCredential({ token: 'XX' })}' | sed "s/XX/$ADDED-$1/"`),
          args: ['arg'],
          env: [{ name: 'ADDED', value: 'env' }],
        },
      }),
    },
    {
      name: 'a certificate of an exec plugin',
      user: () => ({
        exec: {
          apiVersion: 'client.authentication.k8s.io/v1beta1',
          command: plugin(
            'p2',
            `cat ${file('cred', execCredential({ clientCertificateData: alice.cert, clientKeyData: alice.key }, 'v1beta1'))}`,
          ),
        },
      }),
    },
    {
      name: 'impersonation',
      user: () => ({
        token: 'abc',
        as: 'jane',
        'as-uid': '7',
        'as-groups': ['g1', 'g2'],
        'as-user-extra': { 'A/b c': ['x'] },
      }),
      library: false,
    },
    { name: 'an id-token', user: () => ({ 'auth-provider': { name: 'oidc', config: oidc(3600) } }) },
    { name: 'another server name', user: () => ({ token: 'abc' }), cluster: { 'tls-server-name': 'api.example' } },
    {
      name: 'insecure-skip-tls-verify',
      user: () => ({ token: 'abc' }),
      cluster: { 'insecure-skip-tls-verify': true, 'certificate-authority-data': undefined },
    },
  ];
  test.each(cases)(
    'requests with $name are those of the official client and kubectl',
    async ({ user, cluster, library }) => {
      const path = kubeconfig(user(), cluster);
      const ours = await askedByUs(path);
      expect(Object.keys(ours.headers).length + ours.clientName.length).toBeGreaterThan(0);
      if (library !== false) expect(ours).toEqual(await askedByLibrary(path));
    },
  );
  test.skipIf(kubectl.isMissing).each(cases)(`$name, as kubectl sends it${kubectl.note}`, async ({ user, cluster }) => {
    const path = kubeconfig(user(), cluster);
    expect(await askedByUs(path)).toEqual(await askedByKubectl(path));
  });
});

function oidc(expiresInSeconds: number, config: object = {}) {
  const claims = { exp: Math.floor(Date.now() / 1000) + expiresInSeconds };
  const token = ['{"alg":"none"}', JSON.stringify(claims)].map((part) => Buffer.from(part).toString('base64url'));
  return { 'id-token': `${token.join('.')}.sig`, 'client-id': 'x', 'idp-issuer-url': 'https://idp', ...config };
}

describe('unusable credentials', () => {
  const ask = (user: object, cluster?: object) => ourClient(kubeconfig(user, cluster)).get(nodes, { name: 'a' });
  test('an expired id-token that kubectl can refresh is an error with that remedy', async () => {
    const config = oidc(-60, { 'refresh-token': 'r' });
    await expect(ask({ 'auth-provider': { name: 'oidc', config } })).rejects.toThrow(
      /user "u": the id-token expired at .*; any kubectl command with this context refreshes it/,
    );
  });
  test('an expired id-token without a refresh token is an error', async () => {
    await expect(ask({ 'auth-provider': { name: 'oidc', config: oidc(5) } })).rejects.toThrow('log in again');
  });
  test('an auth provider that was removed from Kubernetes is an error', async () => {
    await expect(ask({ 'auth-provider': { name: 'gcp' } })).rejects.toThrow('auth-provider "gcp" was removed');
  });
  test('a missing certificate file is an error with its path', async () => {
    await expect(ask({ 'client-certificate': '/no/c.pem', 'client-key': '/no/k.pem' })).rejects.toThrow(
      'read client-certificate of user "u", /no/c.pem: no such file',
    );
  });
  test('a server certificate of an unknown authority is an error', async () => {
    const other = await createAuthority('other');
    await expect(ask({ token: 'x' }, { 'certificate-authority-data': base64(other.cert) })).rejects.toThrow(
      'certificate signed by an unknown authority',
    );
    expect(server.asked).toEqual([]);
  });
  test('a server certificate for another name is an error', async () => {
    await expect(ask({ token: 'x' }, { 'tls-server-name': 'elsewhere.example' })).rejects.toThrow('elsewhere.example');
  });
});

describe('plain http', () => {
  test('a token is never sent without TLS', async () => {
    const plain = await startScriptedServer((_asked, response) => answerJson(response, {}));
    await ourClient(kubeconfig({ token: 'abc' }, { server: plain.url })).get(nodes, { name: 'a' });
    expect(plain.asked[0]!.headers.authorization).toBeUndefined();
    await plain.close();
  });
});

describe('files that change', () => {
  test('a rotated certificate behind a symlink is used by the next request, on a new connection', async () => {
    const both = ({ cert, key }: Signed) => `${cert}\n${key}\n`;
    file('client-1.pem', both(alice));
    file('client-2.pem', both(await authority.sign('CN=bob')));
    const current = join(dir, 'current.pem');
    symlinkSync('client-1.pem', current);
    const client = ourClient(kubeconfig({ 'client-certificate': current, 'client-key': current }));
    await client.get(nodes, { name: 'a' });
    await client.get(nodes, { name: 'a' });
    symlinkSync('client-2.pem', `${current}.new`);
    renameSync(`${current}.new`, current);
    await client.get(nodes, { name: 'a' });
    expect(server.asked.map(({ clientName }) => clientName)).toEqual(['alice', 'alice', 'bob']);
    const [first, second, third] = server.asked.map(({ connection }) => connection);
    expect(second).toBe(first);
    expect(third).not.toBe(second);
  });

  test('a rotated token is used by the next request, on the same connection', async () => {
    const client = ourClient(kubeconfig({ tokenFile: file('token', 'one') }));
    await client.get(nodes, { name: 'a' });
    file('token.new', 'two');
    renameSync(join(dir, 'token.new'), join(dir, 'token'));
    await client.get(nodes, { name: 'a' });
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer one', 'Bearer two']);
    expect(server.asked[1]!.connection).toBe(server.asked[0]!.connection);
  });

  test('an edited kubeconfig is used at once; a broken edit is logged and the last good one stays', async () => {
    const lines: string[] = [];
    const path = kubeconfig({ token: 'one' });
    const log = createLog({ format: 'text', write: (line) => lines.push(line) });
    const source = kubeconfigSource({
      paths: [path],
      env: {},
      files: systemFileReader,
      readYaml: readPlain,
      clock: systemClock,
      log,
    });
    const client = createClient({ source, clock: systemClock, random: systemRandom, userAgent: 'test' });
    await client.get(nodes, { name: 'a' });
    kubeconfig({ token: 'second' });
    await client.get(nodes, { name: 'a' });
    file('config', '{{{');
    await client.get(nodes, { name: 'a' });
    const tokens = server.asked.map(({ headers }) => headers.authorization);
    expect(tokens).toEqual(['Bearer one', 'Bearer second', 'Bearer second']);
    expect(lines.join('')).toContain('kubeconfig changed and is unusable');
  });

  test('waits for a kubeconfig that does not exist yet, and for the certificate that it names', async () => {
    const path = join(dir, 'later');
    const waits: string[] = [];
    const steps = [
      () =>
        renameSync(
          kubeconfig({ 'client-certificate': join(dir, 'later.pem'), 'client-key': join(dir, 'later.pem') }),
          path,
        ),
      () => file('later.pem', `${alice.cert}\n${alice.key}\n`),
    ];
    const clock = { ...systemClock, sleep: async () => void steps.shift()!() };
    const log = createLog({ format: 'text', write: (line) => waits.push(line) });
    const source = await waitForKubeconfig({
      paths: [path],
      env: {},
      files: systemFileReader,
      readYaml: readPlain,
      clock,
      log,
    });
    const client = createClient({ source, clock: systemClock, random: systemRandom, userAgent: 'test' });
    await client.get(nodes, { name: 'a' });
    expect(server.asked[0]!.clientName).toBe('alice');
    expect(waits.map((line) => /error="(.*)"/.exec(line)?.[1])).toEqual([
      expect.stringContaining(`read kubeconfig ${path}: no such file`),
      expect.stringContaining('later.pem: no such file'),
    ]);
  });

  test('waiting for a kubeconfig ends with the signal', async () => {
    const stop = new AbortController();
    const waiting = waitForKubeconfig({
      paths: ['/nowhere'],
      env: {},
      readYaml: readPlain,
      files: systemFileReader,
      clock: systemClock,
      log: silentLog,
      signal: stop.signal,
    });
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});

describe('a 401', () => {
  test('after a 401 an exec plugin runs once more', async () => {
    const counter = file('count', '');
    const command = plugin(
      'p3',
      `echo >> ${counter}; echo '${execCredential({ token: 'T' })}' | sed "s/T/t$(wc -l < ${counter})/"`,
    );
    const client = ourClient(
      kubeconfig({ exec: { apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never', command } }),
    );
    refuseToken = 't1';
    await client.get(nodes, { name: 'a' });
    await client.get(nodes, { name: 'a' });
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer t1', 'Bearer t2', 'Bearer t2']);
  });

  test('a 401 for a static token is not retried', async () => {
    refuseToken = 'bad';
    await expect(ourClient(kubeconfig({ token: 'bad' })).get(nodes, { name: 'a' })).rejects.toMatchObject({
      name: 'ApiError',
      code: 401,
      message: 'Unauthorized',
    });
    expect(server.asked).toHaveLength(1);
  });
});
