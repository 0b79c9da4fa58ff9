/** A ConfigMap that is edited again and again does not restart the kubelet again and again. */
import { expect, test } from 'vitest';
import { leastDistanceMs } from '../src/agent/sync/change-pace.js';
import { restartDelayedAnnotation } from '../src/api/node-annotations.js';
import { createClusterRig } from './cluster-rig.js';

const maxRestartDelayMs = 60_000;

test('edits that keep coming restart the kubelet only a few times, and the last content becomes active', async () => {
  const rig = await createClusterRig({ node: { options: { maxRestartDelayMs } } });
  const content = (edit: number) => ({ kubelet: rig.node.config(`# edit ${edit}`) });
  const isActive = (version: string | undefined) => rig.config?.active?.configMap?.resourceVersion === version;
  const delayedUntil = () => rig.seen?.metadata.annotations?.[restartDelayedAnnotation];
  const beganMs = rig.node.clock.monotonic();
  let { metadata } = await rig.createConfigMap('disputed', content(0));
  await rig.point('disputed');
  await rig.until('active', () => isActive(metadata.resourceVersion));

  const edits = 20;
  for (let edit = 1; edit <= edits; edit++) {
    ({ metadata } = await rig.patchConfigMap('disputed', { data: content(edit) }));
    await rig.until(`edit ${edit}`, () => isActive(metadata.resourceVersion) || delayedUntil() !== undefined);
  }
  const restarts = rig.node.starts().length - 1;
  expect(restarts).toBeLessThanOrEqual(mostRestarts(rig.node.clock.monotonic() - beganMs));
  expect(rig.node.log()).toContain('config keeps changing, kubelet restart delayed');

  rig.node.clock.advance(maxRestartDelayMs);
  await rig.until('the last edit', () => isActive(metadata.resourceVersion) && delayedUntil() === undefined);
  expect(rig.node.starts().at(-1)?.config).toContain(`# edit ${edits}\n`);
  expect(rig.node.starts().length - 1).toBeLessThanOrEqual(restarts + 1);
});

/** So many fit into this time, each at its least distance from the one before. */
function mostRestarts(ms: number): number {
  let restarts = 1;
  for (let left = ms; left >= leastDistanceMs(restarts, maxRestartDelayMs); restarts++)
    left -= leastDistanceMs(restarts, maxRestartDelayMs);
  return restarts;
}

test('a config that replaces one that was rolled back does not wait', async () => {
  const rig = await createClusterRig({ node: { options: { maxRestartDelayMs } } });
  const point = async (name: string, ...orders: string[]) => {
    await rig.createConfigMap(name, { kubelet: rig.node.config(...orders) });
    await rig.point(name);
  };
  // Each of these restarts makes the next one wait longer; the trial's own restarts take real seconds between them.
  for (const name of ['one', 'two', 'three']) {
    await point(name, `# ${name}`);
    rig.node.clock.advance(5000);
    await rig.until(name, () => rig.config?.active?.configMap?.name === name);
  }
  await point('deadly', '# exit 1');
  rig.node.clock.advance(5000);
  await rig.until('rolled back', () => rig.config?.error?.startsWith('rolled back') ?? false);
  const delays = () => rig.node.log().split('kubelet restart delayed').length;
  const before = delays();
  await point('good', '# good');
  await rig.until('good', () => rig.config?.active?.configMap?.name === 'good');
  expect(delays()).toBe(before);
});
