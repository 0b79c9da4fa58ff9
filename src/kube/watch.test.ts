/** The watch loop and the informer over a real socket, on a manual clock: resuming, expiry, failures, idle peers, stopping. */
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { connectionSource } from '../../test/connection-source.js';
import { fixedRandom } from '../../test/fixed-random.js';
import { ManualClock } from '../../test/manual-clock.js';
import {
  type Asked,
  answerJson,
  answerStatus,
  type ScriptedServer,
  startScriptedServer,
} from '../../test/scripted-server.js';
import type { KubeObject } from '../api/object.js';
import { createClient } from './client.js';
import { createInformer } from './informer.js';
import { configMaps, nodes } from './resource-type.js';
import { type WatchLoopOptions, watchLoop } from './watch.js';

const node = (name: string, resourceVersion: string) => ({ kind: 'Node', metadata: { name, resourceVersion } });
const line = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;

type Script = (response: ServerResponse, asked: Asked) => void;
const openWatch = (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
};
/** Answers lists with these nodes, and each watch by the next script; a watch past the last script stays open. */
function api(options: { list?: () => object[]; version?: () => string; watches?: Script[] } = {}) {
  const { list = () => [node('a', '5')], version = () => '5', watches = [] } = options;
  return (asked: Asked, response: ServerResponse) => {
    if (asked.query.get('watch') !== 'true')
      return answerJson(response, { items: list(), metadata: { resourceVersion: version() } });
    (watches.shift() ?? openWatch)(response, asked);
  };
}

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function setUp(
  answer: (asked: Asked, response: ServerResponse) => void,
  { random = 0, ...options }: Partial<WatchLoopOptions<KubeObject>> & { random?: number } = {},
) {
  const clock = new ManualClock();
  const server = await startScriptedServer(answer);
  const client = clientOf(server, clock, random);
  const stop = new AbortController();
  const received: string[] = [];
  let wake: () => void = () => {};
  const record = (what: string) => {
    received.push(what);
    wake();
  };
  const running = watchLoop(client, {
    type: nodes,
    signal: stop.signal,
    backoff: { initialMs: 1000, maxMs: 8000 },
    onList: (objects) => record(`list ${objects.map(({ metadata }) => metadata.name)}`),
    onChange: (type, { metadata }) => record(`${type} ${metadata.name}@${metadata.resourceVersion}`),
    onFailure: (error, doing) => record(`${doing} failed: ${(error as Error).message}`),
    onWatching: () => record('watching'),
    ...options,
  });
  /** Resolves after `count` calls of handlers in all. */
  const until = async (count: number) => {
    while (received.length < count)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  };
  stops.push(async () => {
    stop.abort();
    await running;
    await server.close();
  });
  return { clock, server, client, stop, received, until, running };
}

function clientOf(server: ScriptedServer, clock: ManualClock, random = 0) {
  const connection = { server: server.url, cluster: {}, user: {}, userName: '', namespace: '', contextName: '' };
  return createClient({
    source: connectionSource({ connection, clock }),
    clock,
    random: fixedRandom(random),
    userAgent: 'test',
  });
}
const watchesAsked = (server: ScriptedServer) =>
  server.asked.filter(({ query }) => query.get('watch')).map(({ query }) => query.get('resourceVersion'));

