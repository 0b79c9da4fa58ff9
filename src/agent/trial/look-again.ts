/**
 * How soon to look at a kubelet again. Pure. While it starts, a change is waiting for it: the pause is a part of the time
 * it took so far, so that its first answer is found late by that part at most, however long it takes.
 *
 * Example: a kubelet that answers after 400 ms is found at 410 ms the latest; one that takes a minute is asked once a second.
 */

export interface Looked {
  /** Its own healthz is asked and does not answer; else the API was asked too. */
  silent: boolean;
  isWell: boolean;
  sinceStartMs: number;
  /** Healthy time still missing in the trial; 0 without one. */
  trialLeftMs: number;
}

const leastMs = 10;
const unhealthyMostMs = 1000;
const healthyMostMs = 10_000;

export function lookAgainMs({ silent, isWell, sinceStartMs, trialLeftMs }: Looked): number {
  if (isWell) return between(2 * leastMs, trialLeftMs, healthyMostMs);
  // Loopback costs nothing; the API is shared by all nodes.
  return silent
    ? between(leastMs, sinceStartMs / 40, unhealthyMostMs)
    : between(5 * leastMs, sinceStartMs / 4, unhealthyMostMs);
}

const between = (least: number, value: number, most: number) => Math.max(least, Math.min(value, most));
