/**
 * Malformed and malicious input: an error or a closed connection; the server keeps running and its memory stays
 * bounded.
 */
import { once } from 'node:events';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { type Client, clientOf } from './client.js';

const maps = '/api/v1/namespaces/default/configmaps';
const limits = { headersMs: 400, bodyTimeoutMs: 400, idleMs: 600, handshakeMs: 2000 };

let server: ApiServer;
let client: Client;

beforeAll(async () => {
  server = await startApiServer({ limits });
  client = clientOf(server, 'socket');
});
afterAll(async () => {
  await client.close();
  await server.close();
});

const post = (raw: string | Buffer, headers: Record<string, string> = {}) =>
  client.call({ method: 'POST', path: maps, raw, headers });

async function socket(ALPNProtocols = ['http/1.1']): Promise<TLSSocket> {
  const opened = connectTls({ port: server.port, ca: server.pki.ca, ...server.pki.admin, ALPNProtocols });
  opened.on('error', () => {});
  await once(opened, 'secureConnect');
  return opened;
}

/** Everything the server sends until it closes the connection. */
async function untilClosed(opened: TLSSocket): Promise<string> {
  let text = '';
  opened.on('data', (chunk) => {
    text += chunk;
  });
  await new Promise<void>((resolve) => {
    if (opened.closed) resolve();
    else opened.once('close', () => resolve());
  });
  return text;
}

async function expectWell(): Promise<void> {
  const { code, text } = await client.call({ path: '/readyz' });
  expect([code, text]).toEqual([200, 'ok']);
}

describe('bodies that are not objects', () => {
  test.each([
    ['', 'unexpected end of JSON input'],
    ['{"a"', 'unexpected end of JSON input'],
    ['nonsense', "invalid character 'o' in literal null (expecting 'u')"],
    ['[]', 'it is not an object'],
    ['"text"', 'it is not an object'],
    [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'exceeded max depth'],
  ])('%.20j', async (body, message) => {
    const { code, json } = await post(body);
    expect(code).toBe(400);
    expect(json.message).toContain(message);
  });

  test('a body that is not UTF-8 is rejected', async () => {
    const { code } = await post(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]));
    expect(code).toBeGreaterThanOrEqual(400);
    await expectWell();
  });

  test('a YAML bomb is rejected', async () => {
    const lines = ['a: &a [x,x,x,x,x,x,x,x,x]'];
    for (const [at, name] of [...'bcdefghi'].entries()) {
      const before = 'abcdefghi'[at]!;
      lines.push(`${name}: &${name} [${Array(9).fill(`*${before}`).join(',')}]`);
    }
    const { code } = await post(lines.join('\n'), { 'content-type': 'application/yaml' });
    expect(code).toBe(400);
    await expectWell();
  });

  test('malformed protobuf is rejected', async () => {
    const headers = { 'content-type': 'application/vnd.kubernetes.protobuf' };
    expect((await post(Buffer.from('nonsense'), headers)).code).toBe(400);
    expect((await post(Buffer.from('k8s\0\x12\xff\xff\xff\xff\x0f', 'latin1'), headers)).code).toBe(400);
    expect((await post(Buffer.alloc(0), headers)).code).toBe(400);
  });
});

describe('prototype keys', () => {
  const polluted = () => ({}) as Record<string, unknown>;

  test.each([
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"p1"},"__proto__":{"polluted":1}}',
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"p2","__proto__":{"polluted":1}},"data":{"k":"v"}}',
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"p3"},"constructor":{"prototype":{"polluted":1}}}',
  ])('%s', async (body) => {
    expect((await post(body)).code).toBe(201);
    expect(polluted().polluted).toBeUndefined();
  });

  test.each(['merge', 'strategic-merge', 'json'])('prototype keys in a %s patch stay data', async (type) => {
    await post('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"victim"}}');
    const raw =
      type === 'json'
        ? '[{"op":"add","path":"/__proto__/polluted","value":1},{"op":"add","path":"/constructor/prototype/polluted","value":1}]'
        : '{"__proto__":{"polluted":1},"metadata":{"annotations":{"__proto__":"x"}},"data":{"__proto__":"y"}}';
    await client.call({
      method: 'PATCH',
      path: `${maps}/victim`,
      raw,
      headers: { 'content-type': `application/${type}-patch+json` },
    });
    expect(polluted().polluted).toBeUndefined();
    expect((await client.call({ path: `${maps}/victim` })).code).toBe(200);
  });

  test('prototype keys as names of objects and resources are not found', async () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect((await client.call({ path: `${maps}/${name}` })).code).toBe(404);
      expect((await client.call({ path: `/api/v1/namespaces/default/${name}` })).code).toBe(404);
      expect((await client.call({ path: `${maps}/victim/${name}` })).code).toBe(404);
      expect((await client.call({ path: `/apis/${name}/v1/x` })).code).toBe(404);
      expect((await client.call({ path: `${maps}?fieldSelector=${name}%3Dx` })).code).toBe(400);
    }
  });
});

describe('paths', () => {
  test.each([
    ['/api/v1/namespaces/../../etc/passwd', 404],
    ['/api/v1/namespaces/%2e%2e/configmaps/x', 404],
    ['/api/v1/namespaces/default/configmaps/..%2f..%2fsecrets', 404],
    ['/api/v1/namespaces/default/configmaps/%zz', 400],
    ['/api/v1/namespaces/default/configmaps/%00', 404],
    ['//api//v1//namespaces', 404],
    [`/api/v1/namespaces/${'x'.repeat(5000)}/configmaps/a`, 404],
  ])('%.60s', async (path, code) => {
    expect((await client.call({ path })).code).toBe(code);
  });

  test('an invalid name is rejected', async () => {
    for (const name of ['../x', 'a/b', '', 'A', 'x'.repeat(300)]) {
      const { code } = await post(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }));
      expect(code).toBe(422);
    }
  });
});

