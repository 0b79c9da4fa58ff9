/** The verbs over a real socket: requests, responses, and servers that misbehave. */
import { afterEach, describe, expect, test } from 'vitest';
import { connectionSource } from '../../test/connection-source.js';
import { ManualClock } from '../../test/manual-clock.js';
import {
  type Answer,
  answerJson,
  answerStatus,
  type ScriptedServer,
  startScriptedServer,
} from '../../test/scripted-server.js';
import { ApiError, isAlreadyExists, isConflict, isForbidden, isNotFound } from '../api/status.js';
import { type Clock, systemClock } from '../clock.js';
import { systemRandom } from '../random.js';
import { createClient, createIfAbsent, serverVersion, serves } from './client.js';
import type { RequesterOptions } from './requester.js';
import { configMaps, leases, nodes, resourcePath } from './resource-type.js';

const servers: ScriptedServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function setUp(answer: Answer, options: Partial<RequesterOptions> & { clock?: Clock; port?: number } = {}) {
  const server = await startScriptedServer(answer, options.port === undefined ? {} : { port: options.port });
  servers.push(server);
  const clock = options.clock ?? systemClock;
  const connection = {
    server: `${server.url}/prefix`,
    cluster: {},
    user: {},
    userName: '',
    namespace: 'default',
    contextName: '',
  };
  const client = createClient({
    source: connectionSource({ connection, clock }),
    random: systemRandom,
    userAgent: 'relet/test',
    ...options,
    clock,
  });
  return { server, client };
}

describe('resource paths', () => {
  test.each([
    [resourcePath(nodes), '/api/v1/nodes'],
    [resourcePath(nodes, { name: 'a', subresource: 'status' }), '/api/v1/nodes/a/status'],
    [resourcePath(configMaps, { namespace: 'kube-system', name: 'x' }), '/api/v1/namespaces/kube-system/configmaps/x'],
    [resourcePath(leases, { namespace: 'n', name: 'a' }), '/apis/coordination.k8s.io/v1/namespaces/n/leases/a'],
    [resourcePath(nodes, { name: 'a', subresource: 'proxy/configz' }), '/api/v1/nodes/a/proxy/configz'],
    [resourcePath(nodes, { name: 'a/b?c' }), '/api/v1/nodes/a%2Fb%3Fc'],
  ])('an object has the path %s', (path, expected) => expect(path).toBe(expected));

  test.each(['', '.', '..'])('%j is not a valid name: it would address something else', (name) => {
    expect(() => resourcePath(nodes, { name })).toThrow('cannot be a name');
  });
});

describe('verbs', () => {
  const echo: Answer = ({ method, path, query, headers, body }, response) =>
    answerJson(response, { method, path, query: Object.fromEntries(query), type: headers['content-type'], body });

  test('each verb sends its method, path, query and body', async () => {
    const { client, server } = await setUp(echo);
    const place = { namespace: 'n', name: 'c' };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', data: { k: 'ä' } };
    const path = '/prefix/api/v1/namespaces/n/configmaps/c';
    expect(await client.get(configMaps, place)).toMatchObject({ method: 'GET', path });
    expect(
      await client.create(configMaps, { namespace: 'n' }, object, { dryRun: true, fieldManager: 'relet' }),
    ).toEqual({
      method: 'POST',
      path: '/prefix/api/v1/namespaces/n/configmaps',
      query: { dryRun: 'All', fieldManager: 'relet' },
      type: 'application/json',
      body: JSON.stringify(object),
    });
    expect(await client.update(configMaps, place, object)).toMatchObject({ method: 'PUT', path });
    for (const [as, type] of [
      ['json', 'application/json-patch+json'],
      ['merge', 'application/merge-patch+json'],
      ['strategic', 'application/strategic-merge-patch+json'],
    ] as const)
      expect(await client.patch(configMaps, place, {}, { as })).toMatchObject({ method: 'PATCH', path, type });
    expect(await client.patch(configMaps, place, {}, { as: 'apply', force: true, fieldManager: 'r' })).toMatchObject({
      type: 'application/apply-patch+yaml',
      query: { force: 'true', fieldManager: 'r' },
    });
    const deleted = await client.delete(configMaps, place, { preconditions: { uid: 'u' } });
    expect(deleted).toMatchObject({ method: 'DELETE', path });
    expect(JSON.parse((deleted as { body: string }).body)).toMatchObject({ preconditions: { uid: 'u' } });
    expect(new Set(server.asked.map(({ headers }) => headers['user-agent']))).toEqual(new Set(['relet/test']));
    expect(new Set(server.asked.map(({ connection }) => connection))).toEqual(new Set([1]));
  });

  test('a list is read page by page, and as a whole', async () => {
    const { client, server } = await setUp(({ query }, response) => {
      const from = Number(query.get('continue') ?? 0);
      const items = [from, from + 1].map((n) => ({ metadata: { name: `n${n}` } }));
      answerJson(response, { items, metadata: { resourceVersion: '7', ...(from < 4 && { continue: `${from + 2}` }) } });
    });
    const pages = [];
    for await (const page of client.pages(nodes, { limit: 2, labelSelector: 'a=b', resourceVersion: '0' }))
      pages.push(page);
    expect(pages.map(({ items }) => items.map(({ metadata }) => metadata.name).join())).toEqual([
      'n0,n1',
      'n2,n3',
      'n4,n5',
    ]);
    expect(server.asked.map(({ query }) => query.get('resourceVersion'))).toEqual(['0', null, null]);
    expect(server.asked.map(({ query }) => query.get('labelSelector'))).toEqual(['a=b', 'a=b', 'a=b']);
    expect((await client.list(nodes, { limit: 2 })).items).toHaveLength(6);
  });

  test('warnings of the server are passed on, each once per request', async () => {
    const warnings: string[] = [];
    const { client } = await setUp(
      (_asked, response) => {
        response.setHeader('warning', ['299 - "one, \\"quoted\\""', '299 - "two"']);
        answerJson(response, {});
      },
      { onWarning: (text) => warnings.push(text) },
    );
    await client.get(nodes, { name: 'a' });
    expect(warnings).toEqual(['one, "quoted"', 'two']);
  });
});

