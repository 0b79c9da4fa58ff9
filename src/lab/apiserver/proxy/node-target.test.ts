/** Addresses that the node proxy connects to, and those it rejects. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../api/object.js';
import { findTarget, parseNodeId } from './node-target.js';
import { requestHeaders, responseHeaders } from './proxy-headers.js';

const node = (addresses: [string, string][], Port = 0) =>
  ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n' },
    status: {
      addresses: addresses.map(([type, address]) => ({ type, address })),
      daemonEndpoints: { kubeletEndpoint: { Port } },
    },
  }) as KubeObject;

const find = (object: KubeObject, id = 'n', resolved: string[] = []) =>
  findTarget(object, id, {
    ownPort: () => 6443,
    resolve: async () => resolved.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  });

describe('the node in the path', () => {
  test.each([
    ['n', { scheme: 'http', name: 'n', port: '' }],
    ['n:10255', { scheme: 'http', name: 'n', port: '10255' }],
    ['https:n:9100', { scheme: 'https', name: 'n', port: '9100' }],
    ['https:n:', { scheme: 'https', name: 'n', port: '' }],
  ])('%s', (id, expected) => {
    expect(parseNodeId(id)).toEqual(expected);
  });

  test.each(['', ':1', 'ftp:n:1', 'n:x', 'https:n:1:2', 'http::1'])('%j is rejected', (id) => {
    expect(() => parseNodeId(id)).toThrow(`invalid node request ${JSON.stringify(id)}`);
  });
});

describe('the address', () => {
  test('an internal address is preferred to a name, and the port is the kubelet’s', async () => {
    expect(
      await find(
        node(
          [
            ['Hostname', 'n'],
            ['ExternalIP', '9.9.9.9'],
            ['InternalIP', '10.0.0.1'],
          ],
          10250,
        ),
      ),
    ).toEqual({
      scheme: 'https',
      host: '10.0.0.1',
      address: '10.0.0.1',
      port: 10250,
      isKubelet: true,
    });
    expect(await find(node([['Hostname', 'n']]), 'n', ['10.0.0.2'])).toMatchObject({
      host: 'n',
      address: '10.0.0.2',
      port: 10250,
    });
  });

  test('another port is reached without the server’s certificate, with the requested scheme', async () => {
    const object = node([['InternalIP', '10.0.0.1']], 10250);
    expect(await find(object, 'n:10255')).toMatchObject({ scheme: 'http', port: 10255, isKubelet: false });
    expect(await find(object, 'https:n:9100')).toMatchObject({ scheme: 'https', port: 9100, isKubelet: false });
    expect(await find(object, 'http:n:10250')).toMatchObject({ scheme: 'https', port: 10250, isKubelet: true });
  });

  test('a Node without addresses cannot be reached', async () => {
    await expect(find(node([]))).rejects.toThrow('no preferred addresses found; known addresses: []');
  });

  test.each([
    '0.0.0.0',
    '169.254.169.254',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    'fe80::1',
    'ff02::1',
    '::ffff:169.254.169.254',
  ])('%s is rejected', async (address) => {
    await expect(find(node([['InternalIP', address]], 10250))).rejects.toThrow('address not allowed');
  });

  test('a name is rejected when any of its addresses is', async () => {
    await expect(find(node([['Hostname', 'evil']]), 'n', ['10.0.0.1', '169.254.169.254'])).rejects.toThrow(
      'address not allowed',
    );
    await expect(find(node([['Hostname', 'evil']]), 'n', [])).rejects.toThrow('no addresses for hostname');
  });

  test.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])(
    '%s: the kubelet’s port and no other',
    async (address) => {
      expect(await find(node([['InternalIP', address]], 10250))).toMatchObject({
        address,
        port: 10250,
        isKubelet: true,
      });
      await expect(find(node([['InternalIP', address]], 10250), 'n:22')).rejects.toThrow('address not allowed');
      await expect(find(node([['InternalIP', address]], 6443))).rejects.toThrow('address not allowed');
    },
  );
});

describe('headers', () => {
  test('credentials and headers of the connection are not forwarded', () => {
    const sent = {
      ':authority': 'x',
      host: 'api:6443',
      accept: 'a/b',
      authorization: 'Bearer secret',
      cookie: 'c',
      'impersonate-user': 'u',
      'impersonate-extra-x': 'y',
      'x-remote-user': 'root',
      connection: 'close, X-Hop',
      'x-hop': '1',
      upgrade: 'SPDY/3.1',
      'transfer-encoding': 'chunked',
      'x-forwarded-for': '1.1.1.1',
    };
    expect(requestHeaders(sent, { remoteAddress: '2.2.2.2', uri: '/api/v1/nodes/n/proxy/x' })).toEqual({
      accept: 'a/b',
      'x-forwarded-for': '1.1.1.1, 2.2.2.2',
      'x-forwarded-uri': '/api/v1/nodes/n/proxy/x',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'api:6443',
    });
  });

  test.each([
    ['/logs/', '/prefix/logs/'],
    ['https://n:10250/logs/', '/prefix/logs/'],
    ['https://elsewhere/logs/', 'https://elsewhere/logs/'],
    ['//elsewhere/', '//elsewhere/'],
    ['relative', 'relative'],
  ])('a redirect to %s becomes %s', (location, expected) => {
    expect(responseHeaders({ location, connection: 'close' }, 'https://n:10250', '/prefix')).toEqual({
      location: expected,
    });
  });
});
