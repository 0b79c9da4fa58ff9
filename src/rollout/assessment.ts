/**
 * Summarizes the rollout of a set from its status alone: whether it has ended, its counts in a clause, and the next step for a person.
 * For the commands, the doctor and the dashboard. Pure.
 */
import { setProgressReasons, setReadyReasons, setStalledReasons } from '../api/condition-reasons.js';
import type { NodeConfigCondition } from '../api/node-config.js';
import type { NodeConfigSet, NodeConfigSetStatus } from '../api/node-config-set.js';
import { oneLine } from '../visible-text.js';
import { nodesUntil, untilNextStop } from './next-stop.js';

/**
 * Transitions: unseen ─► progressing ─► complete or stopped; a changed spec, or a retry, leads back to unseen or progressing.
 * Complete and stopped are ends: without a person nothing happens any more.
 */
export type Assessment =
  /** The controller has not seen the newest spec or request. */
  { kind: 'unseen' } | { kind: 'progressing' | 'complete' | 'stopped'; reason: string; message: string };

export function assess({ metadata, status = {} }: NodeConfigSet): Assessment {
  const { observedGeneration = 0, conditions = [], rollout } = status;
  // An end that was reached before a request, or before the newest spec, is not the end of it.
  if (observedGeneration < (metadata.generation ?? 1) || rollout?.request !== undefined) return { kind: 'unseen' };
  const isTrue = (type: string): NodeConfigCondition | undefined =>
    conditions.find((one) => one.type === type && one.status === 'True');
  const [ready, stalled, reconciling] = ['Ready', 'Stalled', 'Reconciling'].map(isTrue);
  const condition = ready ?? stalled ?? reconciling;
  if (condition === undefined) return { kind: 'unseen' };
  const { reason, message } = condition;
  return { kind: ready ? 'complete' : stalled ? 'stopped' : 'progressing', reason, message };
}

/** Whether the rollout can continue without a change of the spec. */
export const mayRetry = (reason: string): boolean =>
  [
    setStalledReasons.halted,
    setStalledReasons.worse,
    setStalledReasons.undrainable,
    setStalledReasons.aborted,
    setStalledReasons.undone,
    setStalledReasons.rolledBack,
    setStalledReasons.expired,
  ].some((one) => one.reason === reason);

/** The set rolls nothing out, since no selected node can be changed. */
export const isIdle = (reason: string): boolean => reason === setProgressReasons.nothing.reason;

export const hasNoNodes = (reason: string): boolean => reason === setReadyReasons.noNodes.reason;

/** docs/drain.md has the whole of it. */
export const drainRoleRemedy =
  "'kubectl apply -k deploy/drain/', or the chart's controller.drain.enabled, gives the controller the role relet:controller-drain";

/** The wave that waits for approval. */
export const waitingWave = ({ waves, wave = 1 }: NodeConfigSetStatus): number =>
  waves?.find(({ state }) => state === 'AwaitingApproval')?.wave ?? wave;

/** Next action of a person; undefined if none is needed. */
export function nextStep(set: NodeConfigSet, assessment: Assessment): string | undefined {
  const { status = {} } = set;
  const { name } = set.metadata;
  if (assessment.kind === 'unseen') return "if this stays so, 'relet doctor' shows whether the controller runs";
  const { reason } = assessment;
  const [first] = status.failedSamples ?? [];
  const why = first === undefined ? '' : `'relet describe ${oneLine(first.name)}' shows why; `;
  switch (reason) {
    case setProgressReasons.approval.reason: {
      const wave = waitingWave(status);
      const nodes = nodesUntil(untilNextStop(set, wave));
      const follows = nodes === 0 ? 'continues' : `changes the next ${nodes === 1 ? 'node' : `${nodes} nodes`}`;
      return `'relet rollout approve ${name} --wave ${wave}' ${follows}, 'relet rollout abort ${name}' stops`;
    }
    case setProgressReasons.paused.reason:
      return `'relet rollout resume ${name}' continues`;
    case setStalledReasons.halted.reason:
    case setStalledReasons.worse.reason:
      return `${why}apply a corrected config, 'relet rollout retry ${name}' tries the same again, 'relet rollout undo ${name}' takes it back`;
    case setStalledReasons.aborted.reason:
      return `change the config, 'relet rollout retry ${name}' continues, 'relet rollout undo ${name}' takes it back`;
    case setStalledReasons.mayNotDrain.reason:
      return drainRoleRemedy;
    case setStalledReasons.undrainable.reason:
      return `remove the pods named above, then 'relet rollout retry ${name}'; or set strategy.drain.onUndrainable: Skip`;
    case setProgressReasons.draining.reason:
      return `if a PodDisruptionBudget blocks, make room in it: more replicas, or a lower minAvailable; 'relet rollout abort ${name}' lifts the cordons`;
    case setStalledReasons.impact.reason:
      return `'relet rollout plan ${name}' shows what the fields need; add that to spec.accept, or change the config`;
  }
  if (mayRetry(reason)) return `${why}change the config, or 'relet rollout retry ${name}' rolls it out again`;
  return assessment.kind === 'stopped' ? "correct the set; 'relet rollout plan FILE' checks it first" : undefined;
}

/** `30%: 12 of 40 nodes updated, 3 in trial, 1 failed`. Nodes that are excluded are not waited for. Undefined until they are counted. */
export function completionText(status: NodeConfigSetStatus): string | undefined {
  const { selectedNodes, excludedNodes = 0, updatedNodes: updated = 0 } = status;
  if (selectedNodes === undefined) return undefined;
  if (status.rejectedRevision !== undefined && status.rejectedRevision === status.updateRevision)
    return rejectedText(status);
  const total = Math.max(0, selectedNodes - excludedNodes);
  // 100% is for the end: 999 of 1000 is not it.
  const percent = Math.floor((100 * Math.min(updated, total)) / Math.max(total, 1));
  const others: [number | undefined, string][] = [
    [status.inTrialNodes, 'in trial'],
    [status.pendingNodes, 'not active yet'],
    [status.failedNodes, 'failed'],
    [excludedNodes, 'excluded'],
  ];
  const rest = others.flatMap(([count, what]) => ((count ?? 0) > 0 ? [`${count} ${what}`] : []));
  const head = total === 0 ? 'no node to update' : `${percent}%: ${updated} of ${total} nodes updated`;
  return [head, ...rest].join(', ');
}

/** Counts the nodes that still have a revision that was taken back; or that keep one that was aborted. */
function rejectedText(status: NodeConfigSetStatus): string {
  const { selectedNodes = 0 } = status;
  const having = nodesWithUpdate(status);
  if (status.revisions?.[0]?.outcome === 'Aborted') return `${having} of ${selectedNodes} nodes have it and keep it`;
  if (having > 0) return `${having} of ${selectedNodes} nodes still have it`;
  return status.rollingBack ? 'no node has it any more, the last ones are still returning' : 'no node has it any more';
}

/** How many nodes have the newest revision, or are about to. */
export const nodesWithUpdate = (status: NodeConfigSetStatus): number =>
  (status.updatedNodes ?? 0) + (status.inTrialNodes ?? 0) + (status.pendingNodes ?? 0) + (status.failedNodes ?? 0);
