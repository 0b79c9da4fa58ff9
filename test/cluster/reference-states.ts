/** The states a node's reference can be in on Kubernetes 1.26 and later: E1 to E9 where they apply. A part of the cluster suite. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { nodeConfigs } from '../../src/api/node-config.js';
import { configMaps } from '../../src/kube/resource-type.js';
import { configMapObject, point, write } from './cluster-node.js';
import type { Scene } from './scene.js';

const unparsable = '{0xdeadbeef}';

/** `hasRules`: the server has CEL rules in definitions. */
export function referenceStates(scene: Scene, { hasRules }: { hasRules: boolean }): void {
  describe('the states a reference can be in', () => {
    test.each([
      ['no namespace', { namespace: null }, 'spec.configSource.configMap.namespace: Required value'],
      ['no name', { name: null }, 'spec.configSource.configMap.name: Required value'],
      ['no key', { kubeletConfigKey: null }, 'spec.configSource.configMap.kubeletConfigKey: Required value'],
      ['a path as namespace', { namespace: '../baz' }, 'spec.configSource.configMap.namespace: Invalid value'],
      ['a path as name', { name: '../bar' }, 'spec.configSource.configMap.name: Invalid value'],
      ['a path as key', { kubeletConfigKey: '../qux' }, 'spec.configSource.configMap.kubeletConfigKey: Invalid value'],
      ['a short sha256', { sha256: 'abc' }, 'spec.configSource.configMap.sha256: Invalid value'],
    ])('%s is refused by the server', async (_what, more, message) => {
      const { operator } = scene;
      await expect(point(operator, 'node-b', 'x', more)).rejects.toThrow(message);
    });

    test.runIf(hasRules).each([
      ['a uid', { uid: 'u' }, 'uid must not be set in spec'],
      ['a resourceVersion', { resourceVersion: '1' }, 'resourceVersion must not be set in spec'],
      ['a key of dots', { kubeletConfigKey: '..' }, "kubeletConfigKey must not be '.'"],
    ])('%s is refused by a rule of the definition', async (_what, more, message) => {
      const { operator } = scene;
      await expect(point(operator, 'node-b', 'x', more)).rejects.toThrow(message);
    });

    test.runIf(hasRules)('a reference without any is refused by a rule of the definition', async () => {
      const { operator } = scene;
      const patch = operator.patch(nodeConfigs, { name: 'node-b' }, { spec: { configSource: {} } }, { as: 'merge' });
      await expect(patch).rejects.toThrow('exactly one reference subfield must be non-nil');
    });

    test('good, unparsable and invalid configs, back and forth, by reference and in place', async () => {
      const { admin, author, freshNode, newConfig, operator } = scene;
      const node = await freshNode();
      const text = {
        good: node.rig.config('maxPods: 60'),
        other: node.rig.config('maxPods: 61'),
        unparsable,
        invalid: node.rig.config('kubeAPIQPS: -1'),
      };
      const errors = {
        good: undefined,
        other: undefined,
        unparsable: 'failed to load config, see Kubelet log for details',
        invalid: 'failed to validate config, see Kubelet log for details',
      };
      type State = keyof typeof text;
      for (const state of Object.keys(text) as State[]) await newConfig(`state-${state}`, text[state]);
      const check = (name: string, state: State, version?: string) =>
        node.until(`${name} is ${state}`, ({ config }) => {
          const assigned = config?.assigned?.configMap;
          const isIt = assigned?.name === name && (version === undefined || assigned.resourceVersion === version);
          const runs = config?.active?.configMap?.resourceVersion === assigned?.resourceVersion;
          return isIt && config?.error === errors[state] && (errors[state] === undefined) === runs;
        });
      for (const state of ['good', 'unparsable', 'invalid', 'good', 'invalid', 'unparsable', 'good'] as State[]) {
        await point(operator, 'node-a', `state-${state}`);
        await check(`state-${state}`, state);
      }
      for (const state of ['unparsable', 'other', 'invalid', 'unparsable', 'good'] as State[]) {
        const place = { namespace: 'relet-system', name: 'state-good' };
        const edited = await author.patch(configMaps, place, { data: { kubelet: text[state] } }, { as: 'merge' });
        await check('state-good', state, edited.metadata.resourceVersion);
      }
      // Deleted and made again with other content: another uid, otherwise the same.
      await newConfig('state-good', text.other);
      const { metadata } = await admin.get(configMaps, { namespace: 'relet-system', name: 'state-good' });
      const recreated = await check('state-good', 'other', metadata.resourceVersion);
      expect(recreated.config?.assigned?.configMap?.uid).toBe(metadata.uid);
    });

    test('a bad config, and a bad key, leave the last known good running; a missing ConfigMap changes nothing', async () => {
      const { admin, author, freshNode, operator } = scene;
      const node = await freshNode();
      await admin.delete(configMaps, { namespace: 'relet-system', name: 'keys' }).catch(() => {});
      const data = { kubelet: node.rig.config('maxPods: 70'), bad: unparsable };
      await write(author, configMapObject('keys', '', { data }));
      await point(operator, 'node-a', 'keys');
      await node.active('keys');
      await node.rig.passTrial();
      await node.until('good', ({ config }) => config?.lastKnownGood?.configMap?.name === 'keys');

      await point(operator, 'node-a', 'keys', { kubeletConfigKey: 'bad' });
      const badKey = await node.until('bad key', ({ config }) => config?.error?.startsWith('failed to load') === true);
      expect(badKey.config?.assigned?.configMap).toMatchObject({ kubeletConfigKey: 'bad' });
      expect(badKey.config?.active?.configMap).toMatchObject({ kubeletConfigKey: 'kubelet' });
      expect(badKey.config?.active).toEqual(badKey.config?.lastKnownGood);
      await point(operator, 'node-a', 'keys', { kubeletConfigKey: 'kubelet' });
      await node.active('keys');

      const starts = node.rig.starts().length;
      await node.rig.denied(() => author.delete(configMaps, { namespace: 'relet-system', name: 'keys' }));
      const absent = await node.until('absent', ({ config }) => config?.error !== undefined);
      expect(absent.config?.error).toBe('failed to sync: failed to download config, see Kubelet log for details');
      expect(absent.config?.active).toEqual(badKey.config?.active);
      await write(author, configMapObject('keys', '', { data }));
      await node.until('back', ({ config }) => config?.error === undefined);
      expect(node.rig.starts()).toHaveLength(starts);
    });

    test('a pinned sha256 holds', async () => {
      const { freshNode, newConfig, operator } = scene;
      const node = await freshNode();
      const text = node.rig.config('maxPods: 80');
      await newConfig('pinned', text);
      await point(operator, 'node-a', 'pinned', { sha256: '0'.repeat(64) });
      await node.until('rejected', ({ config }) => config?.error?.includes('pinned sha256') === true);
      await point(operator, 'node-a', 'pinned', { sha256: createHash('sha256').update(text).digest('hex') });
      await node.active('pinned');
    });
  });
}
