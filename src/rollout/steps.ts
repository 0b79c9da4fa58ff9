/**
 * The steps of a rollout (started, approved, halted, …): recorded once in the state of the set, in the write in which they take effect;
 * and their texts for status, histories, events and pages. Pure.
 */
import { mostSteps, type NodeConfigSetStatus, type SetStep, type SetStepKind } from '../api/node-config-set.js';
import { rfc3339 } from '../clock.js';
import { quotedWhy, whoText } from '../fleet/node-history.js';
import { shorten } from '../shorten.js';
import { oneLine } from '../visible-text.js';
import type { Exclusion } from './members.js';

/** The part of the state of a set that steps are about. */
type Stepped = Pick<NodeConfigSetStatus, 'updateRevision' | 'steps' | 'rollout'>;

/** The person who changed spec.paused, as the annotations of the set have it. */
export interface Pauser {
  by?: string | undefined;
  why?: string | undefined;
}

/** When a step is recorded, and whether the names in requests are checked. */
export interface StepContext {
  nowMs: number;
  /** The admission policies are in force, so that `by` of a request is the user who wrote it. */
  areNamesChecked: boolean;
}

const longest = { why: 200, message: 300 };

export function withStep<S extends Stepped>(state: S, step: Omit<SetStep, 'at' | 'revision'>, nowMs: number): S {
  const { updateRevision } = state;
  return updateRevision === undefined ? state : added(state, { ...step, revision: updateRevision }, nowMs);
}

/** Adds a step of a revision that need not be the one that is rolled out. */
export function added<S extends Stepped>(state: S, { why, message, ...step }: Omit<SetStep, 'at'>, nowMs: number): S {
  const recorded: SetStep = {
    at: rfc3339(nowMs),
    ...step,
    ...(why && { why: shorten(oneLine(why), longest.why) }),
    ...(message && { message: shorten(oneLine(message), longest.message) }),
  };
  return { ...state, steps: [recorded, ...(state.steps ?? [])].slice(0, mostSteps) };
}

/** Author and reason of a request; absent if the request does not have them. */
export const named = (
  { by, why }: { by?: string | undefined; why?: string | undefined },
  { areNamesChecked }: StepContext,
): Pick<SetStep, 'by' | 'why' | 'verified'> => ({
  ...(by && { by: oneLine(by), ...(areNamesChecked && { verified: true }) }),
  ...(why && { why }),
});

/** An approval stays in the status: it is recorded when it is another one than the last that was. */
export function withApproval<S extends Stepped>(state: S, context: StepContext): S {
  const { approve } = state.rollout ?? {};
  if (approve === undefined || approve.revision !== state.updateRevision) return state;
  const last = newestStep(state.steps, ['Approved', 'Started', 'Retried'], approve.revision);
  if (last?.step === 'Approved' && last.wave === approve.wave && (last.by ?? '') === oneLine(approve.by ?? ''))
    return state;
  return withStep(state, { step: 'Approved', wave: approve.wave, ...named(approve, context) }, context.nowMs);
}

export function withPause<S extends Stepped>(state: S, paused: boolean, pauser: Pauser, context: StepContext): S {
  if (isRecorded(state, paused)) return state;
  return withStep(state, { step: paused ? 'Paused' : 'Resumed', ...named(pauser, context) }, context.nowMs);
}

/** Whether the steps show what spec.paused is. */
export const isRecorded = ({ steps }: Pick<Stepped, 'steps'>, paused: boolean): boolean =>
  (newestStep(steps, ['Paused', 'Resumed'])?.step === 'Paused') === paused;

/** Failures of one attempt that are recorded by node: the first ones tell why. */
const mostFailures = 5;

export function withFailures<S extends Stepped>(
  state: S,
  failed: readonly { name: string; failure: Exclusion }[],
  nowMs: number,
): S {
  const start = state.steps?.findIndex(({ step }) => step === 'Started' || step === 'Retried') ?? -1;
  const attempt = (state.steps ?? []).slice(0, start === -1 ? undefined : start);
  const known = attempt.filter((one) => one.step === 'Failed' && one.revision === state.updateRevision);
  const fresh = failed.filter(({ name }) => !known.some(({ node }) => node === name));
  return fresh
    .slice(0, Math.max(0, mostFailures - known.length))
    .reduce<S>((next, { name, failure }) => withStep(next, { step: 'Failed', node: name, ...failure }, nowMs), state);
}

/** Once for the failures before it. */
export function withHalt<S extends Stepped>(state: S, message: string | undefined, nowMs: number): S {
  const last = newestStep(state.steps, ['Halted', 'Failed', 'Started', 'Retried'], state.updateRevision);
  if (last?.step === 'Halted') return state;
  return withStep(state, { step: 'Halted', ...(message && { message }) }, nowMs);
}

const verbs: Partial<Record<SetStepKind, [active: string, passive: string]>> = {
  Approved: ['approved', 'was approved'],
  Aborted: ['aborted', 'was aborted'],
  Undone: ['undid', 'was undone'],
  Retried: ['retried', 'was retried'],
};

/** `ann aborted revision 59d0d247cf: "wrong value"`. */
export function stepText(step: SetStep): string {
  const { revision, wave, node = '', reason, message } = step;
  const who = whoText(step);
  const what = `${step.step === 'Approved' ? `wave ${wave} of ` : ''}revision ${revision}`;
  const [active, passive] = verbs[step.step] ?? [];
  if (active !== undefined)
    return `${who === '' ? `${what} ${passive}` : `${who} ${active} ${what}`}${quotedWhy(step.why)}`;
  const detail = message ? `: ${oneLine(message)}` : '';
  switch (step.step) {
    case 'Paused':
    case 'Resumed': {
      const verb = step.step.toLowerCase();
      const text = who === '' ? `the rollout was ${verb} without relet (spec.paused)` : `${who} ${verb} the rollout`;
      return `${text}${quotedWhy(step.why)}`;
    }
    case 'Failed':
      return `${what} failed on ${oneLine(node)}${reason ? ` (${reason})` : ''}${detail}`;
    case 'Halted':
      return `${what} halted${detail}`;
    case 'RolledBack':
      return `${what} is rolled back${detail}`;
    case 'Expired':
      return `the time limit of ${what} is over`;
    case 'Superseded':
      return `${what} is superseded by the config in the spec`;
    case 'Complete':
      return `${what} is complete`;
    default:
      return `${what} started`;
  }
}

/** The newest step of these kinds, of one revision where that is given. */
export const newestStep = (
  steps: readonly SetStep[] | undefined,
  kinds: readonly SetStepKind[],
  revision?: string,
): SetStep | undefined =>
  steps?.find((one) => kinds.includes(one.step) && (revision === undefined || one.revision === revision));
