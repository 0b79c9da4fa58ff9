/**
 * The next step of a rollout. Pure: the cluster as it is and the time in; the next batch and the reason in a sentence out.
 *
 * Arithmetic, with 40 selected nodes of which 2 are NotReady and excluded: percentages are of the other 38.
 *
 *   waves 1, 5%, 25%, 100%       cumulative, rounded up: 1, 2, 10, 38 nodes. Wave 3 assigns 10 − 2 = 8 nodes.
 *   maxUnavailable 10%           rounded down, at least 1: 3. The 2 that are NotReady count, so 1 node may be changed.
 *   maxInTrial 25%               rounded down, at least 1: 9. In wave 3, with 1 on trial, 8 more could be; maxUnavailable allows 1 now.
 *   maxFailed 0                  rounded down: the first node that fails stops the rollout.
 *
 * So the batch is 1 node. When it is active, after seconds, it counts only as on trial, and the next one is assigned. After 10 minutes
 * it has passed its trial. A batch has at most 100 nodes, whatever the budgets allow.
 */

import { observingText } from '../api/analysis.js';
import {
  exclusionReasons,
  type setProgressReasons,
  type setReadyReasons,
  type setStalledReasons,
} from '../api/condition-reasons.js';
import { rfc3339 } from '../clock.js';
import { type Measured, nextAnalysisMs, recordOf, withAnalysis, worseIn } from './analysis/analysis.js';
import { askText, worseText } from './analysis/sentences.js';
import { inOrder, type Picked, pick, todoOf } from './batch.js';
import { mayGet, type SetNode } from './members.js';
import * as sentences from './sentences.js';
import type { SetRules } from './spec.js';
import {
  completed,
  type DesiredRevision,
  type Intent,
  isComplete,
  isRejected,
  reject,
  type SetState,
  sourceOfRevision,
  updateOf,
  withDesired,
  withFailed,
  withRequest,
} from './state.js';
import { type Pauser, withApproval, withFailures as withFailureSteps, withHalt, withPause } from './steps.js';
import { exclusionOf, hasFailed, isHalted, isUnsettled, isWanted, lastSignMs, type Survey, survey } from './survey.js';
import { type WavePlan, wavesOf } from './waves.js';
import { windowAt } from './windows.js';

export interface PlanInput {
  set: string;
  rules: SetRules;
  state: SetState;
  /** Undefined if the config in the spec cannot be used: then nothing new starts. */
  desired: DesiredRevision | undefined;
  /** Why the config in the spec may not be rolled out. */
  problem?: Stalled | undefined;
  nodes: readonly SetNode[];
  nowMs: number;
  /** The annotations of the set that name who paused or resumed it, and why. */
  pauser?: Pauser;
  /** The admission policies are in force: names in requests are those of the users who wrote them. */
  areNamesChecked?: boolean;
  /** Answers of Prometheus for the analysis under way. */
  measured?: Measured | undefined;
}

export interface Stalled {
  kind: keyof typeof setStalledReasons;
  message: string;
}

/** Ready, Reconciling or Stalled is True, with this reason; `message` has the details. */
export type RolloutProgress =
  | { condition: 'Ready'; kind: keyof typeof setReadyReasons; message?: string }
  | { condition: 'Reconciling'; kind: keyof typeof setProgressReasons; message?: string }
  | { condition: 'Stalled'; kind: keyof typeof setStalledReasons; message?: string };

export interface Plan {
  /** With the intent of the batch. */
  state: SetState;
  survey: Survey;
  waves: WavePlan;
  progress: RolloutProgress;
  /** Reason why the rollout waits; undefined while it is complete, or a batch is on its way. */
  waiting?: string;
  /** Time of the next pass, if no event comes earlier. */
  nextAtMs?: number;
}

