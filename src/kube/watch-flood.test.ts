/** A watch with more events than can be worked through leaves time for everything else. */
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { systemClock } from '../clock.js';
import type { KubeClient } from './client.js';
import { configMaps } from './resource-type.js';
import { watch } from './watch.js';

test('a flood of events does not keep the process from hearing that it must stop', async () => {
  const event = `${JSON.stringify({ type: 'MODIFIED', object: { metadata: { name: 'a', resourceVersion: '1' } } })}\n`;
  const all = 100_000;
  let sent = 0;
  const flood = new Readable({
    read() {
      sent += 1000;
      this.push(sent <= all ? event.repeat(1000) : null);
    },
  });
  const client = { clock: systemClock, open: async () => flood } as unknown as KubeClient;
  const stop = new AbortController();
  const events = watch(client, configMaps, { resourceVersion: '1', timeoutSeconds: 300, signal: stop.signal });
  let heard = 0;
  const watching = (async () => {
    for await (const _ of events) heard++;
  })();
  // As a signal of the operating system: it is heard only when the event loop goes round.
  setImmediate(() => setImmediate(() => stop.abort(new Error('stop'))));
  await expect(watching).rejects.toThrow('stop');
  expect(heard).toBeLessThan(1000);
});
