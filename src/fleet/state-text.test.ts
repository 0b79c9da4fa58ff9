/** What `relet describe` says about the state of a node. */
import { describe, expect, test } from 'vitest';
import { configuredNode } from '../../test/configured-node.js';
import { stateSentence } from './state-text.js';

const configMap = { namespace: 'kube-system', name: 'new', kubeletConfigKey: 'kubelet' };

describe('the sentence about a node that does not run what it is assigned', () => {
  test('says until when the restart is delayed', () => {
    const node = configuredNode('node-1', {
      configSource: { configMap },
      restartDelayedUntil: '2026-03-01T12:00:32Z',
    });
    expect(stateSentence(node)).toContain('the restart of its kubelet is delayed until 2026-03-01T12:00:32Z');
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
  const claim = { set: 'gpu', revision: 'r', source: 'kube-system/new/kubelet', wave: 1, at: '', previous: 'local' };
  const of = (source: string) =>
    stateSentence(
      configuredNode('n', {
        configSource: { configMap },
        status: {
          assigned: { configMap: { ...configMap, uid: 'u', resourceVersion: '1' } },
          error: 'rolled back: the kubelet kept crashing with this config, see Kubelet log for details',
        },
        claim: { ...claim, source },
      }),
    );
  expect(of('kube-system/new/kubelet')).toContain(
    "Correct the config of the set gpu; 'relet rollout undo gpu' takes it back from all nodes that have it.",
  );
  expect(of('kube-system/other/kubelet')).toContain("Correct it with 'relet edit n'");
});

describe('a node that does not run yet what it is assigned', () => {
  const source = { configMap: { namespace: 'relet-system', name: 'b', kubeletConfigKey: 'kubelet' } };

  test('is not said to restart before it has accepted it', () => {
    const words = stateSentence(configuredNode('n', { configSource: source }));
    expect(words).toContain('waiting for permission to read the ConfigMap');
    expect(words).not.toContain('restarting');
  });

  test('is restarting when it has accepted it', () => {
    const assigned = { configMap: { ...source.configMap, uid: 'u', resourceVersion: '1' } };
    const words = stateSentence(configuredNode('n', { configSource: source, status: { assigned } }));
    expect(words).toContain('its kubelet is restarting');
  });
});
