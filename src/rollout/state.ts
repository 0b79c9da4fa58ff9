/**
 * State of a set between two passes, and its transitions. All of it is in its status. Pure.
 *
 *   (spec changes)           (all waves done)
 *   ───────────► rolling out ───────────────► complete
 *                  │  ▲                          │
 *                  │  └───────── Retry ───┐      │ Undo, expired
 *                  │                      │      ▼
 *                  ├── Abort ──► rejected ◄── rolling back
 *                  └── Undo, expired, more failed than allowed with onFailure: Rollback ──► rolling back
 */
import { type ConfigRef, formatRef, parseRef } from '../api/config-ref.js';
import {
  mostRevisions,
  type NodeConfigSetStatus,
  type RevisionOutcome,
  type RevisionSignatures,
  type SetRevision,
  type SetStep,
  type Intent as StoredIntent,
  type WaveStatus,
} from '../api/node-config-set.js';
import { rfc3339 } from '../clock.js';
import { byNaturalOrder } from '../natural-order.js';
import { added, named, type StepContext, withStep } from './steps.js';

const remembered = [
  'currentRevision',
  'updateRevision',
  'rejectedRevision',
  'rollingBack',
  'revisions',
  'steps',
  'waves',
  'analyses',
  'intent',
  'rollout',
] as const satisfies (keyof NodeConfigSetStatus)[];

type Remembered = Pick<NodeConfigSetStatus, (typeof remembered)[number]>;

/** As in the status, with a reference in place of its text; undefined for a text that is not one. */
export interface Revision extends Omit<SetRevision, 'source'> {
  source: ConfigRef | undefined;
}

/** As in the status. `previous`: each node gets the config back that it had before the set. */
export interface Intent extends Omit<StoredIntent, 'source'> {
  source: ConfigRef | 'previous' | undefined;
}

export interface SetState extends Omit<Remembered, 'revisions' | 'intent'> {
  revisions?: Revision[];
  intent?: Intent;
}

/** The rest of the status is computed again in each pass. */
export function stateIn(status: NodeConfigSetStatus = {}): SetState {
  const kept: Remembered = Object.fromEntries(
    remembered.filter((name) => status[name] !== undefined).map((name) => [name, status[name]]),
  );
  const { revisions, intent, ...rest } = kept;
  return {
    ...rest,
    ...(revisions && { revisions: revisions.map((one) => ({ ...one, source: parseRef(one.source) })) }),
    ...(intent && {
      intent: { ...intent, source: intent.source === 'previous' ? intent.source : parseRef(intent.source) },
    }),
  };
}

/** The state as the status has it. */
export function storedState({ revisions, intent, ...rest }: SetState): Remembered {
  const textOf = (ref: ConfigRef | 'previous' | undefined) => (ref === 'previous' ? ref : formatRef(ref, 'short'));
  return {
    ...rest,
    ...(revisions && { revisions: revisions.map((one) => ({ ...one, source: textOf(one.source) })) }),
    ...(intent && { intent: { ...intent, source: textOf(intent.source) } }),
  };
}

/** Revision of the spec. */
export interface DesiredRevision {
  revision: string;
  summary: string;
  /** Present for a signed config. */
  signed?: RevisionSignatures | undefined;
  /** The ConfigMap of an attempt. */
  source(attempt: number): ConfigRef;
}

/** The revision that is rolled out, with its times. */
export const updateOf = ({ revisions, updateRevision }: SetState): Revision | undefined =>
  revisions?.find(({ revision }) => revision === updateRevision);

export const sourceOfRevision = ({ revisions }: SetState, name: string | undefined): ConfigRef | undefined =>
  revisions?.find(({ revision }) => revision === name)?.source;

