/** How far a node is with a change, and what can still be waited for. */
import { describe, expect, test } from 'vitest';
import type { NodeConfigSource, NodeConfigStatus } from '../../api/node-config-source.js';
import type { ConfiguredNode } from '../../kube/config-reference.js';
import { changeProgress, reaches } from './change-progress.js';

const wanted = (name: string): NodeConfigSource => ({
  configMap: { namespace: 'kube-system', name, kubeletConfigKey: 'kubelet' },
});
const exact = (name: string): NodeConfigSource => ({
  configMap: { ...wanted(name).configMap!, uid: `uid-${name}`, resourceVersion: '1' },
});
const refusal = 'failed to validate config, see Kubelet log for details';
const rollback = 'rolled back a config under which the kubelet kept dying, see Kubelet log for details';
const download = 'failed to sync: failed to download config, see Kubelet log for details';

function node(configSource: NodeConfigSource | undefined, status: NodeConfigStatus, ready = 'True'): ConfiguredNode {
  return { name: 'n', configSource, status, ready } as ConfiguredNode;
}

describe('a change to b, asked of a node that ran a', () => {
  const progress = (status: NodeConfigStatus, errorBefore?: string, ready = 'True') =>
    changeProgress(node(wanted('b'), status, ready), { to: wanted('b'), errorBefore, readyBefore: true });

  test.each<[string, NodeConfigStatus, object]>([
    ['not heard yet', { assigned: exact('a'), active: exact('a') }, { kind: 'asked' }],
    ['taken', { assigned: exact('b'), active: exact('a') }, { kind: 'taken' }],
    ['active, on trial', { assigned: exact('b'), active: exact('b') }, { kind: 'active', ready: true, proven: false }],
    [
      'active and proven',
      { assigned: exact('b'), active: exact('b'), lastKnownGood: exact('b') },
      { kind: 'active', ready: true, proven: true },
    ],
    ['refused', { assigned: exact('b'), active: exact('a'), error: refusal }, { kind: 'refused', error: refusal }],
    ['rolled back', { assigned: exact('b'), error: rollback }, { kind: 'rolled back', error: rollback }],
    ['cannot be fetched', { assigned: exact('a'), error: download }, { kind: 'cannot follow', error: download }],
  ])('%s', (_name, status, expected) => {
    expect(progress(status)).toEqual(expected);
  });

  test('an error from before is no answer while the node has not taken the new config', () => {
    expect(progress({ assigned: exact('a'), error: refusal }, refusal)).toEqual({ kind: 'asked', error: refusal });
    expect(progress({ assigned: exact('a'), error: download }, download)).toEqual({ kind: 'asked', error: download });
  });

  test('the same words again, right after it was taken, are doubtful', () => {
    expect(progress({ assigned: exact('b'), error: refusal }, refusal)).toEqual({
      kind: 'refused',
      error: refusal,
      doubtful: true,
    });
  });

  test('a Node that was Ready is waited for until it is again', () => {
    const status = { assigned: exact('b'), active: exact('b') };
    expect(progress(status, undefined, 'False')).toMatchObject({ kind: 'active', ready: false });
    const neverReady = { to: wanted('b'), errorBefore: undefined, readyBefore: false };
    expect(changeProgress(node(wanted('b'), status, 'False'), neverReady)).toMatchObject({ ready: true });
  });

  test('another hand on the reference is seen', () => {
    const wish = { to: wanted('b'), errorBefore: undefined, readyBefore: true };
    expect(changeProgress(node(wanted('c'), {}), wish)).toEqual({ kind: 'changed' });
  });

  test('a reset is active when nothing is', () => {
    const wish = { to: undefined, errorBefore: undefined, readyBefore: true };
    expect(changeProgress(node(undefined, { active: exact('a') }), wish)).toEqual({ kind: 'taken' });
    expect(changeProgress(node(undefined, {}), wish)).toEqual({ kind: 'active', ready: true, proven: true });
  });
});

describe('what can be waited for', () => {
  test.each<[string, ConfiguredNode, [string, string, string]]>([
    ['local', node(undefined, {}), ['yes', 'yes', 'yes']],
    ['waiting', node(wanted('a'), {}), ['not yet', 'not yet', 'not yet']],
    ['trial', node(wanted('a'), { assigned: exact('a'), active: exact('a') }), ['yes', 'not yet', 'yes']],
    [
      'active, and its ConfigMap is gone',
      node(wanted('a'), { assigned: exact('a'), active: exact('a'), lastKnownGood: exact('a'), error: download }),
      ['yes', 'yes', 'not yet'],
    ],
    ['refused', node(wanted('a'), { assigned: exact('a'), error: refusal }), ['never', 'never', 'never']],
  ])('%s: active, lastKnownGood, ok', (_name, one, expected) => {
    expect((['active', 'lastKnownGood', 'ok'] as const).map((goal) => reaches(one, goal))).toEqual(expected);
  });
});