describe('sizes', () => {
  test('a body with a too large content-length is rejected at once', async () => {
    const { code, json } = await post(Buffer.alloc((3 << 20) + 1, ' '));
    expect(code).toBe(413);
    expect(json).toMatchObject({
      reason: 'RequestEntityTooLarge',
      message: 'Request entity too large: limit is 3145728',
    });
  });

  test('a body without content-length is rejected at the limit', async () => {
    const opened = await socket();
    opened.write(
      `POST ${maps} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const chunk = `${(1 << 20).toString(16)}\r\n${' '.repeat(1 << 20)}\r\n`;
    for (let at = 0; at < 5 && !opened.destroyed; at++) opened.write(chunk);
    expect(await untilClosed(opened)).toContain('413 Payload Too Large');
    await expectWell();
  });

  test('too large headers are rejected', async () => {
    const opened = await socket();
    opened.write(`GET /readyz HTTP/1.1\r\nHost: x\r\nX-Big: ${'x'.repeat(200_000)}\r\n\r\n`);
    const text = await untilClosed(opened);
    expect(text === '' || text.startsWith('HTTP/1.1 431')).toBe(true);
    await expectWell();
  });

  test('an object at the limit is stored and read', async () => {
    const data = { big: 'x'.repeat(1_000_000) };
    expect(
      (await post(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'big' }, data }))).code,
    ).toBe(201);
    const { json } = await client.call({ path: `${maps}/big` });
    expect(json.data.big).toHaveLength(1_000_000);
  });
});

describe('patches that let an object grow', () => {
  const node = (name: string) => `/api/v1/nodes/${name}`;
  const patch = (path: string, type: string, body: unknown) =>
    client.call({ method: 'PATCH', path, body, headers: { 'content-type': `application/${type}+json` } });
  const createNode = (name: string) =>
    client.call({
      method: 'POST',
      path: '/api/v1/nodes',
      body: { apiVersion: 'v1', kind: 'Node', metadata: { name } },
    });

  test('a JSON patch that copies a parent into its child is rejected with 413', async () => {
    await createNode('copied');
    const bomb = Array.from({ length: 18 }, (_, at) => ({
      op: 'copy',
      from: '/metadata',
      path: `/metadata/k${at}`,
    }));
    const { code, json } = await patch(node('copied'), 'json-patch', bomb);
    expect([code, json.reason]).toEqual([413, 'RequestEntityTooLarge']);
    expect(json.message).toContain('the copy operations of a JSON patch may copy 3145728 bytes');
    await expectWell();
  });

  test('many patches cannot make an object larger than the limit', async () => {
    await createNode('grown');
    const message = 'x'.repeat(1_000_000);
    const codes: number[] = [];
    for (let at = 0; at < 9; at++) {
      const status = { conditions: [{ type: `Type${at}`, status: 'True', message }] };
      codes.push((await patch(`${node('grown')}/status`, 'strategic-merge-patch', { status })).code);
    }
    expect(codes).toEqual([...Array(8).fill(200), 413]);
  });

  test('a JSON patch that nests too deep is rejected', async () => {
    await createNode('deep');
    const levels = 900;
    const chunk = JSON.parse(`${'{"a":'.repeat(levels)}{}${'}'.repeat(levels)}`);
    const inner = '/a'.repeat(levels);
    const operations: unknown[] = [{ op: 'add', path: '/x', value: chunk }];
    for (let at = 0; at < 250; at++) {
      operations.push({ op: 'add', path: '/y', value: chunk });
      operations.push({ op: 'move', from: '/x', path: `/y${inner}/a` }, { op: 'move', from: '/y', path: '/x' });
    }
    operations.push({ op: 'move', from: '/x', path: '/spec/podCIDR' });
    const { code } = await patch(node('deep'), 'json-patch', operations);
    expect(code).toBeGreaterThanOrEqual(400);
    await expectWell();
  });
});

test('a peer that offers HTTP/2 gets HTTP/1.1, which no broken peer turns into an abort of the process', async () => {
  const opened = await socket(['h2', 'http/1.1']);
  expect(opened.alpnProtocol).toBe('http/1.1');
  opened.destroy();
});

describe('slow clients', () => {
  test('a connection without a request is closed', async () => {
    await untilClosed(await socket());
  });

  test('a request whose headers never end is closed', async () => {
    const opened = await socket();
    opened.write('GET /readyz HTTP/1.1\r\nHost: x\r\n');
    const text = await untilClosed(opened);
    expect(text === '' || text.startsWith('HTTP/1.1 408')).toBe(true);
  });

  test('a request whose body never ends is rejected', async () => {
    const opened = await socket();
    opened.write(`POST ${maps} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`);
    const text = await untilClosed(opened);
    expect(text).toMatch(/^HTTP\/1\.1 (408|504)/);
    await expectWell();
  });

  test('an idle connection is closed; one with a watch is not', async () => {
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const [idle, watching] = await Promise.all([socket(), socket()]);
    idle.write(get('/version'));
    watching.write(get(`${maps}?watch=true&resourceVersion=${server.store.revision}`));
    await once(watching, 'data');
    await untilClosed(idle);
    // The other is as old: its timer has expired too.
    const event = once(watching, 'data');
    await post('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"news"}}');
    expect(String(await event)).toContain('"news"');
    watching.destroy();
  });
});
