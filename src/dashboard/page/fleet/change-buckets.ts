/** Groups changes into time buckets for a bar chart: how many nodes changed in each, and how many of them failed. Pure. */
import type { Timeline } from '../../wire.js';

export interface Buckets {
  /** Seconds since the epoch, the middle of each. */
  times: number[];
  changed: number[];
  failed: number[];
}

export function bucketChanges({ from, to, changes }: Timeline, count: number): Buckets {
  const widthMs = Math.max(1, (to - from) / count);
  const zeros = () => Array.from({ length: count }, () => 0);
  const [changed, failed] = [zeros(), zeros()];
  for (const change of changes) {
    const at = Math.min(count - 1, Math.floor((change.at - from) / widthMs));
    if (at < 0) continue;
    changed[at]! += change.nodes;
    failed[at]! += change.failed;
  }
  return { times: zeros().map((_, at) => (from + (at + 0.5) * widthMs) / 1000), changed, failed };
}
