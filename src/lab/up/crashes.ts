/** Crashes of a node's kubelet while `relet up` waits for the node: relet on the node records them, and starts the kubelet again. */
import { NodeState } from '../../agent/state/node-state.js';
import { type LastExit, lastExitRecord } from '../../agent/trial/exit.js';
import type { Clock } from '../../clock.js';
import { silentLog } from '../../log.js';

export type Crashes = Pick<LastExit, 'count' | 'why' | 'error'>;

export interface WatchCrashes {
  /** --dynamic-config-dir of the node. */
  dir: string;
  clock: Clock;
  signal: AbortSignal;
  report(crashes: Crashes): void;
}

const readEveryMs = 500;
const reportEveryMs = 15_000;

/** Reports the first crash at once, and later ones from time to time, until the signal fires. */
export async function watchCrashes({ dir, clock, signal, report }: WatchCrashes): Promise<void> {
  const record = new NodeState(dir, silentLog).record(lastExitRecord);
  // Those from before the node was started do not count.
  const before = record.read()?.count ?? 0;
  let reported = before;
  for (let nextMs = clock.monotonic(); !signal.aborted; ) {
    const exit = record.read();
    const isNew = exit !== undefined && exit.count > reported && exit.blame === 'config';
    if (isNew && clock.monotonic() >= nextMs) {
      report({ count: exit.count - before, why: exit.why, ...(exit.error && { error: exit.error }) });
      reported = exit.count;
      nextMs = clock.monotonic() + reportEveryMs;
    }
    await clock.sleep(readEveryMs, signal).catch(() => {});
  }
}
