/** How far a node is with a change, and what can still be waited for. */
import { describe, expect, test } from 'vitest';
import type { NodeConfigSource, NodeConfigStatus } from '../api/config-ref.js';
import { type Assignment, changeProgress, progressText, reaches } from './change-progress.js';
import type { ConfiguredNode } from './configured-node.js';

const wanted = (name: string): NodeConfigSource => ({
  configMap: { namespace: 'relet-system', name, kubeletConfigKey: 'kubelet' },
});
const exact = (name: string): NodeConfigSource => ({
  configMap: { ...wanted(name).configMap!, uid: `uid-${name}`, resourceVersion: '1' },
});
const refusal = 'failed to validate config, see Kubelet log for details';
const rollback = 'rolled back: the kubelet kept crashing with this config, see Kubelet log for details';
const download = 'failed to sync: failed to download config, see Kubelet log for details';

function node(configSource: NodeConfigSource | undefined, status: NodeConfigStatus, ready = 'True'): ConfiguredNode {
  return { name: 'n', configSource, status, ready, reports: true } as ConfiguredNode;
}

const writtenAs = (change: Partial<Assignment['written']> = {}): Assignment['written'] => ({
  status: {},
  ready: 'True',
  ...change,
  generation: change.generation,
});

describe('a change to b, asked of a node that ran a', () => {
  const written = writtenAs({ status: { assigned: exact('a'), active: exact('a') } });
  const progress = (status: NodeConfigStatus, ready = 'True') =>
    changeProgress(node(wanted('b'), status, ready), { to: wanted('b'), written });

  test.each<[string, NodeConfigStatus, object]>([
    ['not received yet', { assigned: exact('a'), active: exact('a') }, { kind: 'assigned' }],
    ['accepted', { assigned: exact('b'), active: exact('a') }, { kind: 'accepted' }],
    [
      'active, on trial',
      { assigned: exact('b'), active: exact('b') },
      { kind: 'active', ready: true, trialPassed: false },
    ],
    [
      'active and proven',
      { assigned: exact('b'), active: exact('b'), lastKnownGood: exact('b') },
      { kind: 'active', ready: true, trialPassed: true },
    ],
    ['rejected', { assigned: exact('b'), active: exact('a'), error: refusal }, { kind: 'rejected', error: refusal }],
    ['rolled back', { assigned: exact('b'), error: rollback }, { kind: 'rolled back', error: rollback }],
    ['an error about a', { assigned: exact('a'), error: refusal }, { kind: 'assigned', error: refusal }],
    [
      'an error in following, of a Node, which does not say about which reference',
      { assigned: exact('a'), error: download },
      { kind: 'cannot follow', error: download, uncertain: true },
    ],
  ])('%s', (_name, status, expected) => {
    expect(progress(status)).toEqual(expected);
  });

  test('a Node that was Ready is waited for until it is again', () => {
    const status = { assigned: exact('b'), active: exact('b') };
    expect(progress(status, 'False')).toMatchObject({ kind: 'active', ready: false });
    const neverReady = { to: wanted('b'), written: writtenAs({ ready: 'False' }) };
    expect(changeProgress(node(wanted('b'), status, 'False'), neverReady)).toMatchObject({ ready: true });
  });

  test('another hand on the reference is seen', () => {
    expect(changeProgress(node(wanted('c'), {}), { to: wanted('b'), written })).toEqual({ kind: 'changed' });
  });

  test('a reset is active when nothing is', () => {
    const wish = { to: undefined, written };
    expect(changeProgress(node(undefined, { active: exact('a') }), wish)).toEqual({ kind: 'accepted' });
    expect(changeProgress(node(undefined, {}), wish)).toEqual({ kind: 'active', ready: true, trialPassed: true });
  });
});

describe('an error counts only if it is about the reference that was written', () => {
  const runsA = { assigned: exact('a'), active: exact('a'), lastKnownGood: exact('a') };
  const generations = ['the generation before', 'the generation written', 'no generation'] as const;
  const observed = { 'the generation before': 6, 'the generation written': 7, 'no generation': undefined };

  test.each<[string, NodeConfigStatus, (typeof generations)[number], object]>([
    ['cannot follow', { ...runsA, error: download }, 'the generation before', { kind: 'assigned', error: download }],
    [
      'cannot follow',
      { ...runsA, error: download },
      'the generation written',
      { kind: 'cannot follow', error: download },
    ],
    [
      'cannot follow',
      { ...runsA, error: download },
      'no generation',
      { kind: 'cannot follow', error: download, uncertain: true },
    ],
    ['rejected', { ...runsA, error: refusal }, 'the generation before', { kind: 'assigned', error: refusal }],
    ['rejected', { ...runsA, error: refusal }, 'the generation written', { kind: 'rejected', error: refusal }],
    ['rejected', { ...runsA, error: refusal }, 'no generation', { kind: 'rejected', error: refusal, uncertain: true }],
    ['no error', runsA, 'the generation before', { kind: 'assigned' }],
    ['no error', runsA, 'the generation written', { kind: 'active', ready: true, trialPassed: true }],
    ['no error', runsA, 'no generation', { kind: 'active', ready: true, trialPassed: true }],
  ])('back to a, which is assigned all the time: %s with %s', (_name, status, which, expected) => {
    const wish = { to: wanted('a'), written: writtenAs({ generation: 7, status: runsA }) };
    const now = { ...node(wanted('a'), status), generation: 7, observedGeneration: observed[which] };
    expect(changeProgress(now, wish)).toEqual(expected);
  });
});

describe('the line about a node that is waited for', () => {
  const waiting = 'waiting for the node to accept it';

  test.each<[string, string | undefined, string]>([
    ['names no failure of the config before', refusal, waiting],
    ['names an error that keeps the node from following', download, `${waiting} (it reports: ${download})`],
  ])('%s', (_name, error, text) => {
    expect(progressText({ kind: 'assigned', ...(error && { error }) }, node(wanted('a'), {}))).toBe(text);
  });

  test('names the time of a delayed restart', () => {
    const delayed = { ...node(wanted('a'), {}), restartDelayedUntil: '2026-03-01T14:01:31Z' };
    expect(progressText({ kind: 'assigned' }, delayed)).toBe(
      'restart delayed until 14:01:31 UTC (its config changed several times in a short time)',
    );
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
    ['rejected', node(wanted('a'), { assigned: exact('a'), error: refusal }), ['never', 'never', 'never']],
    ['without an agent', { ...node(undefined, {}), reports: false }, ['not yet', 'not yet', 'not yet']],
  ])('%s: active, lastKnownGood, ok', (_name, one, expected) => {
    expect((['active', 'lastKnownGood', 'ok'] as const).map((goal) => reaches(one, goal, 0))).toEqual(expected);
  });
});
