/** A watch with many events yields to the event loop. */
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { systemClock } from '../clock.js';
import type { KubeClient } from './client.js';
import { configMaps } from './resource-type.js';
import { watch } from './watch.js';

test('many buffered events do not delay an abort', async () => {
  const event = `${JSON.stringify({ type: 'MODIFIED', object: { metadata: { name: 'a', resourceVersion: '1' } } })}\n`;
  const all = 100_000;
  let sent = 0;
  const flood = new Readable({
    read() {
      sent += 1000;
      this.push(sent <= all ? event.repeat(1000) : null);
    },
  });
  const client = { clock: systemClock, open: async () => flood, onLost: () => () => {} } as unknown as KubeClient;
  const stop = new AbortController();
  const events = watch(client, configMaps, { resourceVersion: '1', timeoutSeconds: 300, signal: stop.signal });
  let received = 0;
  const watching = (async () => {
    for await (const _ of events) received++;
  })();
  // Like a signal of the operating system, which is handled only between two turns of the event loop.
  setImmediate(() => setImmediate(() => stop.abort(new Error('stop'))));
  await expect(watching).rejects.toThrow('stop');
  expect(received).toBeLessThan(1000);
});
