/** The manifest that `--as-set` writes, and the fields it keeps of an existing set. */
import { describe, expect, test } from 'vitest';
import { type NodeConfigSet, specDefaults, strategyDefaults } from '../../api/node-config-set.js';
import { ApiError } from '../../api/status.js';
import type { KubeClient } from '../../kube/client.js';
import { asManifest, manifest, overlayConfig, writeManifest } from './as-set.js';

const present: NodeConfigSet = {
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: { name: 'gpu', resourceVersion: '7' },
  spec: {
    selector: { matchLabels: { pool: 'gpu' } },
    config: { overlay: { maxPods: 150, podPidsLimit: 100 } },
    strategy: { maxFailed: 2, waves: [{ nodes: 2 }, { nodes: '100%' }] },
    onLeave: 'Reset',
  },
};

test('a new set has the selector, the overlay and what the flags say, and leaves the rest to defaults', () => {
  const config = overlayConfig(undefined, ['maxPods=150', 'evictionHard.memory.available=200Mi'], {
    unset: ['clusterDomain'],
  });
  const options = { selector: 'pool=gpu', accept: ['state-file'], maxUnavailable: '5%', soak: 600_000 };
  expect(manifest('gpu', undefined, config, options)).toEqual({
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'gpu' },
    spec: {
      selector: { matchLabels: { pool: 'gpu' } },
      config: {
        overlay: { maxPods: 150, evictionHard: { 'memory.available': '200Mi' } },
        unset: ['clusterDomain'],
      },
      accept: ['StateFile'],
      strategy: {
        maxUnavailable: '5%',
        waves: [{ nodes: 1, soak: '10m' }, { nodes: '10%', soak: '10m' }, { nodes: '100%' }],
      },
    },
  });
});

test('a set that is there keeps what the words do not name', () => {
  const config = overlayConfig(present.spec.config, ['maxPods=200', 'podPidsLimit-'], {});
  const { spec, metadata } = manifest('gpu', present, config, { soak: 90_500 });
  expect(metadata.resourceVersion).toBe('7');
  expect(spec).toEqual({
    ...present.spec,
    config: { overlay: { maxPods: 200 } },
    strategy: { maxFailed: 2, waves: [{ nodes: 2, soak: '90500ms' }, { nodes: '100%' }] },
  });
});

test.each([
  [() => manifest('new', undefined, {}, {}), "there is no set 'new' yet; use --selector or --all"],
  [() => manifest('gpu', present, {}, { selector: 'pool=blue' }), 'the set gpu selects pool=gpu, not pool=blue'],
  [() => manifest('gpu', present, {}, { all: true }), 'the set gpu selects pool=gpu, not all nodes'],
  [() => manifest('n', undefined, {}, { selector: 'a>1' }), 'a set cannot select by a > 1'],
  [() => overlayConfig({ whole: {} }, ['maxPods=1'], {}), 'no overlay to build on'],
  [() => overlayConfig(undefined, ['maxPds=1'], {}), "did you mean 'maxPods'?"],
  [() => overlayConfig(undefined, [], {}), 'nothing to set'],
])('words that cannot be meant are refused with the remedy (%#)', (act, message) => {
  expect(act).toThrow(message);
});

describe('a set that is written by others meanwhile', () => {
  const shown = { ...present, metadata: { ...present.metadata, uid: 'a', generation: 2 } };
  const wanted = { ...shown, spec: { ...shown.spec, config: { overlay: { maxPods: 160 } } } };

  /** The server has a newer version of the set. */
  const writeOver = async (now: object) => {
    const metadata = { ...shown.metadata, resourceVersion: '8', ...now };
    const written: NodeConfigSet[] = [];
    const client = {
      async update(_type: unknown, _place: unknown, object: NodeConfigSet) {
        if (object.metadata.resourceVersion !== '8') throw new ApiError(409, 'Conflict', 'modified');
        written.push(object);
      },
      get: async () => ({ ...shown, metadata }),
    } as unknown as KubeClient;
    await writeManifest({ client }, wanted, shown);
    return written;
  };

  test('is written all the same where only its status or its metadata changed, which it keeps', async () => {
    const annotations = { owner: 'ann' };
    expect(await writeOver({ annotations })).toEqual([
      { ...wanted, metadata: { ...shown.metadata, resourceVersion: '8', annotations } },
    ]);
  });

  test.each([
    ['its spec changed', { generation: 3 }],
    ['it was made again', { uid: 'b' }],
  ])('is not written where %s', async (_name, now) => {
    await expect(writeOver(now)).rejects.toThrow(
      "the set gpu was changed by somebody else meanwhile, so nothing was changed; look at it ('relet rollout status gpu') and run the same command again",
    );
  });
});

test('the manifest for Git has neither what kubectl wrote nor what the schema sets', () => {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', 'relet.dev/by': 'ann', team: 'gpu' };
  const strategy = { ...strategyDefaults, maxFailed: 2, drain: { ...strategyDefaults.drain, timeout: '5m' } };
  const { selector, config } = present.spec;
  const stored = {
    ...present,
    metadata: { ...present.metadata, annotations },
    spec: { ...specDefaults, selector, config, strategy },
  };
  expect(asManifest(stored)).toEqual({
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'gpu', annotations: { team: 'gpu' } },
    spec: { selector, config, strategy: { maxFailed: 2, drain: { timeout: '5m' } } },
  });
});
