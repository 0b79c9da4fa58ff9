/** Surveys the nodes of a set: the phase of each, and how much of the budgets is used by which nodes. Pure. */
import { exclusionReasons, failureReasons } from '../api/condition-reasons.js';
import { rfc3339 } from '../clock.js';
import { clauseOf } from '../visible-text.js';
import type { Exclusion, SetNode } from './members.js';
import { type SetRules, shareOf } from './spec.js';
import type { Intent } from './state.js';
import { isToBeUpdated } from './target.js';

/**
 * States of a node for the update revision: todo ─► pending (assigned) ─► trial (active) ─► updated (trial passed). failed: it rejected
 * it, rolled it back, or was silent at the deadline.
 */
export type Phase = 'todo' | 'pending' | 'trial' | 'updated' | 'failed';

export interface Survey {
  phases: Map<SetNode, Phase>;
  /** May get the update revision, or have it. Percentages are of these. */
  eligible: SetNode[];
  excluded: { node: SetNode; exclusion: Exclusion }[];
  unavailable: { node: SetNode; why: string }[];
  inTrial: SetNode[];
  failed: { node: SetNode; failure: Exclusion }[];
  /** Names of nodes that have failed and have since been taken from the set or removed. */
  failedBefore: string[];
  allowed: { unavailable: number; inTrial: number; failed: number };
}

export interface SurveyInput {
  rules: SetRules;
  nodes: readonly SetNode[];
  revision: string | undefined;
  /** When the revision was started, or started again. */
  startedAtMs: number;
  /** Nodes on which it has failed, as far as that is recorded. */
  failedNodes?: readonly string[] | undefined;
  /** The revision was rejected: nodes that have it are rolled back, and those that cannot be changed are excluded. */
  isRejected: boolean;
  /** Not yet written: its nodes count as if they were. */
  intent: Intent | undefined;
  nowMs: number;
}

export function survey(input: SurveyInput): Survey {
  const { rules, nodes, revision, startedAtMs, failedNodes = [], isRejected, intent, nowMs } = input;
  const announced = new Set(intent?.names.filter((name) => !intent.exempt?.includes(name)));
  const isAnnounced = (node: SetNode) => announced.has(node.name) && node.claim?.revision !== intent?.revision;
  const phases: Survey['phases'] = new Map();
  const eligible: Survey['eligible'] = [];
  const excluded: Survey['excluded'] = [];
  const unavailable: Survey['unavailable'] = [];
  const inTrial: Survey['inTrial'] = [];
  const failed: Survey['failed'] = [];
  for (const node of nodes) {
    const phase = phaseOf(node, { rules, revision, startedAtMs, nowMs });
    phases.set(node, phase);
    // A retry is for nodes that have it already, whatever updateNodes says.
    if ((node.claim && node.claim.revision === revision) || isWanted(node, rules, startedAtMs)) {
      const exclusion =
        phase === 'todo' ? (exclusionOf(node) ?? refusalOf(node, isRejected)) : isRejected ? node.blocked : undefined;
      if (exclusion === undefined) eligible.push(node);
      else excluded.push({ node, exclusion });
    }
    const why = unavailability(node, nowMs) ?? (isAnnounced(node) ? 'about to be changed' : undefined);
    if (why !== undefined) unavailable.push({ node, why });
    if (isOnTrial(node, rules, nowMs) || isAnnounced(node)) inTrial.push(node);
    if (phase === 'failed') failed.push({ node, failure: failureOf(node) });
  }
  return {
    phases,
    eligible,
    excluded,
    unavailable,
    inTrial,
    failed,
    failedBefore: namesWithout(failedNodes, nodes, revision),
    allowed: {
      unavailable: shareOf(rules.maxUnavailable, eligible.length, 'budget'),
      inTrial: shareOf(rules.maxInTrial, eligible.length, 'budget'),
      failed: shareOf(rules.maxFailed, eligible.length, 'down'),
    },
  };
}

/** The names of which no node has the revision. */
function namesWithout(names: readonly string[], nodes: readonly SetNode[], revision: string | undefined): string[] {
  if (names.length === 0) return [];
  const claimed = new Set(nodes.filter(({ claim }) => claim?.revision === revision).map(({ name }) => name));
  return names.filter((name) => !claimed.has(name));
}

/** More nodes have failed than maxFailed allows. */
export const isHalted = ({ failed, failedBefore, allowed }: Survey): boolean =>
  failed.length + failedBefore.length > allowed.failed;

function phaseOf(
  node: SetNode,
  { rules, revision, startedAtMs, nowMs }: Pick<SurveyInput, 'rules' | 'revision' | 'startedAtMs' | 'nowMs'>,
): Phase {
  const { claim, state } = node;
  if (claim === undefined || claim.revision !== revision) return 'todo';
  // A retry: those that failed before it get the revision again.
  if (hasFailed(node, rules, nowMs)) return timeOf(claim.at) < startedAtMs ? 'todo' : 'failed';
  if (state === 'waiting') return 'pending';
  return state === 'trial' ? 'trial' : 'updated';
}

