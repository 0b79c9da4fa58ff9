/** Which changes the set may cause, by its spec. */
import { expect, test, vi } from 'vitest';
import type { SetImpact } from '../api/node-config-set.js';
import { podFacts } from '../fleet/node-facts.js';
import { answerFor, drainNeed, type NodeCase, owedOf, problemOf } from './impact.js';

const node: NodeCase = {
  names: ['node-1', 'node-2'],
  labels: {},
  kubeletVersion: 'v1.36.0',
  local: { files: [] },
  before: undefined,
  mayLoseGpus: false,
};
const overlay = `apiVersion: relet.dev/v1alpha1
kind: KubeletConfigurationOverlay
config: {topologyManagerPolicy: restricted}
`;
const turn = async () => {};

async function problem(accept: SetImpact[], text = overlay, one: NodeCase = node, names = one.names) {
  const answer = await answerFor({ text, policies: [], accept }, one, turn);
  return problemOf([{ names, answer }])?.message;
}

test('a change that needs a drain is rolled out only where the set accepts it', async () => {
  expect(await problem([])).toMatch(/^topologyManagerPolicy \(Drain\) on node-1.*accept: \[Drain\] allows it$/);
  expect(await problem(['Drain'])).toBeUndefined();
  expect(await problem(['Reboot'])).toBeUndefined();
});

test('the message about one node does not name it again', async () => {
  const gate = overlay.replace('topologyManagerPolicy: restricted', 'featureGates: {NoSuchGate: true}');
  const gpus = { ...node, mayLoseGpus: true };
  expect(await problem([], overlay, node, [])).toBe('topologyManagerPolicy (Drain); accept: [Drain] allows it');
  expect(await problem([], gate)).toBe('node-1 and node-2: unrecognized feature gate: NoSuchGate');
  expect(await problem([], gate, node, [])).toBe('unrecognized feature gate: NoSuchGate');
  expect(await problem(['Drain'], overlay, gpus, [])).toMatch(/^a switch reloads systemd/);
});

test('whether a node is drained depends on the direction of the change and on what runs there', async () => {
  const lowered = overlay.replace('topologyManagerPolicy: restricted', 'maxPods: 2');
  const raised = overlay.replace('topologyManagerPolicy: restricted', 'maxPods: 200');
  const policy = overlay.replace('topologyManagerPolicy: restricted', 'cpuManagerPolicy: static');
  const pod = (name: string) =>
    podFacts({ apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'shop', name, creationTimestamp: '' } });
  const running = (count: number) => ({
    capacity: { pods: 110n * 1_000_000_000n, cpu: 4_000_000_000n, memory: 8n * 10n ** 18n },
    allocatable: { pods: 110n * 1_000_000_000n, cpu: 4_000_000_000n, memory: 8n * 10n ** 18n },
    pods: Array.from({ length: count }, (_, index) => pod(`web-${index}`)),
  });
  expect(await drainNeed(overlay, node, turn)).toBe('yes');
  expect(await drainNeed(policy, node, turn)).toBe('yes');
  expect(await drainNeed(lowered, node, turn)).toBe('maybe');
  expect(await drainNeed(lowered, node, turn, running(2))).toBe('no');
  expect(await drainNeed(lowered, node, turn, running(3))).toBe('yes');
  expect(await drainNeed(raised, node, turn)).toBe('no');
  expect(await drainNeed(raised, node, turn, running(3))).toBe('no');
  expect(await drainNeed(raised, { ...node, local: undefined }, turn)).toBe('maybe');
  expect(await drainNeed(undefined, { ...node, before: policy }, turn)).toBe('yes');
});

test('a change that only needs a restart of the kubelet is rolled out whatever the set accepts', async () => {
  const restart = overlay.replace('topologyManagerPolicy: restricted', 'maxPods: 150');
  expect(await problem([], restart)).toBeUndefined();
});

test.each([
  ['the need of a drain', drainNeed],
  ['what is left to do', owedOf],
])('%s is found in parts, with a turn for others after each text and after the comparison', async (_name, find) => {
  const turns = vi.fn(async () => {});
  await find(overlay, { ...node, before: overlay.replace('restricted', 'best-effort') }, turns);
  expect(turns).toHaveBeenCalledTimes(3);
});
