/** The agent's own retries, over an outage of the API server and until a grant is there, on a manual clock. */
import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectionSource } from '../../../test/connection-source.js';
import { ManualClock } from '../../../test/manual-clock.js';
import { answerJson, startScriptedServer } from '../../../test/scripted-server.js';
import { ConfigError } from '../../api/config-error.js';
import { ApiError } from '../../api/status.js';
import { createClient, type KubeClient } from '../../kube/client.js';
import { nodes } from '../../kube/resource-type.js';
import { createLog } from '../../log.js';
import { systemRandom } from '../../random.js';
import type { Reporter } from '../report/reporter.js';
import { ApiSide } from './api-side.js';
import type { Reference } from './reference.js';
import type { SyncResult } from './sync-loop.js';

/** An API side, connected, on a manual clock; the test decides its passes. */
async function setUp(server: string, pass: (client: KubeClient) => Promise<SyncResult>) {
  const clock = new ManualClock();
  const connection = { server, cluster: {}, user: {}, userName: '', namespace: '', contextName: '' };
  const client = createClient({
    source: connectionSource({ connection, clock }),
    clock,
    random: systemRandom,
    userAgent: 'test',
  });
  const stop = new AbortController();
  const reference: Reference = {
    follow: (_listener, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
    read: async () => ({ kind: 'local' }),
    write: async () => false,
  };
  const lines: string[] = [];
  const reported: object[] = [];
  const reporter = {
    listen: () => () => {},
    update: (change: object) => void reported.push(change),
    report: undefined,
  } as unknown as Reporter;
  const log = createLog({ format: 'text', write: (line) => void lines.push(line) });
  const connect = async () => ({ client, nodeName: 'n', reference });
  const side = new ApiSide({ connect, reporter, clock, random: systemRandom, log });
  const running = side.run({ readWaitMs: () => 0, sync: () => pass(client) }, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
    client.close();
  });
  await clock.advance(0);
  return { side, clock, lines, reported };
}

test('a pass that failed during an outage runs again as soon as the API server answers', async () => {
  const answer = (_asked: unknown, response: ServerResponse) => answerJson(response, {});
  const away = await startScriptedServer(answer);
  await away.close();
  let passed: () => void;
  const done = new Promise<void>((resolve) => {
    passed = resolve;
  });
  const { clock } = await setUp(away.url, async (client) => {
    await client.get(nodes, { name: 'n' });
    passed();
    return { kind: 'followed' };
  });
  // Far longer than any backoff: retries by time alone would by now wait for a minute.
  for (let outageMs = 0; outageMs < 120_000; outageMs += 5000) {
    await clock.untilSleeping((ms) => ms <= 5000);
    await clock.advance(5000);
  }
  await clock.untilSleeping((ms) => ms <= 5000);
  const back = await startScriptedServer(answer, { port: away.port });
  onTestFinished(() => back.close());
  await clock.advance(5000);
  await done;
});

test('pods are listed by node, from the cache of the API server', async () => {
  const server = await startScriptedServer((_asked, response) => answerJson(response, { items: [] }));
  onTestFinished(() => server.close());
  const { side } = await setUp(server.url, async () => ({ kind: 'followed' }));
  expect(await side.view!.pods(new AbortController().signal)).toEqual([]);
  const { query } = server.asked.find(({ path }) => path === '/api/v1/pods')!;
  expect([query.get('fieldSelector'), query.get('resourceVersion')]).toEqual(['spec.nodeName=n', '0']);
});

describe('an assignment that is not granted yet', () => {
  const denied = () => new ConfigError('DownloadFailed', new ApiError(403, 'Forbidden', 'configmaps "a" is forbidden'));

  test('is waited for with short retries, and is not an error', async () => {
    let passes = 0;
    const { clock, lines, reported } = await setUp('http://127.0.0.1:1', async () => {
      if (++passes < 4) throw denied();
      return { kind: 'followed' };
    });
    await clock.advance(400);
    expect(passes).toBe(4);
    expect(lines.join('')).toMatch(/^\S+ INFO {2}waiting for permission .*\n$/);
    expect(reported).toEqual([{ syncError: undefined, observedGeneration: undefined }]);
  });

  test('is an error after some seconds, and is still retried', async () => {
    let passes = 0;
    const { clock, reported } = await setUp('http://127.0.0.1:1', async () => {
      passes++;
      throw denied();
    });
    await clock.advance(4900);
    expect(reported).toEqual([]);
    await clock.advance(2000);
    expect(reported[0]).toMatchObject({ syncError: { reason: 'DownloadFailed' } });
    const before = passes;
    await clock.advance(60_000);
    expect(passes).toBeGreaterThan(before);
  });
});