export function plan(input: PlanInput): Plan {
  const { rules, nodes, nowMs } = input;
  const asked = withPeople(input);
  const first = surveyOf(asked, input);
  const failed = withComparison(withFailures(asked, first, input), first, input);
  const state = withRollback(withExpiry(failed, rules, nowMs), input);
  const intent = openIntent(state, input);
  // The nodes of a batch that is given up here still count: a write of it may be on its way.
  const seen = state === asked ? first : surveyOf(state, input);
  const waves = wavesOf({ rules, state, survey: seen, nowMs });
  const isDone = waves.isDone && input.problem === undefined;
  const next = isDone ? completed(state, rules.expiresAfterMs !== undefined, nowMs) : state;
  const step = intent === undefined ? decide({ ...input, state: next }, seen, waves) : continued(intent, nodes);
  const { intent: _, waves: __, ...rest } = withHalted(next, step.progress, nowMs);
  const batch = intent ?? step.intent;
  return {
    state: {
      ...rest,
      ...(waves.waves.length > 0 && { waves: waves.waves }),
      ...(batch && { intent: batch }),
    },
    survey: seen,
    waves,
    progress: step.progress,
    ...(step.waiting !== undefined && { waiting: step.waiting }),
    ...nextLook({ rules, nodes, nowMs, state: next, waves }),
  };
}

/**
 * The new config of the spec, and what people have asked for. A status without steps is of an earlier relet: what is written there then
 * was not checked.
 */
function withPeople({ state, desired, rules, pauser = {}, areNamesChecked = false, nowMs }: PlanInput): SetState {
  const context = { nowMs, areNamesChecked: areNamesChecked && state.steps !== undefined };
  const started = withDesired({ ...state, steps: state.steps ?? [] }, desired, nowMs);
  return withPause(withApproval(withRequest(started, desired, context), context), rules.paused, pauser, context);
}

const withHalted = (state: SetState, { condition, kind, message }: RolloutProgress, nowMs: number): SetState =>
  condition === 'Stalled' && (kind === 'halted' || kind === 'worse') ? withHalt(state, message, nowMs) : state;

interface Step {
  intent?: Intent;
  progress: RolloutProgress;
  waiting?: string;
}

const reconciling = (kind: keyof typeof setProgressReasons, message: string): Step => ({
  progress: { condition: 'Reconciling', kind, message },
  waiting: message,
});
const stalled = (kind: keyof typeof setStalledReasons, message: string): Step => ({
  progress: { condition: 'Stalled', kind, message },
  waiting: message,
});

function continued(intent: Intent, nodes: readonly SetNode[]): Step {
  const names = new Set(intent.names);
  const draining = nodes.filter(({ name, drain }) => names.has(name) && drain?.state === 'Draining');
  if (draining.length > 0) return reconciling('draining', sentences.draining(draining));
  return { progress: { condition: 'Reconciling', kind: 'rolling', message: sentences.changing(intent.names) } };
}

function surveyOf(state: SetState, { rules, nodes, nowMs }: PlanInput): Survey {
  const { startedAt = '', failedNodes } = updateOf(state) ?? {};
  const startedAtMs = Date.parse(startedAt) || 0;
  const { updateRevision: revision, intent } = state;
  return survey({ rules, nodes, revision, startedAtMs, failedNodes, isRejected: isRejected(state), intent, nowMs });
}

/** The intent, as long as some of its nodes are not written and it is still what should happen. */
function openIntent(state: SetState, { nodes, rules, problem, nowMs }: PlanInput): Intent | undefined {
  const { intent } = state;
  if (intent === undefined || rules.paused) return undefined;
  const isForUpdate = intent.revision === state.updateRevision;
  if (isForUpdate && (isRejected(state) || problem !== undefined)) return undefined;
  // A drain may last until the window is over: then the rest of the batch waits for the next one.
  if (intent.wave > 0 && intent.exempt === undefined && !windowAt(rules.windows, nowMs).open) return undefined;
  const names = new Set(intent.names);
  const isOpen = (node: SetNode) => names.has(node.name) && mayGet(node, intent) && !isWritten(node, intent);
  return nodes.some(isOpen) ? intent : undefined;
}

/** The node was assigned by the present intent, not before it. */
export const isWritten = ({ claim }: SetNode, { revision, at }: Intent): boolean =>
  claim !== undefined && claim.revision === revision && Date.parse(claim.at) >= Date.parse(at);

/**
 * Nodes that do not have a batch which is about to be given up. A write of the batch may still be in flight, so these nodes are written
 * first: the late write then has a conflict, and it is certain which nodes have the batch before anything else is decided.
 */
