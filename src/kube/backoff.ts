/** Exponential backoff with jitter: the wait after the n-th failure in a row. */
import type { Random } from '../random.js';

export interface Backoff {
  /** Wait after the first failure. */
  initialMs: number;
  maxMs: number;
  /** Default 2. */
  factor?: number;
  /** Share of the wait that is random: 0 is exact, 0.5 waits 50–100 % of it. Default 0.5. */
  jitter?: number;
}

/** `failures` counts from 1; 0 or less means no wait. */
export function backoffMs(failures: number, backoff: Backoff, random: Random): number {
  if (failures <= 0) return 0;
  const { initialMs, maxMs, factor = 2, jitter = 0.5 } = backoff;
  const full = Math.min(maxMs, initialMs * factor ** (failures - 1));
  return full * (1 - jitter * random.number());
}