/** A new config in the spec starts a new revision; one that is known from before is started again. */
export function withDesired(state: SetState, desired: DesiredRevision | undefined, nowMs: number): SetState {
  if (desired === undefined) return state;
  if (desired.revision === state.updateRevision) return withSignatures(state, desired);
  const { rejectedRevision: _, rollingBack: __, waves: ___, intent: ____, rollout, ...rest } = state;
  // An earlier approval must be given again, as after a retry.
  const kept = rollout?.request === undefined ? rest : { ...rest, rollout: { request: rollout.request } };
  const { revision, summary } = desired;
  const known = state.revisions?.find((one) => one.revision === revision);
  // A revision that did not complete gets a new ConfigMap: nodes on which it failed would not start the same one again.
  const isSame = known?.outcome === 'Complete' && known.signed?.digest === desired.signed?.digest;
  const attempt = known === undefined ? 1 : (known.attempt ?? 1) + (isSame ? 0 : 1);
  const started: Revision = {
    revision,
    source: desired.source(attempt),
    ...(desired.signed && { signed: desired.signed }),
    summary,
    startedAt: rfc3339(nowMs),
    ...(attempt > 1 && { attempt }),
  };
  // An expiring revision is never rolled back to, although it was complete.
  const wasTemporary = updateOf(state)?.outcome === 'Complete' && state.updateRevision !== state.currentRevision;
  const others = ended(state, 'Superseded', nowMs, { again: wasTemporary }).filter((one) => one.revision !== revision);
  const { outcome } = updateOf(state) ?? { outcome: 'Complete' };
  const isSuperseded = outcome === undefined || wasTemporary;
  const left = isSuperseded ? withStep(state, { step: 'Superseded' }, nowMs) : state;
  const next: SetState = { ...kept, ...(left.steps && { steps: left.steps }) };
  const revisions = trimmed([started, ...others], state);
  return added({ ...next, updateRevision: revision, revisions }, { step: 'Started', revision }, nowMs);
}

/**
 * The same bytes with another statement, or with more signatures: they go out with the ConfigMap of the next attempt, to nodes that are
 * assigned it from now on. A node that has the revision keeps the ConfigMap that it has.
 */
function withSignatures(state: SetState, { signed, source }: DesiredRevision): SetState {
  const update = updateOf(state);
  if (update === undefined || update.signed?.digest === signed?.digest) return state;
  const { signed: _, ...rest } = update;
  const attempt = (update.attempt ?? 1) + 1;
  const next: Revision = { ...rest, source: source(attempt), ...(signed && { signed }), attempt };
  const { intent: __, ...kept } = state;
  return { ...kept, revisions: (state.revisions ?? []).map((one) => (one === update ? next : one)) };
}

/** The oldest go, except the one that is current. */
function trimmed(revisions: Revision[], { currentRevision }: SetState): Revision[] {
  const kept = revisions.slice(0, mostRevisions);
  const current = revisions.find(({ revision }) => revision === currentRevision);
  return current === undefined || kept.includes(current) ? kept : [...kept.slice(0, -1), current];
}

/** Names enough to see what happened; how many nodes may fail is decided long before. */
const mostFailed = 20;

/** Records nodes on which the update revision has failed, also those that have since been taken from the set or removed. */
export function withFailed(
  state: SetState,
  { failed, failedBefore }: { failed: string[]; failedBefore: string[] },
): SetState {
  const { failedNodes: known = [] } = updateOf(state) ?? {};
  const failedNodes = [...new Set([...failedBefore, ...failed])].sort(byNaturalOrder).slice(0, mostFailed);
  if (failedNodes.join() === known.join()) return state;
  return {
    ...state,
    revisions: (state.revisions ?? []).map((one) => {
      if (one.revision !== state.updateRevision) return one;
      const { failedNodes: _, ...rest } = one;
      return { ...rest, ...(failedNodes.length > 0 && { failedNodes }) };
    }),
  };
}