describe('error responses', () => {
  test.each([
    ['NotFound', 404, isNotFound],
    ['Forbidden', 403, isForbidden],
    ['Conflict', 409, isConflict],
    ['AlreadyExists', 409, isAlreadyExists],
  ])('%s is an ApiError with reason and message', async (reason, code, is) => {
    const { client } = await setUp((_asked, response) => answerStatus(response, code, reason, `${reason} it is`));
    const error = await client.get(nodes, { name: 'a' }).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code, reason, message: `${reason} it is` });
    expect(is(error)).toBe(true);
    expect([isNotFound, isForbidden, isConflict, isAlreadyExists].filter((other) => other(error))).toEqual([is]);
  });

  test('an error response that is not a Status is quoted', async () => {
    const { client } = await setUp((_asked, response) => {
      response.writeHead(502);
      response.end('<html>\n  Bad gateway');
    });
    await expect(client.get(nodes, { name: 'a' })).rejects.toMatchObject({
      code: 502,
      message: 'GET /api/v1/nodes/a: the server answered 502: <html> Bad gateway',
    });
  });

  test('a successful response that is not JSON is quoted', async () => {
    const { client } = await setUp((_asked, response) => response.end('<html>login'));
    await expect(client.get(nodes, { name: 'a' })).rejects.toThrow('the answer is not JSON but "<html>login"');
  });
});

describe('a busy server', () => {
  test('a busy server is retried after its Retry-After', async () => {
    const clock = new ManualClock();
    let refusals = 2;
    const { client, server } = await setUp(
      (_asked, response) => {
        if (refusals-- <= 0) return answerJson(response, { metadata: { name: 'a' } });
        response.setHeader('retry-after', '3');
        answerStatus(response, 429, 'TooManyRequests', 'slow down');
      },
      { clock },
    );
    const answer = client.get(nodes, { name: 'a' });
    for (let i = 0; i < 2; i++) {
      await clock.untilSleeping((ms) => ms === 3000);
      await clock.advance(3000);
    }
    expect(await answer).toMatchObject({ metadata: { name: 'a' } });
    expect(server.asked).toHaveLength(3);
  });

  test.each(['3600', '99999999', '9'.repeat(400)])(
    'that always says later (%s) runs into the deadline',
    async (later) => {
      const clock = new ManualClock();
      const { client } = await setUp(
        (_asked, response) => {
          response.setHeader('retry-after', later);
          answerStatus(response, 503, 'ServiceUnavailable', 'later');
        },
        { clock },
      );
      const answer = client.get(nodes, { name: 'a' }).catch((error: unknown) => error);
      await clock.untilSleeping((ms) => ms === 3_600_000);
      await clock.advance(30_000);
      expect(await answer).toMatchObject({
        name: 'TimeoutError',
        message: 'GET /api/v1/nodes/a: no answer in 30000 ms',
      });
      expect(clock.sleeping).toEqual([]);
    },
  );

  test('an error without Retry-After is not retried', async () => {
    const { client, server } = await setUp((_asked, response) =>
      answerStatus(response, 500, 'InternalError', 'broken'),
    );
    await expect(client.get(nodes, { name: 'a' })).rejects.toThrow('broken');
    expect(server.asked).toHaveLength(1);
  });
});

