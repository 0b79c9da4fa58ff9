/** State of a node as `relet describe` prints it. */
import { describe, expect, test } from 'vitest';
import { configuredNode } from '../../test/configured-node.js';
import { nodeState, stateSentence } from './state-text.js';

const nowMs = Date.parse('2026-03-01T12:00:00Z');
const configMap = { namespace: 'kube-system', name: 'new', kubeletConfigKey: 'kubelet' };

describe('the sentence about a node that does not run what it is assigned', () => {
  test('says until when the restart is delayed', () => {
    const node = configuredNode('node-1', {
      configSource: { configMap },
      restartDelayedUntil: '2026-03-01T12:00:32Z',
    });
    expect(stateSentence(node, nowMs)).toContain('the restart of its kubelet is delayed until 2026-03-01T12:00:32Z');
  });
});

describe('a node that rolled back', () => {
  const assigned = { configMap: { ...configMap, uid: 'u', resourceVersion: '1' } };
  const of = (error: string, reason = '') =>
    stateSentence(
      configuredNode('n', {
        configSource: { configMap },
        status: { assigned, error },
        condition: { status: 'False', reason, message: '', since: '2026-03-01T12:00:00Z' },
      }),
      nowMs,
    );

  test.each([
    [
      'by the reason of its condition',
      'rolled back: in other words',
      'NotHealthy',
      '(the kubelet was not healthy in time)',
    ],
    [
      'by the words of its error',
      'rolled back: the kubelet kept crashing with this config, see Kubelet log for details',
      'a sentence',
      '(the kubelet kept crashing)',
    ],
  ])('says why, %s', (_name, error, reason, why) => {
    expect(of(error, reason)).toContain(
      `kube-system/new/kubelet failed its trial ${why}; the node rolled back to its local config.`,
    );
  });

  test('in the words of an older relet does not guess why', () => {
    expect(of('rolled back in the words of another version, see Kubelet log for details')).toContain(
      'new/kubelet failed its trial; the node',
    );
  });
});

test('a config of a set that failed is corrected in the set, and on the node once it was taken from the set', () => {
  const claim = { set: 'gpu', revision: 'r', source: configMap, wave: 1, at: '', previous: undefined };
  const of = (name: string) =>
    stateSentence(
      configuredNode('n', {
        configSource: { configMap },
        status: {
          assigned: { configMap: { ...configMap, uid: 'u', resourceVersion: '1' } },
          error: 'rolled back: the kubelet kept crashing with this config, see Kubelet log for details',
        },
        claim: { ...claim, source: { ...configMap, name } },
      }),
      nowMs,
    );
  expect(of('new')).toContain(
    "Correct the config of the set gpu; 'relet rollout undo gpu' takes it back from all nodes that have it.",
  );
  expect(of('other')).toContain("Correct it with 'relet edit n'");
});

describe('a node that does not run yet what it is assigned', () => {
  const source = { configMap: { namespace: 'relet-system', name: 'b', kubeletConfigKey: 'kubelet' } };

  test('is not said to restart before it has accepted it', () => {
    const words = stateSentence(configuredNode('n', { configSource: source }), nowMs);
    expect(words).toContain('waiting for permission to read the ConfigMap');
    expect(words).not.toContain('restarting');
  });

  test('is restarting when it has accepted it', () => {
    const assigned = { configMap: { ...source.configMap, uid: 'u', resourceVersion: '1' } };
    const words = stateSentence(configuredNode('n', { configSource: source, status: { assigned } }), nowMs);
    expect(words).toContain('its kubelet is restarting');
  });
});

describe('a node of which nobody knows what it runs', () => {
  const lease = { renewTime: '2026-03-01T11:00:00Z', durationSeconds: 600 };

  test('says so, and not that it runs its local config', () => {
    const never = stateSentence(configuredNode('n', { reports: false }), nowMs);
    expect(never).toContain('No agent of relet has ever reported from it, so what its kubelet runs is not known.');
    const silent = stateSentence(configuredNode('n', { lease }), nowMs);
    expect(silent).toContain('Its agent has not reported for 60m');
    expect(silent).toContain('the last report was its local config.');
    for (const words of [never, silent]) expect(words).not.toContain('It runs');
  });

  test('with an assignment says that nothing changes on it, and how to take it back', () => {
    const words = stateSentence(configuredNode('n', { reports: false, configSource: { configMap } }), nowMs);
    expect(words).toContain('It is assigned kube-system/new/kubelet, and nothing changes on it until an agent runs.');
    expect(words).toContain("'relet reset n' takes the assignment back");
  });

  test('a node that relet has left on purpose is detached, however old its last report is', () => {
    const condition = { status: 'True', reason: 'Detached', message: '', since: '' };
    expect(nodeState(configuredNode('n', { lease, condition }), { nowMs })).toBe('detached');
  });
});

test('a config on trial that changes nothing on the node is said to be that', () => {
  const ref = (name: string, mergedDigest: string) => ({
    configMap: {
      namespace: 'relet-system',
      name,
      kubeletConfigKey: 'kubelet',
      uid: name,
      resourceVersion: '1',
      mergedDigest,
    },
  });
  const words = (merged: string) => {
    const active = ref('b', merged);
    const status = { assigned: active, active, lastKnownGood: ref('a', 'one') };
    return stateSentence(configuredNode('n', { configSource: active, status }), nowMs);
  };
  expect(words('one')).toContain(
    'The config changes nothing on this node: its kubelet ran with the same document before',
  );
  expect(words('two')).not.toContain('changes nothing');
});

test('a node whose report cannot be used has something to do, also when it runs what it is assigned', () => {
  const active = { configMap: { ...configMap, uid: 'u', resourceVersion: '1' } };
  const good = { configSource: { configMap }, status: { assigned: active, active, lastKnownGood: active } };
  const unusableReport = 'the report of its local config cannot be used: it is nested deeper than 7 levels';
  expect(stateSentence(configuredNode('n', good), nowMs)).toContain('There is nothing to do.');
  const words = stateSentence(configuredNode('n', { ...good, unusableReport }), nowMs);
  expect(words).toContain(
    'But the report of its local config cannot be used: it is nested deeper than 7 levels. No agent of relet writes such a status: find out what runs on that host.',
  );
  expect(words).not.toContain('nothing to do');
});