export function givenUp(before: Intent | undefined, after: Intent | undefined, nodes: readonly SetNode[]): SetNode[] {
  if (before === undefined || (before.at === after?.at && before.revision === after.revision)) return [];
  const names = new Set(before.names);
  return nodes.filter((node) => names.has(node.name) && !isWritten(node, before) && node.givenUp !== before.at);
}

/**
 * During a rollout, failed nodes are recorded, so that it does not continue when such a node is repaired by hand or removed. If there are
 * more than maxFailed, and onFailure is Rollback, all nodes are rolled back. Not after the rollout: a node may fail years later.
 */
function withFailures(state: SetState, seen: Survey, { rules, nowMs }: PlanInput): SetState {
  if (isRejected(state) || isComplete(state) || updateOf(state) === undefined) return state;
  const failed = seen.failed.map(({ node, failure }) => ({ name: node.name, failure }));
  const names = { failed: failed.map(({ name }) => name), failedBefore: seen.failedBefore };
  const recorded = withFailureSteps(withFailed(state, names), failed, nowMs);
  const isRejectedNow = rules.onFailure === 'Rollback' && isHalted(seen);
  return isRejectedNow ? reject(recorded, 'RolledBack', nowMs, { message: sentences.failed(seen) }) : recorded;
}

/** Compares the waves with controls if the strategy has an analysis. A worse wave is handled like too many failures. */
function withComparison(state: SetState, seen: Survey, { set, rules, measured, nowMs }: PlanInput): SetState {
  if (rules.analysis === undefined || updateOf(state) === undefined) return state;
  const { present } = wavesOf({ rules, state, survey: seen, nowMs });
  const next = withAnalysis(state, { set, rules, survey: seen, present, measured, nowMs });
  const worse = rules.analysis.onWorse === 'Rollback' && !isRejected(next) ? worseIn(next, rules) : undefined;
  return worse === undefined
    ? next
    : reject(next, 'RolledBack', nowMs, { message: `wave ${worse.wave} is ${worse.message}` });
}

function withExpiry(state: SetState, { expiresAfterMs }: SetRules, nowMs: number): SetState {
  const startedAtMs = Date.parse(updateOf(state)?.startedAt ?? '');
  if (expiresAfterMs === undefined || isRejected(state) || Number.isNaN(startedAtMs)) return state;
  return nowMs >= startedAtMs + expiresAfterMs ? reject(state, 'Expired', nowMs) : state;
}

/**
 * A rollback is over when no node has the revision, and the nodes that were rolled back run their previous config. Nodes that cannot be
 * drained yet are waited for. A node that is blocked meanwhile, such as a held one, is rolled back later.
 */
function withRollback(state: SetState, { nodes, rules, nowMs }: PlanInput): SetState {
  if (!isRejected(state) || updateOf(state)?.outcome === 'Aborted') return state;
  const isLate = ({ claim, blocked }: SetNode) => claim?.revision === state.rejectedRevision && blocked === undefined;
  if (!state.rollingBack) return nodes.some(isLate) ? { ...state, rollingBack: true } : state;
  const isLeft = (node: SetNode) =>
    node.claim !== undefined &&
    (node.blocked === undefined || node.blocked.reason === exclusionReasons.undrainable.reason) &&
    (node.claim.revision === state.rejectedRevision || (node.state === 'waiting' && !hasFailed(node, rules, nowMs)));
  return nodes.some(isLeft) ? state : { ...state, rollingBack: false };
}

/** By priority: reasons to stop, then a rollback, then nodes that joined, then the rollout. */
function decide(input: PlanInput, seen: Survey, waves: WavePlan): Step {
  const { set, rules, state, problem, nodes, nowMs } = input;
  if (rules.paused) return reconciling('paused', sentences.paused(set, state));
  if (state.rollingBack) return rollBack(input, seen);
  const joined = joiners(input);
  if (joined !== undefined) {
    const names = pick(joined.nodes, seen, { inTrial: true, room: joined.nodes.length });
    const { revision, source } = joined;
    if (names.length > 0) return batch({ revision, source, wave: 0 }, names, nowMs);
  }
  if (problem !== undefined) return stalled(problem.kind, problem.message);
  if (isRejected(state)) return stalled(outcomeKind(state), sentences.rejected(set, state));
  if (nodes.length === 0) return { progress: { condition: 'Ready', kind: 'noNodes' } };
  if (isComplete(state)) return catchUp(input, seen);
  return rollOut(input, seen, waves);
}