describe('a bad network', () => {
  test('a refused connection is a ConnectionError', async () => {
    const { client, server } = await setUp(() => {});
    await server.close();
    await expect(client.get(nodes, { name: 'a' })).rejects.toMatchObject({
      name: 'ConnectionError',
      code: 'ECONNREFUSED',
      message: expect.stringMatching(/^GET http:.*\/api\/v1\/nodes\/a: connection refused: nothing listens there/),
    });
  });

  test('a server that hangs before or during its response runs into the deadline', async () => {
    for (const start of ['', '{"metadata":']) {
      const clock = new ManualClock();
      let asked: () => void = () => {};
      const wasAsked = new Promise<void>((resolve) => {
        asked = resolve;
      });
      const { client } = await setUp(
        (_asked, response) => {
          if (start) response.write(start);
          asked();
        },
        { clock },
      );
      const answer = client.get(nodes, { name: 'a' }, { timeoutMs: 5000 }).catch((error: unknown) => error);
      await wasAsked;
      await clock.advance(5000);
      expect(await answer).toMatchObject({
        name: 'TimeoutError',
        message: 'GET /api/v1/nodes/a: no answer in 5000 ms',
      });
      expect(clock.sleeping).toEqual([]);
    }
  });

  test('an aborted request rejects with the reason of its signal, and its connection is closed', async () => {
    const stop = new AbortController();
    let closed: () => void = () => {};
    const wasClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const { client } = await setUp((_asked, response) => {
      response.on('close', closed);
      stop.abort(new Error('changed my mind'));
    });
    await expect(client.get(nodes, { name: 'a' }, { signal: stop.signal })).rejects.toThrow('changed my mind');
    await wasClosed;
  });

  test('a response that breaks off is an error, not half an object', async () => {
    const { client } = await setUp((_asked, response) => {
      response.setHeader('content-length', '100');
      response.write('{}');
      setImmediate(() => response.destroy());
    });
    await expect(client.get(nodes, { name: 'a' })).rejects.toThrow('the connection broke in the middle of the answer');
  });

  test('a response that is too long is an error', async () => {
    const { client } = await setUp(
      (_asked, response) => {
        const more = () => response.write('x'.repeat(1000), () => response.destroyed || more());
        more();
      },
      { maxResponseBytes: 10_000 },
    );
    await expect(client.get(nodes, { name: 'a' })).rejects.toThrow('longer than 10000 bytes');
  });

  test('a read after a restart of the server does not fail', async () => {
    const answer: Answer = (_asked, response) => answerJson(response, { metadata: { name: 'a' } });
    const { client, server } = await setUp(answer);
    await client.get(nodes, { name: 'a' });
    await server.close();
    servers.push(await startScriptedServer(answer, { port: server.port }));
    expect(await client.get(nodes, { name: 'a' })).toMatchObject({ metadata: { name: 'a' } });
  });
});

describe('discovery', () => {
  const type = { group: 'relet.dev', version: 'v1alpha1', resource: 'nodeconfigs' };
  test.each<[string, Answer, boolean]>([
    [
      'a resource is served',
      (_asked, response) => answerJson(response, { resources: [{ name: 'nodeconfigs' }] }),
      true,
    ],
    [
      'a resource is not in its group',
      (_asked, response) => answerJson(response, { resources: [{ name: 'rollouts' }] }),
      false,
    ],
    ['a group is not served', (_asked, response) => answerStatus(response, 404, 'NotFound', 'no'), false],
  ])('discovery: %s', async (_name, answer, expected) => {
    const { client, server } = await setUp(answer);
    expect(await serves(client, type)).toBe(expected);
    expect(server.asked[0]!.path).toBe('/prefix/apis/relet.dev/v1alpha1');
  });

  test('discovery without a response is an error, not false', async () => {
    const { client } = await setUp((_asked, response) => answerStatus(response, 403, 'Forbidden', 'no'));
    await expect(serves(client, type)).rejects.toThrow('no');
  });

  test('the version is that of the server', async () => {
    const { client } = await setUp((_asked, response) => answerJson(response, { gitVersion: 'v1.32.1+relet' }));
    expect((await serverVersion(client)).gitVersion).toBe('v1.32.1+relet');
  });
});

test('an object that exists is not created twice', async () => {
  let exists = false;
  const { client } = await setUp((_asked, response) => {
    if (exists) return answerStatus(response, 409, 'AlreadyExists', 'there is one');
    exists = true;
    answerJson(response, {});
  });
  const create = () => createIfAbsent(client, nodes, {}, { metadata: { name: 'a' } });
  expect([await create(), await create()]).toEqual([true, false]);
});
