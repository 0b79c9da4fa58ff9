/** Nodes that share one ConfigMap: each follows it for itself, and an edit in place is spread where that is asked for. */
import { expect, test } from 'vitest';
import { createClusterRig } from './cluster-rig.js';

test('two nodes follow an edit of the ConfigMap they share, one of them in its own time', async () => {
  const hours = 100;
  const slow = await createClusterRig({ node: { options: { inPlaceJitterMs: hours * 3_600_000 } } });
  const quick = await createClusterRig({ beside: slow, name: 'node-b' });
  const both = [slow, quick];
  const text = (line: string) =>
    Object.fromEntries(both.map(({ name, node }) => [name, node.config(`# config ${line}`)]));
  await slow.createConfigMap('shared', text('a'));
  // A new assignment does not wait, whatever the jitter.
  for (const rig of both) await rig.point('shared', rig.name);
  for (const rig of both) await rig.until('active', () => rig.config?.active !== undefined);
  const before = slow.config?.active;

  const edited = await slow.patchConfigMap('shared', { data: text('b') });
  const runs = (rig: typeof slow) => rig.config?.active?.configMap?.resourceVersion;
  await quick.until('followed', () => runs(quick) === edited.metadata.resourceVersion);
  expect(quick.node.starts().at(-1)?.config).toContain('# config b');
  expect(slow.config?.active).toEqual(before);
  expect(slow.node.starts()).toHaveLength(2);

  // A second edit takes the place of the first: it is followed once, as it is then.
  const again = await slow.patchConfigMap('shared', { data: text('c') });
  await quick.until('followed again', () => runs(quick) === again.metadata.resourceVersion);
  slow.node.clock.advance(hours * 3_600_000);
  await slow.until('followed', () => runs(slow) === again.metadata.resourceVersion);
  expect(slow.node.starts().at(-1)?.config).toContain('# config c');
  expect(slow.node.starts()).toHaveLength(3);
});
