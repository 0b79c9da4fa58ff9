/** How old the fleet of one person is, when lists fail and work again. */
import { expect, test } from 'vitest';
import { ManualClock } from '../../../test/manual-clock.js';
import { ApiError } from '../../api/status.js';
import type { ConfigReferences } from '../../fleet/configured-node.js';
import type { KubeClient } from '../../kube/client.js';
import { FleetView } from './fleet-view.js';

test('a cluster without sets is up to date again after an outage', async () => {
  const clock = new ManualClock();
  let failure = new Error('connection refused');
  const client = {
    clock,
    random: { number: () => 0 },
    // biome-ignore lint/correctness/useYield: it fails before its first page.
    async *pages() {
      throw failure;
    },
    waitBeforeRetry: (ms: number, signal: AbortSignal) => clock.sleep(ms, signal),
  } as unknown as KubeClient;
  const view = new FleetView({
    client,
    references: { watch: async () => {} } as unknown as ConfigReferences,
    clock,
    may: () => ({ seeFleet: true, seeSets: true }),
    onUnauthorized: () => {},
    onForbidden: () => {},
  });
  const seen: (string | undefined)[] = [];
  const ignore = () => {};
  view.attach({
    onSnapshot: ignore,
    onRow: ignore,
    onSets: ignore,
    onFreshness: () => seen.push(view.stale?.why),
  });
  await clock.settle();
  failure = new ApiError(404, 'NotFound', 'the server could not find the requested resource');
  await clock.advance(60_000);
  expect(seen).toEqual(['connection refused', undefined]);
  view.stop();
});
