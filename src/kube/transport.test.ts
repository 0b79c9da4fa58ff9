/** Which proxy is used, and requests through real ones. */
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer, type RequestOptions, request } from 'node:https';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectionSource } from '../../test/connection-source.js';
import { type Authority, createAuthority } from '../../test/pki.js';
import { answerJson, type ScriptedServer, startScriptedServer } from '../../test/scripted-server.js';
import { systemClock } from '../clock.js';
import { systemRandom } from '../random.js';
import { createClient } from './client.js';
import { nodes } from './resource-type.js';
import { bypassed, proxyFor } from './transport.js';

describe('which proxy', () => {
  const server = new URL('https://api.example:6443');
  test.each<[string, string | undefined, Record<string, string>, string | undefined]>([
    ['none', undefined, {}, undefined],
    ['proxy-url rather than the environment', 'http://a:1', { HTTPS_PROXY: 'http://b:2' }, 'http://a:1/'],
    ['that of the environment', undefined, { HTTPS_PROXY: 'http://b:2' }, 'http://b:2/'],
    ['that of the environment in lower case and without a scheme', undefined, { https_proxy: 'b:2' }, 'http://b:2/'],
    ['not the one for http', undefined, { HTTP_PROXY: 'http://b:2' }, undefined],
    ['none for a server in NO_PROXY', undefined, { HTTPS_PROXY: 'http://b:2', NO_PROXY: '.example' }, undefined],
  ])('the proxy is %s', (_name, proxyUrl, env, expected) =>
    expect(proxyFor(server, proxyUrl, env)?.href).toBe(expected),
  );

  test.each(['https://localhost:1', 'https://127.0.0.9', 'https://[::1]:6443'])(
    '%s is never proxied by environment',
    (url) => expect(proxyFor(new URL(url), undefined, { HTTPS_PROXY: 'http://b:2' })).toBeUndefined(),
  );

  test('a URL that is not a proxy is an error', () => {
    expect(() => proxyFor(server, 'ftp://x', {})).toThrow('proxy "ftp://x" is not an http or https URL');
  });

  test.each<[string, string, boolean]>([
    ['*', 'https://a.b', true],
    ['a.b', 'https://a.b', true],
    ['a.b', 'https://x.a.b', true],
    ['a.b', 'https://xa.b', false],
    ['.a.b', 'https://a.b', false],
    ['.a.b', 'https://x.a.b', true],
    ['*.a.b', 'https://x.a.b', true],
    ['a.b:443', 'https://a.b', true],
    ['a.b:443', 'https://a.b:6443', false],
    ['10.0.0.0/8', 'https://10.1.2.3:6443', true],
    ['10.0.0.0/8', 'https://11.1.2.3', false],
    ['10.0.0.0/99', 'https://10.1.2.3', false],
    ['10.1.2.3', 'https://10.1.2.3', true],
    ['fd00::/8', 'https://[fd00::5]:6443', true],
    ['fd00::5', 'https://[fd00::5]', true],
    ['x, a.b ,', 'https://A.B', true],
    ['', 'https://a.b', false],
  ])('NO_PROXY=%s and %s: %s', (noProxy, url, expected) => expect(bypassed(new URL(url), noProxy)).toBe(expected));
});

