/** The state of a node's config, from every combination that nodes report. */
import { describe, expect, test } from 'vitest';
import { faultReasons } from './condition-reasons.js';
import { configState, errorKind, sameReference, sourceName } from './config-state.js';
import { betaError, Fault, type FaultReason, faults } from './faults.js';
import type { NodeConfigSource, NodeConfigStatus } from './node-config-source.js';

const wanted = (name: string): NodeConfigSource => ({
  configMap: { namespace: 'kube-system', name, kubeletConfigKey: 'kubelet' },
});
const exact = (name: string, resourceVersion = '1'): NodeConfigSource => ({
  configMap: { ...wanted(name).configMap!, uid: `uid-${name}`, resourceVersion },
});
const refusal = 'failed to validate config, see Kubelet log for details';
const download = 'failed to sync: failed to download config, see Kubelet log for details';
const rollback = 'rolled back: the kubelet kept crashing with this config, see Kubelet log for details';

describe('the state of a node', () => {
  test.each<[string, NodeConfigSource | undefined, NodeConfigStatus | undefined, string]>([
    ['nothing asked, nothing reported', undefined, undefined, 'local'],
    ['nothing asked, local reported', undefined, {}, 'local'],
    ['asked, and nothing there reports', wanted('a'), undefined, 'waiting'],
    ['asked, the node has not taken it', wanted('a'), {}, 'waiting'],
    [
      'asked for another, the node still has the first',
      wanted('b'),
      { assigned: exact('a'), active: exact('a') },
      'waiting',
    ],
    ['taken, the kubelet restarts', wanted('a'), { assigned: exact('a') }, 'waiting'],
    ['runs, not proven', wanted('a'), { assigned: exact('a'), active: exact('a') }, 'trial'],
    ['runs, proven', wanted('a'), { assigned: exact('a'), active: exact('a'), lastKnownGood: exact('a') }, 'active'],
    [
      'edited in place, the old version is the way back',
      wanted('a'),
      { assigned: exact('a', '2'), active: exact('a', '2'), lastKnownGood: exact('a', '1') },
      'trial',
    ],
    ['judged and refused', wanted('a'), { assigned: exact('a'), error: refusal }, 'refused'],
    ['tried and rolled back', wanted('a'), { assigned: exact('a'), error: rollback }, 'rolled back'],
    [
      'rolled back, in the words of an older relet',
      wanted('a'),
      {
        assigned: exact('a'),
        error: 'rolled back a config under which the kubelet kept dying, see Kubelet log for details',
      },
      'rolled back',
    ],
    ['an old refusal, and another asked for', wanted('b'), { assigned: exact('a'), error: refusal }, 'waiting'],
    ['cannot be downloaded', wanted('a'), { error: download }, 'waiting'],
    [
      'runs, and its ConfigMap cannot be read any more',
      wanted('a'),
      { assigned: exact('a'), active: exact('a'), lastKnownGood: exact('a'), error: download },
      'active',
    ],
    ['reset, the node has not heard', undefined, { assigned: exact('a'), active: exact('a') }, 'waiting'],
    ['reset, the kubelet restarts', undefined, { active: exact('a') }, 'waiting'],
    ['reset, and the local config is refused', undefined, { active: exact('a'), error: refusal }, 'refused'],
  ])('%s', (_name, configSource, status, state) => {
    expect(configState({ configSource, status })).toBe(state);
  });

  test("the alpha's reference is met by uid", () => {
    const alpha = { configMapRef: { namespace: 'kube-system', name: 'a', uid: 'uid-a' } };
    expect(configState({ configSource: alpha, status: { assigned: exact('a'), active: exact('a') } })).toBe('trial');
    const other = { configMapRef: { ...alpha.configMapRef, uid: 'uid-b' } };
    expect(sameReference(sourceName(other), sourceName(exact('a')))).toBe(false);
  });
});

describe('the words of a status', () => {
  test('every fault of the list is told apart', () => {
    const kinds = Object.keys(faults).map((reason) => errorKind(betaError(new Fault(reason as FaultReason, 'x'))));
    expect(Object.fromEntries(Object.keys(faults).map((reason, at) => [reason, kinds[at]]))).toMatchObject({
      load: 'refused',
      validate: 'refused',
      forecast: 'refused',
      guard: 'refused',
      policy: 'refused',
      'crash-loop': 'rolled back',
      unhealthy: 'rolled back',
      'no-api': 'rolled back',
      crashing: 'crashing',
      download: 'sync',
      'all-nil': 'sync',
    });
  });

  test('its reason is believed before its words, and means the same', () => {
    for (const [fault, { reason }] of Object.entries(faultReasons)) {
      const words = betaError(new Fault(fault as FaultReason, 'x'));
      expect(errorKind('words of a version to come', reason), fault).toBe(errorKind(words));
      // A Node, or an older relet, has a sentence there.
      expect(errorKind(words, `current failed ${fault}`), fault).toBe(errorKind(words));
    }
  });

  test('the state of a node follows from the reason', () => {
    const status = { error: 'words of a version to come' };
    expect(configState({ status, condition: { reason: 'CrashLoop' } })).toBe('rolled back');
    expect(configState({ status, condition: { reason: 'ValidationFailed' } })).toBe('refused');
    expect(configState({ status, condition: { reason: 'DownloadFailed' } })).toBe('local');
  });
});
