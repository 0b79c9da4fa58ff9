/** Sets with analysis through the whole controller and the API: requests to nodes, answers, outcome, restarts at each step. */
import { expect, test } from 'vitest';
import type { SetStrategy } from '../src/api/node-config-set.js';
import { observeRequestOf } from '../src/api/observe.js';
import { createSetRig, type SetRig } from './set-rig.js';

const names = Array.from({ length: 30 }, (_, at) => `node-${at}`);
const strategy: SetStrategy = {
  waves: [{ nodes: 1 }, { nodes: 6 }, { nodes: '100%' }],
  maxUnavailable: '100%',
  maxInTrial: '100%',
  analysis: { window: '5m', signals: [{ name: 'podStartSeconds' }] },
};
const config = { overlay: { maxPods: 60 } };

async function rigWith(answer: SetRig['observed']): Promise<SetRig> {
  const rig = await createSetRig();
  await rig.addNodes(names);
  rig.observed = answer;
  await rig.apply('gpu', { config, strategy });
  return rig;
}

const quirk = (node: string) => 1 + (Number(node.slice(5)) % 13) / 100;
const harmful: SetRig['observed'] = (node, isChanged) => ({
  podStartSeconds: [2, 2 * quirk(node) * (isChanged ? 1.7 : 1)],
});
const harmless: SetRig['observed'] = (node) => ({ podStartSeconds: [2, 2 * quirk(node)] });
const changed = async (rig: SetRig) => Object.values(await rig.revisions()).filter(Boolean).length;

test('harm in wave 2 halts the rollout with the sentence, and the controls keep their config', async () => {
  const rig = await rigWith(harmful);
  await rig.untilReason('gpu', 'WorseThanControls', 5000);
  const { status } = await rig.set('gpu');
  expect(status?.waiting).toMatch(
    /^wave 2 is worse: 5 of 5 canaries start pods slower than before \(\+\d+ %, median 2 s → 3\.\d s\); none of 24 controls do\. Correct the config/,
  );
  expect(status?.analyses?.map(({ wave, outcome }) => [wave, outcome])).toEqual([
    [2, 'Worse'],
    [1, 'CannotTell'],
  ]);
  expect(await changed(rig)).toBe(6);
  const control = await rig.nodeConfig(status!.analyses![0]!.controls![0]!);
  expect(observeRequestOf(control)).toMatchObject({
    id: status!.analyses![0]!.revision && `gpu/${status!.updateRevision}/1/2`,
  });
  expect(control.spec?.configSource).toBeUndefined();
});

test('no harm completes, with a control that is down and a node that lies', async () => {
  const rig = await rigWith((node, isChanged) => {
    if (node === 'node-20') return { podStartSeconds: [2, 1e9], oomKills: [0, 0.5] };
    return node === 'node-21' ? undefined : harmless(node, isChanged);
  });
  await rig.setReady('node-22', true);
  await rig.until(
    'wave 2 is observed',
    async () => {
      const [newest] = (await rig.set('gpu')).status?.analyses ?? [];
      return newest?.wave === 2 && newest.state === 'Observing';
    },
    5000,
  );
  await rig.setReady('node-22', false);
  await rig.untilReason('gpu', 'RolloutComplete', 5000);
  const { status } = await rig.set('gpu');
  const wave2 = status?.analyses?.find(({ wave }) => wave === 2);
  expect(wave2?.outcome).toBe('NotWorse');
  expect(wave2?.leftOut?.map(({ name, reason }) => [name, reason])).toEqual([
    ['node-21', 'NoAnswer'],
    ['node-22', 'NotReady'],
  ]);
  // The values of node-20 are out of range: it answered, and is in no signal.
  expect(wave2?.signals?.[0]?.controls.nodes).toBe(21);
});

test('a controller that is killed in every step comes to the same end, and asks nobody twice', async () => {
  const rig = await rigWith(harmful);
  const asked = new Set<string>();
  await rig.until(
    'it halts',
    async () => {
      await rig.stopController();
      rig.startController();
      for (const object of await rig.nodeConfigs()) {
        const request = observeRequestOf(object);
        if (request) asked.add(`${object.metadata.name} ${JSON.stringify(request)}`);
      }
      return (await rig.reason('gpu')) === 'WorseThanControls';
    },
    20_000,
  );
  expect(await changed(rig)).toBe(6);
  // Wave 1: one canary and 29 controls; wave 2: 5 and 24.
  expect(asked.size).toBe(30 + 29);
});

test('the API server rejects windows, limits and labels that cannot be', async () => {
  const rig = await createSetRig();
  const apply = (analysis: NonNullable<SetStrategy['analysis']>) =>
    rig.apply('gpu', { config, strategy: { analysis } });
  await expect(apply({ window: '1m' })).rejects.toThrow(/window must be from 5m to 30m/);
  await expect(apply({ controls: 2 })).rejects.toThrow(/controls/);
  await expect(apply({ signals: [{ name: 'x', label: 'node' }] })).rejects.toThrow(/label goes only with prometheus/);
  await expect(apply({ signals: [{ name: 'x', worseBy: 'much' }] })).rejects.toThrow(/worseBy/);
  await apply({
    signals: [
      { name: 'errors', prometheus: 'sum by (node) (x)', worseBy: '20%' },
      { name: 'oomKills', worseBy: 1 },
    ],
  });
});
