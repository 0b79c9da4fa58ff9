/** The action of the garbage collector, by the state of owners and dependents. */
import { describe, expect, test } from 'vitest';
import type { KubeObject, ObjectMeta } from '../../api/object.js';
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
    ['keeps an object without owners', {}, {}, {}, { kind: 'keep' }],
    ['keeps an object whose owner exists', { a: 'there' }, {}, {}, { kind: 'keep' }],
    [
      'drops the reference to a deleted owner while another exists',
      { a: 'gone', b: 'there' },
      {},
      {},
      { kind: 'forget-owners', uids: ['a'] },
    ],
    [
      'drops the reference to an owner in foreground deletion while another exists',
      { a: 'waiting', b: 'there' },
      {},
      {},
      { kind: 'forget-owners', uids: ['a'] },
    ],
    [
      'deletes an object whose owners are all deleted',
      { a: 'gone', b: 'gone' },
      {},
      {},
      { kind: 'delete', policy: 'Background', unblock: false },
    ],
    ['does nothing while the kind of one owner is unknown', { a: 'gone', b: 'unknown' }, {}, {}, { kind: 'keep' }],
    [
      'uses the policy of the object for its own dependents',
      { a: 'gone' },
      { finalizers: ['orphan'] },
      {},
      { kind: 'delete', policy: 'Orphan', unblock: false },
    ],
    [
      'deletes an object that its owner waits for',
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
      'breaks a cycle of owners that wait for each other',
      { a: 'waiting' },
      {},
      { hasDependents: true, hasLeavingDependents: true },
      { kind: 'delete', policy: 'Foreground', unblock: true },
    ],
    [
      'removes the owner from dependents in orphan deletion',
      {},
      { ...leaving, finalizers: ['orphan'] },
      { hasDependents: true },
      { kind: 'free-dependents' },
    ],
    [
      'removes the finalizer when there are no dependents',
      {},
      { ...leaving, finalizers: ['orphan'] },
      {},
      { kind: 'let-go', finalizer: 'orphan' },
    ],
    [
      'waits for blocking dependents in foreground deletion',
      {},
      { ...leaving, finalizers: ['foregroundDeletion'] },
      { hasDependents: true, hasBlockingDependents: true },
      { kind: 'wait-for-dependents' },
    ],
    [
      'does not wait for dependents that do not block',
      {},
      { ...leaving, finalizers: ['foregroundDeletion'] },
      { hasDependents: true },
      { kind: 'let-go', finalizer: 'foregroundDeletion' },
    ],
    ['keeps finalizers of others', { a: 'gone' }, { ...leaving, finalizers: ['other/one'] }, {}, { kind: 'keep' }],
  ])('%s', (_name, states, metadata, around, action) => {
    expect(decide(owned(states, metadata), { ...alone, ...around, ownerState: (uid) => states[uid]! })).toEqual(action);
  });
});
