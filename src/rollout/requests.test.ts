/** Requests to a rollout, and when one would do nothing. */
import { expect, test } from 'vitest';
import type { NodeConfigSet, NodeConfigSetStatus, RolloutAction } from '../api/node-config-set.js';
import { approvalFor, gitOwner, requestedRevision } from './requests.js';

const underWay: NodeConfigSetStatus = {
  updateRevision: 'new',
  currentRevision: 'old',
  waves: [
    { wave: 1, nodes: 1, assigned: 1, updated: 1, failed: 0, state: 'AwaitingApproval' },
    { wave: 2, nodes: 5, assigned: 0, updated: 0, failed: 0, state: 'Pending' },
  ],
};
const expiring: NodeConfigSetStatus = {
  ...underWay,
  revisions: [{ revision: 'new', source: 'n/c/k', startedAt: '2026-01-01T00:00:00Z', outcome: 'Complete' }],
};
const withoutApproval: NodeConfigSetStatus = {
  ...underWay,
  waves: underWay.waves!.map((wave) => ({ ...wave, state: wave.wave === 1 ? 'Done' : 'Rolling' })),
};
const set = (status: NodeConfigSetStatus = underWay, metadata: object = {}): NodeConfigSet => ({
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: { name: 'gpu', ...metadata },
  spec: { selector: {}, config: {} },
  status,
});

test.each([
  ['the wave that waits, without words', {}, { wave: 1, isApproved: false }],
  ['a wave beforehand', { wave: 2 }, { wave: 2, isApproved: false }],
  ['all waves', { full: true }, { wave: 2, isApproved: false }],
])('approve names %s, and the revision', (_name, options, expected) => {
  expect(approvalFor(set(), options)).toEqual({ revision: 'new', ...expected });
});

test('an approval is never taken back by a smaller one', () => {
  const approved = { ...underWay, rollout: { approve: { revision: 'new', wave: 2 } } };
  expect(approvalFor(set(approved), { wave: 1 })).toEqual({ revision: 'new', wave: 2, isApproved: true });
  const ofAnother = { ...underWay, rollout: { approve: { revision: 'old', wave: 2 } } };
  expect(approvalFor(set(ofAnother), { wave: 1 })).toMatchObject({ wave: 1, isApproved: false });
});

test.each([
  ['a revision that is no longer rolled out', underWay, { revision: 'old' }, 'rolls out revision new, not old'],
  ['a wave that there is not', underWay, { wave: 7 }, 'gpu has 2 waves; there is no wave 7'],
  ['nothing that waits', { ...underWay, waves: [] }, {}, 'no wave of gpu waits for approval'],
  ['a set that has not started', {}, {}, 'gpu has not started to roll out'],
  ['a complete revision', { ...underWay, currentRevision: 'new' }, { wave: 1 }, 'revision new of gpu is complete'],
  ['a complete one that expires', expiring, { full: true }, 'is complete; there is nothing to approve'],
  ['an aborted revision', { ...underWay, rejectedRevision: 'new' }, { wave: 1 }, "before 'relet rollout retry gpu'"],
  ['a wave that is done', withoutApproval, { wave: 1 }, 'wave 1 of gpu is done without an approval'],
])('approve refuses %s', (_name, status, options, message) => {
  expect(() => approvalFor(set(status), options)).toThrow(message);
});

const rejected = { ...underWay, rejectedRevision: 'new' };
const complete = { ...underWay, currentRevision: 'new' };

test.each<[RolloutAction, NodeConfigSetStatus, string]>([
  ['Abort', rejected, 'revision new of gpu is stopped already'],
  ['Abort', complete, "'relet rollout undo gpu' takes it back from all nodes"],
  ['Retry', underWay, 'there is nothing to retry'],
  ['Undo', {}, 'there is nothing to undo'],
  ['Undo', rejected, 'no node has revision new of gpu any more; there is nothing to undo'],
])('%s that would do nothing is refused, with the reason', (action, status, message) => {
  expect(() => requestedRevision(set(status), action)).toThrow(message);
});

test.each<RolloutAction>(['Abort', 'Retry', 'Undo'])(
  '%s of another revision than the one at hand is refused',
  (action) => {
    const failed = { ...underWay, failedNodes: 1 };
    expect(requestedRevision(set(failed), action, 'new')).toBe('new');
    expect(() => requestedRevision(set(failed), action, 'old')).toThrow(
      `gpu rolls out revision new, not old, so nothing was changed; look at it with 'relet rollout status gpu' before you ${action.toLowerCase()} it`,
    );
  },
);

test.each<[RolloutAction, NodeConfigSetStatus]>([
  ['Abort', underWay],
  ['Undo', underWay],
  ['Undo', complete],
  ['Undo', { ...rejected, updatedNodes: 1 }],
  ['Undo', { ...rejected, failedNodes: 1 }],
  ['Undo', { ...rejected, rollingBack: true }],
  ['Retry', rejected],
  ['Retry', { ...underWay, failedNodes: 1 }],
])('%s is asked for the revision at hand', (action, status) => {
  expect(requestedRevision(set(status), action)).toBe('new');
});

test.each([
  [{}, undefined],
  [{ labels: { 'kustomize.toolkit.fluxcd.io/name': 'nodes' } }, 'Flux (Kustomization nodes)'],
  [{ labels: { 'helm.toolkit.fluxcd.io/name': 'nodes' } }, 'Flux (HelmRelease nodes)'],
  [{ labels: { 'argocd.argoproj.io/instance': 'nodes' } }, 'Argo CD (Application nodes)'],
  [
    { annotations: { 'argocd.argoproj.io/tracking-id': 'nodes:relet.dev/NodeConfigSet:/gpu' } },
    'Argo CD (Application nodes)',
  ],
])('the marks %j show who applies the set from Git: %s', (metadata, owner) => {
  expect(gitOwner(set(underWay, metadata))).toBe(owner);
});
