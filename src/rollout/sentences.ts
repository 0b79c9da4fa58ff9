/** Messages of a set, with node names: what it waits for, and why it stopped. Pure. */
import { rfc3339 } from '../clock.js';
import type { SetNode } from './members.js';
import { type SetState, updateOf } from './state.js';
import { newestStep, stepText } from './steps.js';
import type { Survey } from './survey.js';

/** `node-1, node-2, node-3 and 4 more`. */
export function list(names: readonly string[], most = 3): string {
  if (names.length > most) return `${names.slice(0, most).join(', ')} and ${names.length - most} more`;
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

const count = (nodes: number): string => `${nodes} ${nodes === 1 ? 'node' : 'nodes'}`;
const namesOf = (nodes: readonly SetNode[]): string[] => nodes.map(({ name }) => name);

export const changing = (names: readonly string[]): string => `changing ${count(names.length)}: ${list(names)}`;

/** `node-3: pod shop/web-1: budget web …; also node-4`. */
export function draining(nodes: readonly SetNode[]): string {
  const [first] = [...nodes].sort((a, b) => (b.drain?.message ?? '').length - (a.drain?.message ?? '').length);
  const others = namesOf(nodes.filter((node) => node !== first));
  const why = first?.drain?.message ? `: ${first.drain.message}` : '';
  return `draining ${first?.name}${why}${others.length === 0 ? '' : `; also ${list(others)}`}`;
}

export function paused(set: string, { steps }: SetState): string {
  const step = newestStep(steps, ['Paused', 'Resumed']);
  const text = step?.step === 'Paused' && step.by ? stepText(step) : 'paused by spec.paused';
  return `${text}; 'relet rollout resume ${set}' continues`;
}

/** `node-17 NotReady for 4m, node-3 and node-9 not yet active`. */
function byReason(unavailable: Survey['unavailable']): string {
  const groups = new Map<string, string[]>();
  for (const { node, why } of unavailable) groups.set(why, [...(groups.get(why) ?? []), node.name]);
  const parts = [...groups].map(([why, names]) => `${list(names)} ${why}`);
  return parts.length > 4 ? `${parts.slice(0, 4).join(', ')} and others` : parts.join(', ');
}

export function budgetSpent({ unavailable, inTrial, allowed }: Survey): string {
  if (allowed.unavailable === 0) return 'maxUnavailable is 0, which stops the rollout';
  if (allowed.inTrial === 0) return 'maxInTrial is 0, which stops the rollout';
  if (unavailable.length >= allowed.unavailable)
    return `${unavailable.length} of ${allowed.unavailable} allowed unavailable: ${byReason(unavailable)}`;
  if (inTrial.length >= allowed.inTrial)
    return `${inTrial.length} of ${allowed.inTrial} allowed in trial: ${list(namesOf(inTrial))}`;
  return `control-plane nodes are changed one at a time: ${list(namesOf(inTrial.filter((one) => one.isControlPlane)))} in trial`;
}

export function inWave(wave: number, { unavailable, phases }: Survey): string {
  const inPhase = (asked: string) => [...phases].filter(([, phase]) => phase === asked).map(([node]) => node);
  const [pending, trial] = [inPhase('pending'), inPhase('trial')];
  // A correction of a node that failed is not counted as unavailable, and is waited for all the same.
  const whyOf = new Map(unavailable.map(({ node, why }) => [node, why]));
  const away = pending.map((node) => ({ node, why: whyOf.get(node) ?? 'not yet active' }));
  const parts = [
    ...(away.length > 0 ? [byReason(away)] : []),
    ...(trial.length > 0 ? [`${list(namesOf(trial))} in trial`] : []),
  ];
  return `wave ${wave}${parts.length > 0 ? `: ${parts.join(', ')}` : ' has no node to change'}`;
}

export function allExcluded({ excluded }: Survey): string {
  const [first] = excluded;
  if (first === undefined) return 'no selected node is to be updated (updateNodes)';
  return `all ${count(excluded.length)} excluded: ${first.node.name} (${first.exclusion.message})${excluded.length > 1 ? ' and others' : ''}`;
}

/** `2 nodes do not get the config: node-2 (unrecognized feature gate: NoSuchGate); also node-7`. */
export function refused(nodes: readonly SetNode[]): string {
  const [first, ...others] = nodes;
  const also = others.length === 0 ? '' : `; also ${list(namesOf(others))}`;
  const verb = nodes.length === 1 ? 'does' : 'do';
  return `${count(nodes.length)} ${verb} not get the config: ${first?.name} (${first?.refused?.message})${also}`;
}

export const soaking = ({ wave, soakEndsAtMs = 0 }: { wave: number; soakEndsAtMs?: number }): string =>
  `wave ${wave} soaks until ${rfc3339(soakEndsAtMs)}`;

export const awaitingApproval = (set: string, { updateRevision }: SetState, wave: number): string =>
  `wave ${wave} of revision ${updateRevision} waits for 'relet rollout approve ${set}'`;

export const windowClosed = (opensAtMs: number | undefined): string =>
  opensAtMs === undefined ? 'no window of the strategy ever opens' : `the next window opens at ${rfc3339(opensAtMs)}`;

export function failed({ failed, failedBefore, allowed }: Failures): string {
  const [first] = failed;
  const others = failed.slice(1).map(({ node }) => node.name);
  const parts = [
    ...(first ? [`${first.node.name} (${first.failure.message})`] : []),
    ...(others.length > 0 ? [`also ${list(others)}`] : []),
    ...(failedBefore.length > 0 ? [`${list(failedBefore)} (taken from the set or removed since)`] : []),
  ];
  return `${failed.length + failedBefore.length} failed, ${allowed.failed} allowed: ${parts.join('; ')}`;
}

type Failures = Pick<Survey, 'failed' | 'failedBefore' | 'allowed'>;

export const halted = (set: string, seen: Failures): string =>
  `${failed(seen)}. Correct the config in the spec, or 'relet rollout retry|undo|abort ${set}'`;

export function rejected(set: string, state: SetState): string {
  const { revision, outcome } = updateOf(state) ?? {};
  const step = newestStep(state.steps, ['Aborted', 'Undone'], revision);
  const text =
    step === undefined || step.step !== outcome
      ? `revision ${revision} is ${outcomeWords[outcome ?? 'Aborted']}`
      : stepText(step);
  return `${text}; change the config in the spec, or 'relet rollout retry ${set}'`;
}

export const outcomeWords = {
  Aborted: 'aborted',
  Undone: 'undone',
  RolledBack: 'rolled back',
  Expired: 'expired',
  Complete: 'complete',
  Superseded: 'superseded',
} as const;

export function rollingBack(left: readonly SetNode[], { unavailable, allowed }: Survey): string {
  const away = unavailable.length === 0 ? '' : `, ${byReason(unavailable)}`;
  if (left.length === 0) return `the last nodes are returning${away}`;
  return `${count(left.length)} still to return to their previous config: ${list(namesOf(left))}; ${unavailable.length} of ${allowed.unavailable} allowed unavailable${away}`;
}