describe('watch loop', () => {
  test('lists, then watches from there', async () => {
    const { received, until, server } = await setUp(
      api({
        watches: [
          (response) => {
            response.write(line('MODIFIED', node('a', '6')));
            response.write(line('DELETED', node('a', '7')));
          },
        ],
      }),
    );
    await until(4);
    expect(received).toEqual(['list a', 'watching', 'MODIFIED a@6', 'DELETED a@7']);
    expect(watchesAsked(server)).toEqual(['5']);
  });

  test('lists and watches one object by name, with bookmarks and a timeout', async () => {
    const { until, server } = await setUp(api(), { type: configMaps, namespace: 'n', name: 'c', random: 0.5 });
    await until(2);
    const [list, watch] = server.asked;
    expect(list).toMatchObject({ path: '/api/v1/namespaces/n/configmaps' });
    expect(list!.query.get('fieldSelector')).toBe('metadata.name=c');
    expect(Object.fromEntries(watch!.query)).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '5',
      timeoutSeconds: '1350',
      fieldSelector: 'metadata.name=c',
    });
  });

  test('resumes from the last event or bookmark when the server ends the watch, without listing again', async () => {
    const { received, until, server, clock } = await setUp(
      api({
        watches: [
          (response) => response.end(line('MODIFIED', node('a', '6'))),
          (response) => response.end(line('BOOKMARK', node('', '90'))),
        ],
      }),
    );
    await until(5);
    expect(received).toEqual(['list a', 'watching', 'MODIFIED a@6', 'watching', 'watching']);
    expect(watchesAsked(server)).toEqual(['5', '6', '90']);
    expect(clock.sleeping.filter((ms) => ms < 60_000)).toEqual([]);
  });

  test.each<[string, Script]>([
    ['as a response', (response) => answerStatus(response, 410, 'Expired', 'too old resource version')],
    [
      'as an event',
      (response) => response.end(line('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'old' })),
    ],
    [
      'as one that is too large',
      (response) =>
        answerJson(
          response,
          {
            kind: 'Status',
            code: 504,
            reason: 'Timeout',
            details: { causes: [{ reason: 'ResourceVersionTooLarge' }] },
          },
          504,
        ),
    ],
  ])('lists again at once when the version is too old, reported %s', async (_name, script) => {
    let version = 5;
    const { received, until, server } = await setUp(api({ version: () => String(version++), watches: [script] }));
    while (received.lastIndexOf('watching') < received.indexOf('list a', 1) || received.length < 3)
      await until(received.length + 1);
    expect(received.filter((what) => what.startsWith('list'))).toEqual(['list a', 'list a']);
    expect(received.some((what) => what.includes('failed'))).toBe(false);
    expect(watchesAsked(server)).toEqual(['5', '6']);
  });

  test('backs off while a handler throws on an event', async () => {
    const senseless: Script = (response) => response.end(line('MODIFIED', node('a', '6')));
    const { clock, received } = await setUp(api({ watches: [senseless, senseless, senseless] }), {
      onChange() {
        throw new Error('what?');
      },
    });
    for (const ms of [1000, 2000]) {
      await clock.untilSleeping((sleeping) => sleeping === ms);
      clock.advance(ms);
    }
    await clock.untilSleeping((sleeping) => sleeping === 4000);
    expect(received.filter((what) => what === 'watch failed: what?')).toHaveLength(3);
  });

  test('backs off when every version is too old', async () => {
    const forget: Script = (response) => answerStatus(response, 410, 'Expired', 'old');
    const { clock, received } = await setUp(api({ watches: [forget, forget, forget, forget] }));
    await clock.untilSleeping((ms) => ms === 2000);
    expect(received).toEqual(['list a', 'list a', 'watch failed: old']);
  });

  test.each<[string, string, string]>([
    ['is not JSON', '{"type":"ADD', 'not JSON'],
    ['is not an event', '{"type":"PARTY","object":{}}', 'no event'],
    ['has no metadata', '{"type":"MODIFIED","object":{}}', 'no event'],
    ['has no object', '{"type":"ADDED"}', 'no event'],
  ])('ends a watch whose line %s, reports it, and resumes from the last good event', async (_name, bad, why) => {
    const { clock, received, until, server } = await setUp(
      api({ watches: [(response) => response.write(`${line('MODIFIED', node('a', '6'))}${bad}\n`)] }),
    );
    await until(4);
    expect(received[3]).toContain(`watch failed: WATCH /api/v1/nodes: ${why}: `);
    await clock.untilSleeping((ms) => ms === 1000);
    await clock.advance(1000);
    await until(5);
    expect(watchesAsked(server)).toEqual(['5', '6']);
  });

  test('never uses half an event of a connection that broke', async () => {
    const { clock, received, until, server } = await setUp(
      api({
        watches: [
          (response) => {
            response.write(line('MODIFIED', node('a', '6')) + line('MODIFIED', node('a', '7')).slice(0, -5));
            setImmediate(() => response.destroy());
          },
        ],
      }),
    );
    await until(4);
    expect(received[2]).toBe('MODIFIED a@6');
    expect(received[3]).toMatch(/^watch failed: WATCH .*/);
    await clock.untilSleeping((ms) => ms === 1000);
    await clock.advance(1000);
    await until(5);
    expect(watchesAsked(server)).toEqual(['5', '6']);
  });

  test('joins lines that arrive in pieces', async () => {
    const { until, received } = await setUp(
      api({
        watches: [
          (response) => {
            const text = Buffer.from(line('MODIFIED', node('ä', '6')));
            const pieces = [...text].map((byte) => Buffer.from([byte]));
            const next = () => pieces.length > 0 && response.write(pieces.shift()!, () => setImmediate(next));
            next();
          },
        ],
      }),
    );
    await until(3);
    expect(received[2]).toBe('MODIFIED ä@6');
  });

  test('reports a forbidden watch, so that the caller can poll instead, and retries', async () => {
    const forbid: Script = (response) => answerStatus(response, 403, 'Forbidden', 'cannot watch');
    const { clock, received, until } = await setUp(api({ watches: [forbid, forbid] }));
    await until(2);
    for (const ms of [1000, 2000]) {
      await clock.untilSleeping((sleeping) => sleeping === ms);
      await clock.advance(ms);
    }
    await until(6);
    expect(received).toEqual([
      'list a',
      'watch failed: cannot watch',
      'list a',
      'watch failed: cannot watch',
      'list a',
      'watching',
    ]);
  });

  test('backs off while the server closes watches at once, and resets the backoff after a good one', async () => {
    const shut: Script = (response) => response.end();
    const good: Script = (response) => response.end(line('BOOKMARK', node('', '9')));
    const { clock, received } = await setUp(api({ watches: [shut, shut, good, shut] }));
    for (const ms of [1000, 2000, 1000]) {
      await clock.untilSleeping((sleeping) => sleeping === ms);
      await clock.advance(ms);
    }
    expect(received.filter((what) => what === 'watch failed: WATCH nodes: the server closed it at once')).toHaveLength(
      3,
    );
  });

  test('a watch that was open for a while and breaks is not counted with the failures before it', async () => {
    let cut = () => {};
    const shut: Script = (response) => response.end();
    const breaks: Script = (response) => {
      openWatch(response);
      cut = () => response.destroy();
    };
    const { clock, received, until } = await setUp(api({ watches: [shut, shut, breaks] }));
    for (const ms of [1000, 2000]) {
      await clock.untilSleeping((sleeping) => sleeping === ms);
      await clock.advance(ms);
    }
    await until(6);
    expect(received.at(-1)).toBe('watching');
    await clock.advance(5000);
    cut();
    await until(7);
    await clock.untilSleeping((sleeping) => sleeping <= 4000);
    expect(clock.sleeping[0]).toBe(1000);
  });

  /** Stops the server for a minute, until the last probe that fails. */
  async function outage({ clock, received, until, server }: Awaited<ReturnType<typeof setUp>>) {
    await until(2);
    await server.close();
    await until(3);
    await clock.untilSleeping((ms) => ms === 1000);
    await clock.advance(1000);
    await until(4);
    expect(received[3]).toContain('connection refused');
    await clock.untilSleeping((ms) => ms === 2000);
    await clock.advance(2000);
    for (let probes = 0; probes < 12; probes++) {
      await clock.untilSleeping((ms) => ms <= 5000);
      await clock.advance(5000);
    }
    await clock.untilSleeping((ms) => ms <= 5000);
  }

  test('resumes from the last version as soon as the server is reachable again', async () => {
    const rig = await setUp(api());
    await outage(rig);
    const back = await startScriptedServer(api(), { port: rig.server.port });
    stops.push(() => back.close());
    await rig.clock.advance(5000);
    await rig.until(5);
    expect(rig.received.slice(4)).toEqual(['watching']);
    expect(watchesAsked(back)).toEqual(['5']);
  });

  test('lists without a further wait when the server is reachable again and the version is too old', async () => {
    const rig = await setUp(api());
    await outage(rig);
    const forget: Script = (response) => answerStatus(response, 410, 'Expired', 'too old resource version');
    const back = await startScriptedServer(api({ watches: [forget] }), { port: rig.server.port });
    stops.push(() => back.close());
    await rig.clock.advance(5000);
    await rig.until(6);
    expect(rig.received.slice(4)).toEqual(['list a', 'watching']);
  });

  test('ends a watch without data after bookmarks', async () => {
    const { clock, received, until, server } = await setUp(
      api({ watches: [(response) => response.write(line('BOOKMARK', node('', '8')))] }),
    );
    await clock.untilSleeping((ms) => ms === 180_000);
    await clock.advance(180_000);
    await until(3);
    expect(received[2]).toBe('watch failed: WATCH /api/v1/nodes: no data for 180000 ms');
    await clock.untilSleeping((ms) => ms === 1000);
    await clock.advance(1000);
    await until(4);
    expect(watchesAsked(server)).toEqual(['5', '8']);
  });

  test('ends a watch without data or bookmarks soon after its timeout', async () => {
    const { clock, received, until } = await setUp(api());
    await until(2);
    await clock.untilSleeping((ms) => ms === 315_000);
    await clock.advance(315_000);
    await until(3);
    expect(received[2]).toContain('no data for 315000 ms');
  });

  test('stops at once with its signal, and leaves no timer and no connection', async () => {
    let closed: () => void = () => {};
    const wasClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const { clock, until, stop, running } = await setUp(
      api({
        watches: [
          (response) => {
            openWatch(response);
            response.on('close', closed);
          },
        ],
      }),
    );
    await until(2);
    stop.abort();
    await running;
    await wasClosed;
    expect(clock.sleeping).toEqual([]);
  });
});

