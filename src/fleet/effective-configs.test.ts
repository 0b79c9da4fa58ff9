/** Reading effective configs is bounded, and names the right that is missing. */
import { expect, test } from 'vitest';
import { ApiError } from '../api/status.js';
import { systemClock } from '../clock.js';
import type { KubeClient } from '../kube/client.js';
import { missingRight, readEffectiveConfigs, rightCommands } from './effective-configs.js';

/** Nodes without agents. `answer`: what the kubelet of a node returns. */
function clusterOf(count: number, answer: (path: string) => string) {
  const items = Array.from({ length: count }, (_, at) => ({ metadata: { name: `node-${at}` } }));
  const client = {
    clock: systemClock,
    async *pages() {
      yield { items };
    },
    raw: async ({ path }: { path: string }) => ({ text: answer(path) }),
  };
  return { client: client as unknown as KubeClient, signal: new AbortController().signal };
}
const options = { hasAgents: false, nowMs: 0 };
const configz = (domain: string) => JSON.stringify({ kubeletconfig: { clusterDomain: domain } });

test('nodes whose configs together are too large are named, and equal configs count once', async () => {
  const cluster = clusterOf(8, (path) => configz(/node-[0-3]\//.test(path) ? 'same' : path.padEnd(300, '.')));
  const { nodes, unread, documents } = await readEffectiveConfigs(cluster, { ...options, mostBytesOfAll: 1000 });
  expect(nodes.map(({ name }) => name)).toEqual(['node-0', 'node-1', 'node-2', 'node-3', 'node-4', 'node-5']);
  expect(documents.size).toBe(3);
  expect(unread.map(({ name, reason }) => [name, reason])).toEqual(
    ['node-6', 'node-7'].map((name) => [name, expect.stringContaining('read fewer nodes at a time')]),
  );
});

test('after one kubelet may not be asked, no other is, and the right is named with what gives it', async () => {
  let requests = 0;
  const cluster = clusterOf(100, () => {
    requests++;
    throw new ApiError(403, 'Forbidden', 'no');
  });
  const fleet = await readEffectiveConfigs(cluster, options);
  expect(fleet.unread).toHaveLength(100);
  expect(requests).toBeLessThanOrEqual(32);
  expect(rightCommands(missingRight(fleet)!, 'ann')[0]).toBe(
    'kubectl create clusterrole relet-look --verb=get --resource=nodes/proxy',
  );
  expect(rightCommands({ configMapsIn: 'relet-system' }, 'ann')[1]).toBe(
    'kubectl -n relet-system create rolebinding relet-look --role=relet-look --user=ann',
  );
});
