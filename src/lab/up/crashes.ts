/** Crashes of a node's kubelet while `relet up` waits for the node: relet on the node records them, and starts the kubelet again. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { NodeState } from '../../agent/state/node-state.js';
import { type LastExit, lastExitRecord } from '../../agent/trial/last-exit.js';
import type { Clock } from '../../clock.js';
import { silentLog } from '../../log.js';

export interface Crashes extends Pick<LastExit, 'count' | 'why'> {
  /** The last lines in the log, those of the kubelet's errors if there are any. */
  lines: string[];
}

export interface WatchCrashes {
  /** --dynamic-config-dir of the node. */
  dir: string;
  log: string;
  clock: Clock;
  signal: AbortSignal;
  report(crashes: Crashes): void;
}

const readEveryMs = 500;
const reportEveryMs = 15_000;

/** Reports the first crash at once, and later ones from time to time, until the signal fires. */
export async function watchCrashes({ dir, log, clock, signal, report }: WatchCrashes): Promise<void> {
  const record = new NodeState(dir, silentLog).record(lastExitRecord);
  // Those from before the node was started do not count.
  const before = record.read()?.count ?? 0;
  let reported = before;
  for (let nextMs = clock.monotonic(); !signal.aborted; ) {
    const exit = record.read();
    const isNew = exit !== undefined && exit.count > reported && exit.blame === 'config';
    if (isNew && clock.monotonic() >= nextMs) {
      report({ count: exit.count - before, why: exit.why, lines: lastLines(log) });
      reported = exit.count;
      nextMs = clock.monotonic() + reportEveryMs;
    }
    await clock.sleep(readEveryMs, signal).catch(() => {});
  }
}

const mostBytes = 64 * 1024;
const mostLines = 3;
/** Errors and fatal errors of klog, of the kubelet's command line, and a panic. */
const isError = /^([EF]\d{4} |Error: |panic: )/;

/** For people. A log that is not there yet has none. */
export function lastLines(log: string): string[] {
  const lines = tail(log)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const errors = lines.filter((line) => isError.test(line));
  return (errors.length > 0 ? errors : lines).slice(-mostLines);
}

function tail(path: string): string {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch {
    return '';
  }
  try {
    const bytes = Buffer.alloc(mostBytes);
    const start = Math.max(0, fstatSync(fd).size - mostBytes);
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, mostBytes, start));
  } finally {
    closeSync(fd);
  }
}
