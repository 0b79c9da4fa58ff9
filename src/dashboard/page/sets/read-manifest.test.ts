/** A set that is edited and not changed stays what it was. */
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { draftYaml } from './draft.js';
import { draftOf } from './read-manifest.js';

const set = {
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: { name: 'gpu' },
  spec: {
    selector: { matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a', 'b'] }] },
    config: { overlay: { maxPods: 150, evictionHard: { 'memory.available': '1Gi' } }, unset: ['clusterDomain'] },
    accept: ['Drain'],
    strategy: {
      waves: [{ nodes: 1, soak: '10m', approve: true }, { nodes: '100%' }],
      maxUnavailable: '20%',
      drain: { policy: 'Never' },
      windows: [{ days: ['Sat'], from: '22:00', to: '04:00', timeZone: 'Europe/Berlin' }],
      order: ['zone'],
    },
    updateNodes: 'New',
    onDelete: 'Reset',
    paused: true,
  },
};

test('a set becomes a draft and, unchanged, the same manifest again', () => {
  expect(parse(draftYaml(draftOf(stringify(set))!))).toEqual(set);
});

test('a set of a whole config or a ConfigMap is not edited in these steps', () => {
  const config = { configMap: { namespace: 'relet-system', name: 'a', kubeletConfigKey: 'kubelet' } };
  expect(draftOf(stringify({ ...set, spec: { ...set.spec, config } }))).toBeUndefined();
});

test('defaults that the API server wrote are left out', () => {
  const { strategy, ...spec } = set.spec;
  const written = { ...spec, paused: false, onLeave: 'Keep', strategy: { ...strategy, order: [], maxFailed: 0 } };
  const yaml = draftYaml(draftOf(stringify({ ...set, spec: written }))!);
  expect(yaml).not.toMatch(/paused|onLeave|order|maxFailed/);
});
