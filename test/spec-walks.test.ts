/** Walks over specs on processes: an API server, the controller, and agents with hollow kubelets. */
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { type NodeConfig, nodeConfigs } from '../src/api/node-config.js';
import { type NodeConfigSet, nodeConfigSets } from '../src/api/node-config-set.js';
import type { ConfigMap } from '../src/api/object.js';
import { configMaps, nodes } from '../src/kube/resource-type.js';
import { startLab } from '../src/lab/index.js';
import { clientFor } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { anyStep, createConfigs, put, type Step } from './spec-steps.js';

const [member, byHand] = ['node-1', 'node-2'];
const overlayOf = (maxPods: number) => ({ overlay: { maxPods } });

/** With nothing to wait for. */
const last = (maxPods: number): Step[] => {
  const config = overlayOf(maxPods);
  const strategy = { waves: [{ nodes: '100%' }], maxUnavailable: 1, maxInTrial: 1 };
  const configMap = { namespace: 'relet-system', name: `good-${maxPods % 2 ? 'a' : 'b'}`, kubeletConfigKey: 'kubelet' };
  return [
    { kind: 'FieldPolicy', fields: {}, thenMs: 0 },
    { kind: 'NodeConfig', fields: { configSource: { configMap } }, thenMs: 0 },
    { kind: 'NodeConfigSet', fields: { selector: { matchLabels: { pool: 'set' } }, config, strategy }, thenMs: 0 },
  ];
};

test('a cluster follows the last specs, whatever specs were applied before', { timeout: 1_800_000 }, async () => {
  const lab = await startLab({ packageDir: `${import.meta.dirname}/..`, nodes: 2, trialDuration: '1s' });
  const client = clientFor(lab.kubeconfig);
  onTestFinished(async () => {
    client.close();
    await lab.stop();
  });
  await client.patch(nodes, { name: member }, { metadata: { labels: { pool: 'set' } } }, { as: 'merge' });
  await createConfigs(client);
  const walks = fc.sample(fc.array(anyStep, { minLength: 2, maxLength: 4 }), 6);
  let [accepted, rejected] = [0, 0];
  // The last one is the first again.
  for (const [at, steps] of walks.entries()) {
    const ends = last(100 + (at % (walks.length - 1)));
    for (const step of steps) (await put(client, step, byHand)) ? accepted++ : rejected++;
    for (const step of ends) expect(await put(client, step, byHand)).toBe(true);
    await eventually(
      `walk ${at} ends: ${JSON.stringify(steps)}`,
      async () => {
        const { status, metadata } = await client.get<NodeConfigSet>(nodeConfigSets, { name: 'pool' });
        expect(status?.observedGeneration).toBe(metadata.generation);
        expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
        for (const name of [member, byHand]) {
          const { spec, status } = await client.get<NodeConfig>(nodeConfigs, { name });
          const { active, error } = status?.config ?? {};
          expect([active?.configMap?.name, error]).toEqual([spec?.configSource?.configMap?.name, undefined]);
        }
        const { spec } = await client.get<NodeConfig>(nodeConfigs, { name: member });
        const place = { namespace: 'relet-system', name: spec!.configSource!.configMap!.name };
        const { data } = await client.get<ConfigMap>(configMaps, place);
        expect(data?.kubelet).toContain(`maxPods: ${100 + (at % (walks.length - 1))}`);
      },
      { limitMs: 600_000 },
    );
  }
  console.info(`${walks.length} walks on processes: ${accepted} specs accepted, ${rejected} rejected by the API`);
  expect(Math.min(accepted, rejected)).toBeGreaterThan(0);
});