/** The revisions, with this outcome for the update revision unless it has one. */
function ended(state: SetState, outcome: RevisionOutcome, nowMs: number, { again = false } = {}): Revision[] {
  return (state.revisions ?? []).map((one) =>
    one.revision === state.updateRevision && (again || one.outcome === undefined)
      ? { ...one, outcome, endedAt: rfc3339(nowMs) }
      : one,
  );
}

/** Takes the request of a person out of the status in the same write in which it takes effect. */
export function withRequest(state: SetState, desired: DesiredRevision | undefined, context: StepContext): SetState {
  const { request, ...others } = state.rollout ?? {};
  if (request === undefined) return state;
  const { rollout: _, ...rest } = state;
  const handled: SetState = Object.keys(others).length === 0 ? rest : { ...rest, rollout: others };
  if (request.revision !== state.updateRevision) return handled;
  const { nowMs } = context;
  const person = named(request, context);
  switch (request.action) {
    case 'Abort':
      return reject(handled, 'Aborted', nowMs, person);
    case 'Undo':
      return reject(handled, 'Undone', nowMs, person);
    case 'Retry':
      return withStep(retried(handled, desired, nowMs), { step: 'Retried', ...person }, nowMs);
  }
}

/** The revision is not rolled out any further. Except after Aborted, the nodes that have it go back. */
export function reject(
  state: SetState,
  outcome: RevisionOutcome,
  nowMs: number,
  details: Pick<SetStep, 'by' | 'why' | 'verified' | 'message'> = {},
): SetState {
  const { intent: _, waves: __, currentRevision: ___, ...kept } = withStep(state, { step: outcome, ...details }, nowMs);
  const currentRevision =
    state.currentRevision === state.updateRevision ? completedBefore(state) : state.currentRevision;
  return {
    ...kept,
    ...(currentRevision !== undefined && { currentRevision }),
    ...(state.updateRevision !== undefined && { rejectedRevision: state.updateRevision }),
    rollingBack: outcome !== 'Aborted',
    revisions: ended(state, outcome, nowMs, { again: true }),
  };
}

const completedBefore = ({ revisions = [], updateRevision }: SetState): string | undefined =>
  revisions.find(({ revision, outcome }) => outcome === 'Complete' && revision !== updateRevision)?.revision;

/** Starts with the first wave; earlier approvals no longer count. */
function retried(state: SetState, desired: DesiredRevision | undefined, nowMs: number): SetState {
  const { rejectedRevision: _, rollingBack: __, waves: ___, intent: ____, rollout: _____, ...kept } = state;
  return {
    ...kept,
    revisions: (state.revisions ?? []).map((one) => {
      if (one.revision !== state.updateRevision) return one;
      const { outcome: _outcome, endedAt: _endedAt, failedNodes: _failedNodes, ...rest } = one;
      const attempt = (one.attempt ?? 1) + 1;
      return { ...rest, attempt, source: desired?.source(attempt) ?? one.source, startedAt: rfc3339(nowMs) };
    }),
  };
}

/** All waves are done. A revision that expires does not become the current one. */
export function completed(state: SetState, expires: boolean, nowMs: number): SetState {
  const { updateRevision } = state;
  const isNew = updateOf(state)?.outcome === undefined;
  return {
    ...(isNew ? withStep(state, { step: 'Complete' }, nowMs) : state),
    revisions: ended(state, 'Complete', nowMs),
    ...(!expires && updateRevision !== undefined && { currentRevision: updateRevision }),
  };
}

export const isRejected = ({ updateRevision, rejectedRevision }: SetState): boolean =>
  updateRevision !== undefined && updateRevision === rejectedRevision;

export const isComplete = (state: SetState): boolean => !isRejected(state) && updateOf(state)?.outcome === 'Complete';

export const isApproved = ({ rollout, updateRevision }: SetState, { wave }: Pick<WaveStatus, 'wave'>): boolean =>
  rollout?.approve !== undefined && rollout.approve.revision === updateRevision && rollout.approve.wave >= wave;
