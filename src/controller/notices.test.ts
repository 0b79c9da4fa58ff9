/** Which notice the status of a set calls for, and whether it is sent. */
import { describe, expect, test } from 'vitest';
import type { NodeConfigSetStatus } from '../api/node-config-set.js';
import { isDue, noticeOf } from './notices.js';

const at = '2026-11-18T10:00:00Z';
const types = ['Ready', 'Reconciling', 'Stalled'] as const;

function set(type: (typeof types)[number], reason: string, more: NodeConfigSetStatus = {}, since = at) {
  const conditions = types.map((one) => ({
    ...{ type: one, reason, message: 'A sentence.', lastTransitionTime: since },
    status: one === type ? ('True' as const) : ('False' as const),
  }));
  const status = { updateRevision: 'r2', selectedNodes: 5, updatedNodes: 2, failedNodes: 1, conditions, ...more };
  return { metadata: { name: 'gpu', uid: 'u' }, status };
}

describe('the notice of a set', () => {
  test.each([
    ['Ready', 'RolloutComplete', 'Complete'],
    ['Ready', 'NoNodesSelected', undefined],
    ['Reconciling', 'RollingOut', undefined],
    ['Reconciling', 'Paused', undefined],
    ['Reconciling', 'RollingBack', undefined],
    ['Reconciling', 'AwaitingApproval', 'AwaitingApproval'],
    ['Stalled', 'Halted', 'Halted'],
    ['Stalled', 'InvalidConfig', 'Halted'],
    ['Stalled', 'Aborted', 'Halted'],
    ['Stalled', 'Undone', 'Undone'],
    ['Stalled', 'RolledBack', 'Undone'],
    ['Stalled', 'Expired', 'Undone'],
  ] as const)('%s with reason %s: %s', (type, reason, event) => expect(noticeOf(set(type, reason))?.event).toBe(event));

  test('has the set, the revision, the reason, the sentence, the nodes that failed, and the time', () => {
    const failed = { allowed: 0, used: 1, nodes: ['node-3'] };
    expect(noticeOf(set('Stalled', 'Halted', { failed }))).toEqual({
      apiVersion: 'relet.dev/v1alpha1',
      kind: 'RolloutNotice',
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      event: 'Halted',
      set: 'gpu',
      revision: 'r2',
      reason: 'Halted',
      message: 'A sentence.',
      nodes: ['node-3'],
      counts: { selected: 5, updated: 2, failed: 1, excluded: 0 },
      time: at,
    });
  });

  test('of an approval names the wave, what it waits for, and since when', () => {
    const wave = { nodes: 1, assigned: 1, updated: 1, failed: 0 };
    const waves = [
      { ...wave, wave: 1, state: 'Done' as const, endedAt: at },
      { ...wave, wave: 2, state: 'AwaitingApproval' as const, endedAt: '2026-11-18T11:00:00Z' },
    ];
    const waiting = "wave 2 waits for approval: 'relet rollout approve gpu'";
    expect(noticeOf(set('Reconciling', 'AwaitingApproval', { waves, waiting }))).toMatchObject({
      wave: 2,
      message: waiting,
      time: '2026-11-18T11:00:00Z',
    });
  });

  test('has another id for each transition, and the same for what only counts on', () => {
    const halted = noticeOf(set('Stalled', 'Halted'))!.id;
    expect(noticeOf(set('Stalled', 'Halted', { failedNodes: 3, waiting: 'else' }))!.id).toBe(halted);
    const others = [
      set('Stalled', 'Halted', {}, '2026-11-18T12:00:00Z'),
      set('Stalled', 'Halted', { updateRevision: 'r3' }),
      set('Stalled', 'Undrainable'),
    ].map((one) => noticeOf(one)!.id);
    expect(new Set([halted, ...others]).size).toBe(4);
  });
});

test.each([
  ['it was delivered', 'same', 0, false],
  ['another one was delivered', 'other', 86_400_000, true],
  ['none was ever delivered, and it is news', undefined, 60_000, true],
  ['none was ever delivered, and it is old', undefined, 86_400_000, false],
] as const)('%s: whether it is sent', (_name, notified, ageMs, isSent) => {
  const notice = noticeOf(set('Ready', 'RolloutComplete'))!;
  const last = notified === 'same' ? notice.id : notified;
  expect(isDue(notice, last, Date.parse(at) + ageMs)).toBe(isSent);
});