function outcomeKind(state: SetState): keyof typeof setStalledReasons {
  switch (updateOf(state)?.outcome) {
    case 'Undone':
      return 'undone';
    case 'RolledBack':
      return 'rolledBack';
    case 'Expired':
      return 'expired';
    default:
      return 'aborted';
  }
}

/**
 * A rollback is one wave within maxUnavailable, without windows, soak and approval. Nodes that have failed or are not Ready go first and
 * cost no budget: the revision may be the reason, and may have taken down more nodes than maxUnavailable.
 */
function rollBack({ state, nodes, rules, nowMs }: PlanInput, seen: Survey): Step {
  const left = nodes.filter(({ claim, blocked }) => claim?.revision === state.rejectedRevision && !blocked);
  const source = sourceOfRevision(state, state.currentRevision);
  const revision = source === undefined ? 'previous' : state.currentRevision!;
  const todo = inOrder(
    left.map((node) => ({ node, isExempt: !node.isReady || hasFailed(node, rules, nowMs) })),
    rules,
  );
  const names = pick(todo, seen, { inTrial: false, room: todo.length });
  if (names.length > 0) return batch({ revision, source: source ?? 'previous', wave: 0 }, names, nowMs, 'rollingBack');
  return reconciling('rollingBack', sentences.rollingBack(left, seen));
}

/** Nodes that the set has not had before get the current revision first, also while a new one is rolled out or was rejected. */
function joiners({ state, nodes, rules, nowMs }: PlanInput) {
  const { source, startedAt = '' } = state.revisions?.find((one) => one.revision === state.currentRevision) ?? {};
  if (source === undefined || state.currentRevision === state.updateRevision) return undefined;
  const startedAtMs = Date.parse(startedAt) || 0;
  const isJoining = (node: SetNode) =>
    exclusionOf(node) === undefined &&
    isWanted(node, rules, startedAtMs) &&
    (node.claim === undefined ||
      (isRejected(state) && ![state.currentRevision, state.updateRevision].includes(node.claim.revision)));
  const todo = nodes.filter(isJoining).map((node) => ({ node, isExempt: hasFailed(node, rules, nowMs) }));
  return { revision: state.currentRevision!, source, nodes: inOrder(todo, rules) };
}

/** After the rollout: nodes that joined or are available again. Those that the set never had do not wait for a window. */
function catchUp({ set, state, rules, nowMs }: PlanInput, seen: Survey): Step {
  const isOpen = windowAt(rules.windows, nowMs).open;
  const todo = todoOf(seen, rules, nowMs).filter(({ node }) => isOpen || node.claim === undefined);
  const names = pick(todo, seen, { inTrial: true, room: todo.length });
  const { revision, source } = updateOf(state)!;
  // A failure long after a node's update stops nothing; that of a node that was caught up (wave 0) does.
  const failed = seen.failed.filter(({ node }) => node.claim?.wave === 0);
  if (failed.length > seen.allowed.failed)
    return stalled('halted', sentences.halted(set, { ...seen, failed, failedBefore: [] }));
  const progress = progressAfter(seen);
  return names.length === 0 ? { progress } : { ...batch({ revision, source, wave: 0 }, names, nowMs), progress };
}

/**
 * A few nodes that cannot get the config do not stall a set: they are excluded and named. If they are the majority, the config itself is
 * the problem, and the set is Stalled.
 */
function progressAfter(seen: Survey): RolloutProgress {
  const refused = seen.excluded.flatMap(({ node }) => (node.refused === undefined ? [] : [node]));
  const [first] = refused;
  if (first !== undefined && refused.length > seen.eligible.length)
    return { condition: 'Stalled', kind: first.refused!.kind, message: sentences.refused(refused) };
  const parts = [
    ...(seen.failed.length > 0 ? [sentences.failed(seen)] : []),
    ...(first === undefined ? [] : [sentences.refused(refused)]),
  ];
  return { condition: 'Ready', kind: 'complete', ...(parts.length > 0 && { message: parts.join('; ') }) };
}

