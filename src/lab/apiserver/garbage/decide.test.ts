/** The action of the garbage collector, by the state of owners and dependents. */
import { describe, expect, test } from 'vitest';
import type { KubeObject, ObjectMeta } from '../../../api/object.js';
import { type Action, decide, type OwnerState, type Surroundings } from './decide.js';

const owned = (states: Record<string, OwnerState>, metadata: Partial<ObjectMeta> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'x',
    ownerReferences: Object.keys(states).map((uid) => ({ apiVersion: 'v1', kind: 'Node', name: uid, uid })),
    ...metadata,
  },
});
const alone = { hasDependents: false, hasBlockingDependents: false, hasLeavingDependents: false };
const leaving = { deletionTimestamp: '2024-01-01T00:00:00Z' };

describe('the garbage collector', () => {
  test.each<[string, Record<string, OwnerState>, Partial<ObjectMeta>, Partial<Surroundings>, Action]>([
    ['keeps what has no owner', {}, {}, {}, { kind: 'keep' }],
    ['keeps what has its owner', { a: 'there' }, {}, {}, { kind: 'keep' }],
    [
      'forgets an owner that is gone while another is there',
      { a: 'gone', b: 'there' },
      {},
      {},
      { kind: 'forget-owners', uids: ['a'] },
    ],
    [
      'forgets an owner that waits while another is there',
      { a: 'waiting', b: 'there' },
      {},
      {},
      { kind: 'forget-owners', uids: ['a'] },
    ],
    [
      'deletes what lost all owners',
      { a: 'gone', b: 'gone' },
      {},
      {},
      { kind: 'delete', policy: 'Background', unblock: false },
    ],
    ['touches nothing while one owner is of a kind not known', { a: 'gone', b: 'unknown' }, {}, {}, { kind: 'keep' }],
    [
      'keeps to what the object says of its own dependents',
      { a: 'gone' },
      { finalizers: ['orphan'] },
      {},
      { kind: 'delete', policy: 'Orphan', unblock: false },
    ],
    [
      'deletes what an owner waits for',
      { a: 'waiting' },
      {},
      {},
      { kind: 'delete', policy: 'Background', unblock: false },
    ],
    [
      'deletes in the foreground where there are more dependents',
      { a: 'waiting' },
      {},
      { hasDependents: true },
      { kind: 'delete', policy: 'Foreground', unblock: false },
    ],
    [
      'breaks a circle of owners that wait for each other',
      { a: 'waiting' },
      {},
      { hasDependents: true, hasLeavingDependents: true },
      { kind: 'delete', policy: 'Foreground', unblock: true },
    ],
    [
      'frees dependents of what goes as an orphan',
      {},
      { ...leaving, finalizers: ['orphan'] },
      { hasDependents: true },
      { kind: 'free-dependents' },
    ],
    [
      'lets it go when there are none',
      {},
      { ...leaving, finalizers: ['orphan'] },
      {},
      { kind: 'let-go', finalizer: 'orphan' },
    ],
    [
      'waits in the foreground for who blocks',
      {},
      { ...leaving, finalizers: ['foregroundDeletion'] },
      { hasDependents: true, hasBlockingDependents: true },
      { kind: 'wait-for-dependents' },
    ],
    [
      'does not wait for who does not',
      {},
      { ...leaving, finalizers: ['foregroundDeletion'] },
      { hasDependents: true },
      { kind: 'let-go', finalizer: 'foregroundDeletion' },
    ],
    [
      'leaves finalizers of others alone',
      { a: 'gone' },
      { ...leaving, finalizers: ['other/one'] },
      {},
      { kind: 'keep' },
    ],
  ])('%s', (_name, states, metadata, around, action) => {
    expect(decide(owned(states, metadata), { ...alone, ...around, ownerState: (uid) => states[uid]! })).toEqual(action);
  });
});