describe('informer', () => {
  test('caches the present objects and reports keys, also of objects that were deleted between two lists', async () => {
    const lists = [
      [node('a', '1'), node('b', '2')],
      [node('b', '2'), node('c', '9')],
    ];
    const forget: Script = (response) => {
      response.write(line('MODIFIED', { ...node('b', '6'), extra: 1 }));
      response.end(line('ERROR', { kind: 'Status', code: 410 }));
    };
    const clock = new ManualClock();
    const server = await startScriptedServer(api({ list: () => lists.shift()!, watches: [forget] }));
    const stop = new AbortController();
    stops.push(async () => {
      stop.abort();
      await server.close();
    });
    const keys: string[] = [];
    let wake: () => void = () => {};
    const again = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const informer = createInformer(clientOf(server, clock), {
      type: nodes,
      signal: stop.signal,
      keep: ({ metadata }) => metadata.resourceVersion,
      onKey(key) {
        keys.push(key);
        if (key === 'c') wake();
      },
      onFailure: () => {},
    });
    await informer.synced;
    expect([...informer.values()]).toEqual(['1', '2']);
    await again;
    await clock.advance(0);
    expect(keys).toEqual(['a', 'b', 'b', 'b', 'c', 'a']);
    expect([informer.get('a'), informer.get('b'), informer.get('c'), informer.size]).toEqual([undefined, '2', '9', 2]);
  });

  test('an object that cannot be kept is reported, and the others of its list and of the watch are cached', async () => {
    const events: Script = (response) => {
      openWatch(response);
      response.write(
        line('MODIFIED', node('b', '6')) + line('MODIFIED', node('bad', '7')) + line('ADDED', node('c', '8')),
      );
    };
    const list = () => [node('a', '1'), node('bad', '2'), node('b', '3')];
    const server = await startScriptedServer(api({ list, watches: [events] }));
    const stop = new AbortController();
    stops.push(async () => {
      stop.abort();
      await server.close();
    });
    const unusable: string[] = [];
    await new Promise<void>((resolve) => {
      const informer = createInformer(clientOf(server, new ManualClock()), {
        type: nodes,
        signal: stop.signal,
        keep({ metadata: { name, resourceVersion } }) {
          if (name === 'bad') throw new RangeError('Maximum call stack size exceeded');
          return `${name}@${resourceVersion}`;
        },
        onKey(key) {
          if (key !== 'c') return;
          expect([...informer.values()]).toEqual(['a@1', 'b@6', 'c@8']);
          resolve();
        },
        onUnusable: (key, error) => unusable.push(`${key}: ${(error as Error).message}`),
        onFailure: (error) => unusable.push(`failed: ${(error as Error).message}`),
      });
    });
    expect(unusable).toEqual(Array(2).fill('bad: Maximum call stack size exceeded'));
  });
});
