/**
 * Checks the health of one kubelet until it exits. Measures how long it was healthy, how long not, and how long the API server has not
 * answered; kubelet-run.ts decides what follows.
 */
import type { Clock } from '../../clock.js';
import { counts, type Health, isHealthy, type NodeBefore } from './trial.js';

export interface HealthLoopOptions {
  clock: Clock;
  startedMs: number;
  /** It was healthy then, and its time counts from there; default: from the first check on. */
  countsFromMs?: number | undefined;
  /** Part of the deadline used up before this start. */
  unhealthyBeforeMs: number;
  check(): Promise<Health>;
  /** State of the node before the trial; read at every check. */
  before(): NodeBefore;
  onChecked(checked: Checked): Promise<Next>;
  signal: AbortSignal;
}

export interface Checked {
  health: Health;
  isHealthy: boolean;
  sinceStartMs: number;
  /** Healthy time since the check before that counts for a trial. */
  countedMs: number;
  /** Since the kubelet was last healthy, or since its start. */
  unhealthyMs: number;
  /** Since the API server last answered, or since the start. */
  apiSilentMs: number;
}

export type Next =
  | { kind: 'done' }
  /** Check again; with `excused` the deadlines start again. */
  | { kind: 'again'; silent: boolean; trialLeftMs: number; excused?: boolean };

/** Returns when onChecked is done or the signal fires. */
export async function healthLoop(options: HealthLoopOptions): Promise<void> {
  const { clock, startedMs, check, before, onChecked, signal } = options;
  let healthyAtMs = startedMs - options.unhealthyBeforeMs;
  let apiAtMs = startedMs;
  let countedAtMs = options.countsFromMs;
  while (!signal.aborted) {
    const health = await check();
    if (signal.aborted) return;
    const now = clock.monotonic();
    const healthy = isHealthy(health, before());
    if (health.apiAnswers) apiAtMs = now;
    if (healthy) healthyAtMs = now;
    const mayCount = counts(health, before());
    const countedMs = mayCount ? now - (countedAtMs ?? now) : 0;
    countedAtMs = mayCount ? now : undefined;
    const sinceStartMs = now - startedMs;
    const times = { sinceStartMs, countedMs, unhealthyMs: now - healthyAtMs, apiSilentMs: now - apiAtMs };
    const next = await onChecked({ health, isHealthy: healthy, ...times });
    if (next.kind === 'done') return;
    if (next.excused) healthyAtMs = apiAtMs = now;
    const { silent, trialLeftMs } = next;
    await clock.sleep(nextCheckMs({ silent, isHealthy: healthy, sinceStartMs, trialLeftMs }), signal).catch(() => {});
  }
}

export interface LastCheck {
  /** /healthz is checked and does not answer. If it does, the API server was queried too. */
  silent: boolean;
  isHealthy: boolean;
  sinceStartMs: number;
  /** Healthy time still missing in the trial; 0 without one. */
  trialLeftMs: number;
}

const leastMs = 10;
const unhealthyMostMs = 1000;
/** In the first minute, and after it. A kubelet that hangs is rolled back a minute after its last healthy answer, either way. */
const healthyMostMs = [10_000, 30_000] as const;

/**
 * When to check again. While a kubelet starts, a change is waiting for it: the pause is a part of the time that it took so far, so
 * its first answer is noticed late by that part at most.
 *
 * Example: a kubelet that answers after 400 ms is noticed by 410 ms; one that takes a minute is checked once a second.
 */
export function nextCheckMs({ silent, isHealthy, sinceStartMs, trialLeftMs }: LastCheck): number {
  // With nothing left, the trial did not end: its end cannot be recorded, as on a full disk, or the API server is away.
  const mostMs = healthyMostMs[sinceStartMs < 60_000 ? 0 : 1];
  if (isHealthy) return trialLeftMs > 0 ? between(2 * leastMs, trialLeftMs, mostMs) : mostMs;
  // Loopback costs nothing; the API server is shared by all nodes.
  return silent
    ? between(leastMs, sinceStartMs / 40, unhealthyMostMs)
    : between(5 * leastMs, sinceStartMs / 4, unhealthyMostMs);
}

const between = (least: number, value: number, most: number) => Math.max(least, Math.min(value, most));