function rollOut({ set, state, rules, nowMs }: PlanInput, seen: Survey, waves: WavePlan): Step {
  if (isHalted(seen)) return stalled('halted', sentences.halted(set, seen));
  const worse = worseIn(state, rules);
  if (worse !== undefined) return stalled('worse', worseText(set, worse));
  if (seen.eligible.length === 0) return reconciling('nothing', sentences.allExcluded(seen));
  const todo = todoOf(seen, rules, nowMs);
  const window = windowAt(rules.windows, nowMs);
  const corrections = todo.filter(({ isExempt }) => isExempt);
  if (!window.open && corrections.length === 0)
    return reconciling('window', sentences.windowClosed(window.changesAtMs));
  const { wave, room, state: waveState } = waves.present;
  if (waveState === 'Soaking' && corrections.length === 0)
    return reconciling('soaking', sentences.soaking(waves.present));
  if (waveState === 'Analyzing' && corrections.length === 0)
    return reconciling('analyzing', observingText(wave, recordOf(state, wave)));
  if (waveState === 'AwaitingApproval' && corrections.length === 0)
    return reconciling('approval', awaitingApproval(set, state, rules, wave));
  // Failed nodes go alone, and are then part of the wave: other nodes follow once the correction has worked there.
  const names = pick(corrections.length > 0 ? corrections : todo, seen, { inTrial: true, room });
  const { revision, source } = updateOf(state)!;
  if (names.length > 0) return batch({ revision, source, wave }, names, nowMs);
  if (room > 0 && todo.length > 0) return budgetSpent(set, seen);
  return reconciling('rolling', sentences.inWave(wave, seen));
}

function awaitingApproval(set: string, state: SetState, rules: SetRules, wave: number): string {
  const record = recordOf(state, wave);
  const isAsked = rules.waves[wave - 1]?.approve ?? false;
  return isAsked || record === undefined ? sentences.awaitingApproval(set, state, wave) : askText(set, record);
}

/** Stalled, not waiting, if failed nodes use up a budget: time alone will not free it. */
function budgetSpent(set: string, seen: Survey): Step {
  const failed = new Set(seen.failed.map(({ node }) => node));
  const byFailed = seen.unavailable.filter(({ node }) => failed.has(node)).length;
  if (seen.allowed.unavailable > 0 && byFailed >= seen.allowed.unavailable)
    return stalled('halted', sentences.halted(set, seen));
  return reconciling('budget', sentences.budgetSpent(seen));
}

function batch(
  target: Pick<Intent, 'revision' | 'source' | 'wave'>,
  picked: readonly Picked[],
  nowMs: number,
  kind: keyof typeof setProgressReasons = 'rolling',
): Step {
  const names = picked.map(({ name }) => name);
  const exempt = picked.filter(({ isExempt }) => isExempt).map(({ name }) => name);
  return {
    intent: { ...target, names, ...(exempt.length > 0 && { exempt }), at: rfc3339(nowMs) },
    progress: { condition: 'Reconciling', kind, message: sentences.changing(names) },
  };
}

/** The next change that no event announces: a deadline, the end of a soak, a window, the expiry. */
function nextLook({
  rules,
  nodes,
  nowMs,
  state,
  waves,
}: Pick<PlanInput, 'rules' | 'nodes' | 'nowMs' | 'state'> & { waves: WavePlan }): { nextAtMs?: number } {
  const startedAtMs = Date.parse(updateOf(state)?.startedAt ?? '');
  const deadlines = nodes
    .filter((node) => node.claim !== undefined && isUnsettled(node))
    .map((node) => lastSignMs(node, nowMs) + rules.progressDeadlineMs + 1);
  const times = [
    ...deadlines,
    ...nextAnalysisMs(state, rules, nowMs),
    waves.present.soakEndsAtMs,
    windowAt(rules.windows, nowMs).changesAtMs,
    rules.expiresAfterMs === undefined ? undefined : startedAtMs + rules.expiresAfterMs,
  ].filter((atMs) => atMs !== undefined && atMs > nowMs) as number[];
  const nextAtMs = times.reduce((soonest, atMs) => Math.min(soonest, atMs), Number.POSITIVE_INFINITY);
  return Number.isFinite(nextAtMs) ? { nextAtMs } : {};
}
