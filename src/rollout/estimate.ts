/**
 * Estimates how long a rollout takes, from the sizes of its waves and the duration of one trial. Excludes approvals, windows and
 * failures. Pure.
 *
 * Example: 5,000 nodes in waves of 1, 249, 1,000 and 3,750, trials of 10 minutes, 1,250 in trial and 500 unavailable at most, a soak of
 * 10 minutes after the second wave: 10 + (10 + 10) + 10 + 3 × 10 = 70 minutes, and a few seconds a restart.
 */
import type { NodeConfig } from '../api/node-config.js';
import {
  type AnalysisStrategy,
  analysisDefaults,
  isEmptyWave,
  type NodeConfigSet,
  type NodeConfigSetStatus,
  ownNodes,
} from '../api/node-config-set.js';
import { tryParseDuration } from '../go/duration.js';
import { settlingMs } from './analysis/analysis.js';

export interface WaveWork {
  /** Its own nodes that are not assigned yet. */
  nodes: number;
  soakMs: number;
  /** From its last node being active until it is compared; trials and soak run meanwhile. */
  analysisMs?: number;
}

export interface Pace {
  mostInTrial: number;
  mostUnavailable: number;
  trialMs: number;
}

/** Duration of a trial if no agent reports it: the agents' default. */
export const usualTrialMs = 600_000;

/** The longest trial of these nodes, as their agents report it; undefined if none does. */
export function reportedTrialMs(nodes: Iterable<NodeConfig | undefined>): number | undefined {
  let longest: number | undefined;
  for (const node of nodes) {
    const seconds = node?.status?.trialSeconds;
    // A node writes it.
    if (typeof seconds === 'number' && seconds >= 0 && seconds <= 86_400) longest = Math.max(longest ?? 0, seconds);
  }
  return longest === undefined ? undefined : longest * 1000;
}

/** From the assignment until the restarted kubelet is healthy; as a rule it takes a few seconds. */
const restartMs = 5000;

/** Undefined if a limit of 0 lets nothing happen. */
export function expectedMs(waves: readonly WaveWork[], { mostInTrial, mostUnavailable, trialMs }: Pace) {
  let sum = 0;
  for (const { nodes, soakMs, analysisMs = 0 } of waves) {
    if (nodes > 0 && (mostInTrial < 1 || mostUnavailable < 1)) return undefined;
    const trials = Math.ceil(nodes / mostInTrial) * trialMs;
    const restarts = Math.ceil(nodes / mostUnavailable) * restartMs;
    const tried = Math.max(trials, restarts + trialMs) + soakMs;
    sum += nodes === 0 ? Math.max(soakMs, analysisMs) : Math.max(tried, restarts + analysisMs);
  }
  return sum;
}

/** As the first wave that has ended shows it; undefined before. */
export function observedTrialMs({ waves = [], revisions = [] }: NodeConfigSetStatus): number | undefined {
  const [ended, started] = [waves[0]?.endedAt, revisions[0]?.startedAt];
  const ms = Date.parse(ended ?? '') - Date.parse(started ?? '');
  return ms > 0 ? ms : undefined;
}

export interface Remaining {
  status: NodeConfigSetStatus;
  /** Soak of each wave, in order. */
  soaksMs: readonly number[];
  /** How long the next wave waits for the comparison of one; 0 without. */
  analysisMs: number;
  trialMs: number;
  nowMs: number;
}

/** Remaining time of a rollout under way: the rest of the present wave, and the waves after it. */
export function remainingMs({ status, soaksMs, analysisMs, trialMs, nowMs }: Remaining): number | undefined {
  const { waves = [], unavailable, inTrial } = status;
  const left = waves.map((_, at) => {
    const isLast = at === waves.length - 1;
    return leftOf(status, at, isLast ? { soakMs: 0, analysisMs: 0 } : { soakMs: soaksMs[at] ?? 0, analysisMs }, nowMs);
  });
  const hasTrials = (status.inTrialNodes ?? 0) + (status.pendingNodes ?? 0) > 0;
  const toAssign = expectedMs(left, {
    mostInTrial: inTrial?.allowed ?? 1,
    mostUnavailable: unavailable?.allowed ?? 1,
    trialMs,
  });
  // On average half the time of the trials under way is over.
  return toAssign === undefined ? undefined : toAssign + (hasTrials ? trialMs / 2 : 0);
}

function leftOf(
  { waves = [], analyses = [] }: NodeConfigSetStatus,
  at: number,
  { soakMs, analysisMs }: Required<Omit<WaveWork, 'nodes'>>,
  nowMs: number,
): WaveWork {
  const { wave, assigned, state, endedAt } = waves[at]!;
  if (state === 'Done' || state === 'AwaitingApproval' || isEmptyWave(waves, at)) return { nodes: 0, soakMs: 0 };
  const until = (ms: number) => Math.max(0, ms - nowMs) || 0;
  const observing = analyses.find((one) => one.state === 'Observing' && one.wave === wave);
  const compared = observing && analysisMs > 0 ? until(Date.parse(observing.after?.[1] ?? '')) : undefined;
  if (state === 'Soaking')
    return { nodes: 0, soakMs: until(Date.parse(endedAt ?? '') + soakMs), analysisMs: compared ?? 0 };
  if (state === 'Analyzing') return { nodes: 0, soakMs: 0, analysisMs: compared ?? 0 };
  return {
    nodes: Math.max(0, ownNodes(waves, at) - assigned),
    soakMs,
    analysisMs: compared ?? analysisMs,
  };
}

/** Undefined as long as the time of a trial is not known. */
export function leftMs(
  { status = {}, spec }: NodeConfigSet,
  { nowMs, trialMs }: { nowMs: number; trialMs?: number | undefined },
): number | undefined {
  const trial = observedTrialMs(status) ?? trialMs;
  if (trial === undefined || status.waves === undefined) return undefined;
  const soaksMs = (spec.strategy?.waves ?? []).map(({ soak }) => soakMs(soak));
  return remainingMs({ status, soaksMs, analysisMs: analysisMs(spec.strategy?.analysis), trialMs: trial, nowMs });
}

export const soakMs = (soak: string | undefined): number => Number((tryParseDuration(soak ?? '') ?? 0n) / 1_000_000n);

/** With Report no wave waits for a comparison. */
export function analysisMs(strategy: AnalysisStrategy | undefined): number {
  if (strategy === undefined) return 0;
  const { window, onWorse } = { ...analysisDefaults, ...strategy };
  return onWorse === 'Report' ? 0 : settlingMs + soakMs(window);
}
