/** How old the fleet of one person is, when lists fail and work again. */
import { expect, test } from 'vitest';
import { ManualClock } from '../../../test/manual-clock.js';
import { ApiError } from '../../api/status.js';
import type { ConfigReferences } from '../../fleet/configured-node.js';
import type { KubeClient } from '../../kube/client.js';
import type { LivenessListener } from '../../kube/liveness.js';
import { FleetView } from './fleet-view.js';

function setUp(may: { seeFleet: boolean; seeSets: boolean }) {
  const clock = new ManualClock();
  let liveness: LivenessListener | undefined;
  const server = { failure: new Error('connection refused') };
  const client = {
    clock,
    random: { number: () => 0 },
    // biome-ignore lint/correctness/useYield: it fails before its first page.
    async *pages() {
      throw server.failure;
    },
    waitBeforeRetry: (ms: number, signal: AbortSignal) => clock.sleep(ms, signal),
    async followLiveness(listener: LivenessListener) {
      liveness = listener;
    },
  } as unknown as KubeClient;
  const view = new FleetView({
    client,
    references: { watch: async () => {} } as unknown as ConfigReferences,
    clock,
    may: () => may,
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
  return { clock, server, view, seen, liveness: liveness! };
}

test('a server that does not answer makes the fleet as old as its last answer, until it answers', () => {
  const { view, seen, liveness } = setUp({ seeFleet: true, seeSets: false });
  liveness.onSilent({ sinceMs: 5000, why: '' });
  expect(view.stale).toEqual({ since: 5000, why: 'The API server does not answer.' });
  liveness.onAnswer({ sinceMs: 5000, why: '' });
  expect(seen).toEqual(['The API server does not answer.', undefined]);
  view.stop();
  expect(liveness.signal.aborted).toBe(true);
});

test('a cluster without sets is up to date again after an outage', async () => {
  const { clock, server, view, seen } = setUp({ seeFleet: true, seeSets: true });
  await clock.settle();
  server.failure = new ApiError(404, 'NotFound', 'the server could not find the requested resource');
  await clock.advance(60_000);
  expect(seen).toEqual(['connection refused', undefined]);
  view.stop();
});
