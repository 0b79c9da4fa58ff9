/** The history of a set on a terminal: how each revision ended, who did what and why, and where it failed. */
import { expect, test } from 'vitest';
import type { NodeConfigSet, NodeConfigSetStatus } from '../../api/node-config-set.js';
import { historyText } from './history.js';

const nowMs = Date.parse('2026-03-01T10:30:00Z');
const set = (status: NodeConfigSetStatus): NodeConfigSet => ({
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: { name: 'gpu' },
  spec: { selector: {}, config: {} },
  status,
});
const revision = (name: string) => ({ revision: name, source: 'n/c/k', startedAt: '2026-03-01T10:00:00Z' });

test('a revision that failed and was replaced shows on which node, and each step its person and reason', () => {
  const status: NodeConfigSetStatus = {
    updateRevision: 'new',
    revisions: [
      { ...revision('new'), outcome: 'Aborted', summary: 'sets maxPods: 20' },
      { ...revision('old'), outcome: 'Superseded', failedNodes: ['node-1', 'node-2'] },
    ],
    steps: [
      { at: '2026-03-01T10:25:00Z', step: 'Aborted', revision: 'new', by: 'ann', verified: true, why: 'wrong value' },
      { at: '2026-03-01T10:20:00Z', step: 'Approved', revision: 'new', wave: 1, by: 'bob' },
      {
        at: '2026-03-01T10:10:00Z',
        step: 'Failed',
        revision: 'old',
        node: 'node-1',
        reason: 'CrashLoop',
        message: 'it crashed',
      },
    ],
  };
  expect(historyText(set(status), nowMs, { width: undefined })).toBe(
    [
      'REVISION   STARTED   TOOK     OUTCOME                                   CHANGE',
      'new        30m       <none>   Aborted                                   sets maxPods: 20',
      'old        30m       <none>   Superseded, failed on node-1 and 1 more   <none>',
      '',
      'AGE   STEP       REVISION   OF       BY                 WHY',
      '5m    Aborted    new        <none>   ann                wrong value',
      '10m   Approved   new        wave 1   bob (unverified)   <none>',
      '20m   Failed     old        node-1   <none>             CrashLoop: it crashed',
    ].join('\n'),
  );
});

test('the history of an earlier relet has no steps, and is shown', () => {
  const text = historyText(set({ revisions: [{ ...revision('old'), outcome: 'Complete' }] }), nowMs, { width: 80 });
  expect(text.split('\n')).toHaveLength(2);
});
