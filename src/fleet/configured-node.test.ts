/** The state of a node's config, from every combination that nodes report. */
import { describe, expect, test } from 'vitest';
import { type ConfigErrorReason, configErrors } from '../api/config-error.js';
import { type NodeConfigSource, type NodeConfigStatus, refOf, sameConfig } from '../api/config-ref.js';
import { betaError } from '../api/upstream-words.js';
import { configState, errorOutcome, errorReason } from './configured-node.js';

const wanted = (name: string): NodeConfigSource => ({
  configMap: { namespace: 'kube-system', name, kubeletConfigKey: 'kubelet' },
});
const exact = (name: string, resourceVersion = '1'): NodeConfigSource => ({
  configMap: { ...wanted(name).configMap!, uid: `uid-${name}`, resourceVersion },
});
const rejection = 'failed to validate config, see Kubelet log for details';
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
      'edited in place, the old version is the last known good',
      wanted('a'),
      { assigned: exact('a', '2'), active: exact('a', '2'), lastKnownGood: exact('a', '1') },
      'trial',
    ],
    ['validated and rejected', wanted('a'), { assigned: exact('a'), error: rejection }, 'rejected'],
    ['tried and rolled back', wanted('a'), { assigned: exact('a'), error: rollback }, 'rolled back'],
    [
      'rolled back, in the words of an older relet',
      wanted('a'),
      {
        assigned: exact('a'),
        error: 'rolled back in the words of another version, see Kubelet log for details',
      },
      'rolled back',
    ],
    ['an old rejection, and another asked for', wanted('b'), { assigned: exact('a'), error: rejection }, 'waiting'],
    ['cannot be downloaded', wanted('a'), { error: download }, 'waiting'],
    [
      'runs, and its ConfigMap cannot be read any more',
      wanted('a'),
      { assigned: exact('a'), active: exact('a'), lastKnownGood: exact('a'), error: download },
      'active',
    ],
    ['reset, the node has not received it', undefined, { assigned: exact('a'), active: exact('a') }, 'waiting'],
    ['reset, the kubelet restarts', undefined, { active: exact('a') }, 'waiting'],
    ['reset, and the local config is refused', undefined, { active: exact('a'), error: rejection }, 'rejected'],
  ])('%s', (_name, configSource, status, state) => {
    expect(configState({ configSource, status })).toBe(state);
  });

  test('a reference of DKC alpha is compared by uid', () => {
    const alpha = { configMapRef: { namespace: 'kube-system', name: 'a', uid: 'uid-a' } };
    expect(configState({ configSource: alpha, status: { assigned: exact('a'), active: exact('a') } })).toBe('trial');
    const other = { configMapRef: { ...alpha.configMapRef, uid: 'uid-b' } };
    expect(sameConfig(refOf(other), refOf(exact('a')), 'name')).toBe(false);
  });
});

describe('the error of a status', () => {
  const reasons = Object.keys(configErrors) as ConfigErrorReason[];

  test.each(reasons)('%s has the same outcome by its reason and by the words of a Node', (reason) => {
    const words = betaError({ reason, about: {} });
    const { outcome } = configErrors[reason];
    expect(errorOutcome('words of a later version', { reason })).toBe(outcome);
    expect(errorOutcome(words, { reason: 'a sentence, as on a Node' })).toBe(outcome);
    expect([reason, undefined]).toContain(errorReason(words));
  });

  test('unknown words of a Node count as a rejection, unless their beginning shows otherwise', () => {
    expect(errorOutcome('words of a later version')).toBe('rejected');
    expect(errorOutcome('failed to sync: words of a later version')).toBe('not followed');
    expect(errorOutcome('rolled back a config, in the words of an earlier version')).toBe('rolled back');
  });

  test('the state of a node follows from the reason', () => {
    const status = { error: 'words of a version to come' };
    expect(configState({ status, condition: { reason: 'CrashLoop' } })).toBe('rolled back');
    expect(configState({ status, condition: { reason: 'ValidationFailed' } })).toBe('rejected');
    expect(configState({ status, condition: { reason: 'DownloadFailed' } })).toBe('local');
  });
});
