/** What `relet describe` says about the state of a node. */
import { describe, expect, test } from 'vitest';
import { configuredNode } from '../../../test/configured-node.js';
import { stateSentence } from './state-sentence.js';

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
