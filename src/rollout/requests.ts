/**
 * Validates requests of a person to a rollout (approve, abort, retry, undo): whether they would do anything. For the commands, and for
 * the dashboard's buttons that run them. Pure.
 */
import type { NodeConfigSet, NodeConfigSetStatus, RolloutAction, WaveStatus } from '../api/node-config-set.js';
import { CannotRun } from '../cannot-run.js';

export interface ApprovalAsked {
  wave?: number;
  revision?: string;
  /** All waves. */
  full?: boolean;
}

/** The wave and revision to approve. Throws if there is nothing to approve, or if it is not what the person has seen. */
export function approvalFor(
  { metadata: { name }, status = {} }: NodeConfigSet,
  { wave, revision, full }: ApprovalAsked,
): { revision: string; wave: number; isApproved: boolean } {
  const { updateRevision, rejectedRevision, waves = [], rollout } = status;
  if (updateRevision === undefined)
    throw new CannotRun(`${name} has not started to roll out; there is nothing to approve`);
  refuseOther(name, updateRevision, revision, 'approve');
  if (rejectedRevision === updateRevision)
    throw new CannotRun(
      `revision ${updateRevision} of ${name} is stopped; there is nothing to approve before 'relet rollout retry ${name}'`,
    );
  if (isCompleted(status))
    throw new CannotRun(`revision ${updateRevision} of ${name} is complete; there is nothing to approve`);
  const asked = full ? waves.at(-1)?.wave : (wave ?? waves.find(isWaiting)?.wave);
  if (asked === undefined)
    throw new CannotRun(`no wave of ${name} waits for approval; --wave N approves one beforehand`);
  if (waves.length > 0 && asked > waves.length)
    throw new CannotRun(`${name} has ${waves.length} waves; there is no wave ${asked}`);
  const approved = rollout?.approve?.revision === updateRevision ? rollout.approve.wave : 0;
  if (approved < asked && waves.some((one) => one.wave === asked && one.state === 'Done'))
    throw new CannotRun(`wave ${asked} of ${name} is done without an approval; there is nothing to approve`);
  return { revision: updateRevision, wave: Math.max(asked, approved), isApproved: approved >= asked };
}

/** A revision that expires is complete, and never the current one. */
const isCompleted = ({ updateRevision, currentRevision, revisions = [] }: NodeConfigSetStatus): boolean =>
  updateRevision === currentRevision ||
  revisions.some(({ revision, outcome }) => revision === updateRevision && outcome === 'Complete');

function refuseOther(name: string, revision: string, asked: string | undefined, verb: string): void {
  if (asked !== undefined && asked !== revision)
    throw new CannotRun(
      `${name} rolls out revision ${revision}, not ${asked}, so nothing was changed; look at it with 'relet rollout status ${name}' before you ${verb} it`,
    );
}

const isWaiting = ({ state }: WaveStatus): boolean => state === 'AwaitingApproval';

/** Throws if the request would have no effect, or if the revision is not the requested one. */
export function requestedRevision(
  { metadata: { name }, status = {} }: NodeConfigSet,
  action: RolloutAction,
  asked?: string,
): string {
  const { updateRevision, rejectedRevision, currentRevision, failedNodes = 0 } = status;
  const { updatedNodes = 0, inTrialNodes = 0, pendingNodes = 0, rollingBack = false } = status;
  if (updateRevision === undefined)
    throw new CannotRun(`${name} has not started to roll out; there is nothing to ${action.toLowerCase()}`);
  refuseOther(name, updateRevision, asked, action.toLowerCase());
  const isRejected = rejectedRevision === updateRevision;
  if (action === 'Retry' && !isRejected && failedNodes === 0)
    throw new CannotRun(
      `no node of ${name} has failed, and its revision was not aborted or undone; there is nothing to retry`,
    );
  if (action === 'Abort' && isRejected)
    throw new CannotRun(`revision ${updateRevision} of ${name} is stopped already; see 'relet rollout status ${name}'`);
  if (action === 'Abort' && currentRevision === updateRevision)
    throw new CannotRun(
      `revision ${updateRevision} of ${name} is complete; 'relet rollout undo ${name}' takes it back from all nodes`,
    );
  // A node that was held when the others went back still has it, and counts.
  const isNowhere = updatedNodes + inTrialNodes + pendingNodes + failedNodes === 0;
  if (action === 'Undo' && isRejected && isNowhere && !rollingBack)
    throw new CannotRun(`no node has revision ${updateRevision} of ${name} any more; there is nothing to undo`);
  return updateRevision;
}

/** Tool that applies the set from Git, by the marks that Flux and Argo CD leave; undefined if neither does. */
export function gitOwner({ metadata: { labels = {}, annotations = {} } }: NodeConfigSet): string | undefined {
  const kustomization = labels['kustomize.toolkit.fluxcd.io/name'];
  if (kustomization !== undefined) return `Flux (Kustomization ${kustomization})`;
  const release = labels['helm.toolkit.fluxcd.io/name'];
  if (release !== undefined) return `Flux (HelmRelease ${release})`;
  const application =
    annotations['argocd.argoproj.io/tracking-id']?.split(':', 1)[0] ?? labels['argocd.argoproj.io/instance'];
  return application === undefined ? undefined : `Argo CD (Application ${application})`;
}