/** True if the config that its set assigned did not last, or its result is unknown after the deadline. */
export function hasFailed(node: SetNode, { progressDeadlineMs }: SetRules, nowMs: number): boolean {
  if (node.claim === undefined) return false;
  if (node.state === 'rejected' || node.state === 'rolled back' || node.harm !== undefined) return true;
  return isUnsettled(node) && nowMs - lastSignMs(node, nowMs) > progressDeadlineMs;
}

const dayMs = 86_400_000;

/** Nodes of a batch have the same time: it is parsed once. 0 if it is not one. */
function timeOf(text: string): number {
  const known = times.get(text);
  if (known !== undefined) return known;
  if (times.size > 10_000) times.clear();
  const ms = Date.parse(text) || 0;
  times.set(text, ms);
  return ms;
}
const times = new Map<string, number>();

/**
 * Start of the progress deadline of a node: when it was assigned, when it last became unsettled again, or when its trial should be over,
 * whichever is latest. A time more than a day in the future is ignored, and a trial counts for at most a day.
 */
export function lastSignMs({ claim, state, trialEndsAtMs = 0, unsettledSinceMs = 0 }: SetNode, nowMs: number): number {
  const assignedMs = claim === undefined ? 0 : timeOf(claim.at);
  const sinceMs = Math.max(assignedMs, unsettledSinceMs > nowMs + dayMs ? 0 : unsettledSinceMs);
  return state === 'trial' ? Math.max(sinceMs, Math.min(trialEndsAtMs, sinceMs + dayMs)) : sinceMs;
}

/** Assigned, and the trial is neither passed nor failed. */
export const isUnsettled = ({ state }: SetNode): boolean => state === 'waiting' || state === 'trial';

/** Nodes that are corrected first: the change cannot make them worse. */
export const needsAttention = (node: SetNode): boolean =>
  node.claim !== undefined &&
  (isUnsettled(node) || node.state === 'rejected' || node.state === 'rolled back' || node.harm !== undefined);

export const isWanted = (node: SetNode, { updateNodes }: SetRules, startedAtMs: number): boolean =>
  isToBeUpdated(updateNodes, { ...node, startedAtMs });

/** Why a node that is not assigned the revision is left out for now. */
export function exclusionOf(node: SetNode): Exclusion | undefined {
  if (node.blocked !== undefined) return node.blocked;
  if (needsAttention(node)) return undefined;
  if (!node.isReady) return { reason: exclusionReasons.notReady.reason, message: 'it is not Ready' };
  if (node.isSilent) return { reason: exclusionReasons.silent.reason, message: 'its agent does not renew its lease' };
  return undefined;
}

/** A rejected revision is assigned to no node. */
function refusalOf({ refused }: SetNode, isRejected: boolean): Exclusion | undefined {
  return refused === undefined || isRejected ? undefined : { reason: refused.reason, message: refused.message };
}

/** Reason why a selected node is unavailable. */
function unavailability(node: SetNode, nowMs: number): string | undefined {
  if (!node.isReady)
    return node.notReadySinceMs === undefined ? 'NotReady' : `NotReady for ${forMinutes(nowMs - node.notReadySinceMs)}`;
  if (node.isCordoned) return node.drain?.state === 'Draining' ? 'draining' : 'cordoned';
  return node.state === 'waiting' && node.claim?.exempt !== true ? 'not yet active' : undefined;
}

/** A failed node does not count as in trial. */
const isOnTrial = (node: SetNode, rules: SetRules, nowMs: number): boolean =>
  node.claim !== undefined && isUnsettled(node) && node.claim.exempt !== true && !hasFailed(node, rules, nowMs);

function failureOf(node: SetNode): Exclusion {
  if (node.state === 'rejected' || node.state === 'rolled back') {
    const failure = node.state === 'rejected' ? failureReasons.rejected : failureReasons.rolledBack;
    return node.failure ?? { reason: failure.reason, message: clauseOf(failure.message) };
  }
  if (node.harm !== undefined) return node.harm;
  const { reason } = failureReasons.silent;
  const { claim, unsettledSinceMs = 0 } = node;
  const isAgain = unsettledSinceMs > timeOf(claim?.at ?? '');
  return {
    reason,
    message: `no result since ${isAgain ? rfc3339(unsettledSinceMs) : `it was assigned at ${claim?.at}`}`,
  };
}

/** In whole minutes, so that a status that shows it does not change all the time. */
export function forMinutes(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 60) return `${minutes}m`;
  return minutes < 60 * 48 ? `${Math.floor(minutes / 60)}h` : `${Math.floor(minutes / 1440)}d`;
}