describe('through a proxy', () => {
  let authority: Authority;
  let api: ScriptedServer;
  let plainApi: ScriptedServer;
  const proxies: Server[] = [];
  const seen: string[] = [];

  beforeAll(async () => {
    authority = await createAuthority();
    const tls = await authority.sign('CN=api', { hosts: ['api.example'] });
    api = await startScriptedServer((_asked, response) => answerJson(response, { kind: 'Node' }), { tls });
    plainApi = await startScriptedServer((_asked, response) => answerJson(response, { kind: 'Node' }));
  });
  afterAll(async () => {
    await api.close();
    await plainApi.close();
    for (const proxy of proxies) proxy.close();
  });
  const listen = async (proxy: Server) => {
    proxies.push(proxy);
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    return (proxy.address() as AddressInfo).port;
  };
  const join = (a: Socket, b: Socket) => {
    a.pipe(b).pipe(a);
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
  };
  /** The API server has a name that only the proxy knows. */
  const ask = (proxyUrl: string, server = 'https://api.example:6443') => {
    const cluster = {
      'certificate-authority-data': Buffer.from(authority.cert).toString('base64'),
      'proxy-url': proxyUrl,
    };
    const connection = { server, cluster, user: { token: 't' }, userName: '', namespace: '', contextName: '' };
    const source = connectionSource({ connection, clock: systemClock });
    const client = createClient({ source, clock: systemClock, random: systemRandom, userAgent: 'x' });
    return client.get(nodes, { name: 'a' }).finally(client.close);
  };
  const onConnect = (request: { url?: string; headers: Record<string, unknown> }, socket: Socket) => {
    seen.push(`${request.url} ${request.headers['proxy-authorization'] ?? ''}`.trim());
    const upstream = connect(api.port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    join(socket, upstream);
  };

  test('an http proxy is used as a tunnel, with login; it does not see the token', async () => {
    const port = await listen(createHttpServer().on('connect', onConnect));
    await ask(`http://me:p%40ss@127.0.0.1:${port}`);
    expect(seen.pop()).toBe(`api.example:6443 Basic ${Buffer.from('me:p@ss').toString('base64')}`);
    expect(api.asked.pop()!.headers).toMatchObject({ authorization: 'Bearer t', host: 'api.example:6443' });
  });

  test('an http proxy that rejects the tunnel is named in the error', async () => {
    const refusing = createHttpServer().on('connect', (_request, socket) =>
      socket.end('HTTP/1.1 407 Login please\r\n\r\n'),
    );
    const port = await listen(refusing);
    await expect(ask(`http://127.0.0.1:${port}`)).rejects.toThrow(
      `proxy 127.0.0.1:${port}: CONNECT api.example:6443: 407 Login please`,
    );
  });

  test('an https proxy with an untrusted certificate is an error', async () => {
    const own = await authority.sign('CN=proxy', { hosts: ['127.0.0.1'] });
    const port = await listen(createHttpsServer(own).on('connect', onConnect));
    await expect(ask(`https://127.0.0.1:${port}`)).rejects.toThrow(`proxy 127.0.0.1:${port}: CONNECT api.example:6443`);
  });

  test('plain http through a plain proxy is requested by its absolute URL', async () => {
    const port = await listen(
      createHttpServer((request, response) => {
        seen.push(request.url!);
        answerJson(response, { kind: 'Node' });
      }),
    );
    await ask(`http://127.0.0.1:${port}`, 'http://plain.example:8080');
    expect(seen.pop()).toBe('http://plain.example:8080/api/v1/nodes/a');
  });

  /** A request of the official client for Node. */
  const askWithLibrary = async (proxyUrl: string) => {
    const config = new KubeConfig();
    const caData = Buffer.from(authority.cert).toString('base64');
    config.loadFromOptions({
      clusters: [{ name: 'c', server: 'https://api.example:6443', caData, proxyUrl, skipTLSVerify: false }],
      users: [{ name: 'u', token: 't' }],
      contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
      currentContext: 'x',
    });
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    const sent = request('https://api.example:6443/api/v1/nodes/a', options).end();
    const [response] = await once(sent, 'response');
    response.resume();
    await once(response, 'end');
  };

  test('proxy and server see the same as from the official client', async () => {
    const seenOf = async (by: typeof ask | typeof askWithLibrary) => {
      const port = await listen(createHttpServer().on('connect', onConnect));
      await by(`http://me:p%40ss@127.0.0.1:${port}`);
      const { authorization, host } = api.asked.pop()!.headers;
      return { proxy: seen.pop(), authorization, host };
    };
    expect(await seenOf(ask)).toEqual(await seenOf(askWithLibrary));
  });
});
