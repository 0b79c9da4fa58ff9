/** The agent's own retries over an outage of the API server, on a manual clock. */
import { onTestFinished, test } from 'vitest';
import { ManualClock } from '../../../test/manual-clock.js';
import { answerJson, startScriptedServer } from '../../../test/scripted-server.js';
import { createClient } from '../../kube/client.js';
import { connectionSource } from '../../kube/identity-source.js';
import { nodes } from '../../kube/resource-type.js';
import { silentLog } from '../../log.js';
import type { Reporter } from '../report/reporter.js';
import { ApiSide } from './api-side.js';
import type { Reference } from './reference.js';

test('a pass that failed during an outage runs again as soon as the API server answers', async () => {
  const clock = new ManualClock();
  const answer = (_asked: unknown, response: Parameters<typeof answerJson>[0]) => answerJson(response, {});
  const away = await startScriptedServer(answer);
  await away.close();
  const connection = { server: away.url, cluster: {}, user: {}, userName: '', namespace: '', contextName: '' };
  const client = createClient({ source: connectionSource({ connection, clock }), clock, userAgent: 'test' });
  const stop = new AbortController();
  const reference: Reference = {
    follow: (_listener, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
    read: async () => ({ kind: 'local' }),
    write: async () => true,
  };
  let passed: () => void;
  const done = new Promise<void>((resolve) => {
    passed = resolve;
  });
  const api = new ApiSide({
    client,
    nodeName: 'n',
    reference,
    reporter: { listen: () => () => {}, update: () => {}, report: undefined } as unknown as Reporter,
    clock,
    log: silentLog,
    signal: stop.signal,
    pass: async () => {
      await client.get(nodes, { name: 'n' });
      passed();
      return { kind: 'done' };
    },
  });
  const running = api.run();
  onTestFinished(async () => {
    stop.abort();
    await running;
    client.close();
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
