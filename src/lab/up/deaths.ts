/** Crashes of a kubelet, from the log of its node: relet keeps starting it, and a person who waits should know. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { Clock } from '../../clock.js';

export interface Deaths {
  count: number;
  /** As relet explains the last one, such as `exit code 1`. */
  why: string;
  /** The kubelet's last lines before it. */
  words: string[];
}

const mostBytes = 256 * 1024;
const mostWords = 3;
const death = /WARN +kubelet exited why=("(?:[^"\\]|\\.)*"|\S+)/;
const ofRelet = /^\d{4}-\d\d-\d\dT/;
/** As klog begins errors and fatal ends; cobra's own; a panic. */
const complaint = /^([EF]\d{4} |Error: |panic: )/;

/** Undefined when none crashed. Exported for its test. */
export function deathsIn(text: string): Deaths | undefined {
  const lines = text.split('\n');
  const at = lines.findLastIndex((line) => death.test(line));
  if (at < 0) return undefined;
  const said = lines.slice(0, at).filter((line) => line.trim() !== '' && !ofRelet.test(line));
  const complaints = said.filter((line) => complaint.test(line));
  return {
    count: lines.filter((line) => death.test(line)).length,
    why: death.exec(lines[at]!)![1]!.replace(/^"|"$/g, ''),
    words: (complaints.length > 0 ? complaints : said).slice(-mostWords),
  };
}

export interface FollowOptions {
  log: string;
  /** How long the log was before the kubelet was started. */
  from: number;
  clock: Clock;
  signal: AbortSignal;
  report(deaths: Deaths): void;
}

const lookEveryMs = 500;
const reportEveryMs = 15_000;

/** Reports the first crash at once, and later ones from time to time, until the signal fires. */
export async function followDeaths({ log, from, clock, signal, report }: FollowOptions): Promise<void> {
  let reported = 0;
  for (let nextMs = clock.monotonic(); !signal.aborted; ) {
    const deaths = deathsSince(log, from);
    if (deaths !== undefined && deaths.count > reported && clock.monotonic() >= nextMs) {
      report(deaths);
      reported = deaths.count;
      nextMs = clock.monotonic() + reportEveryMs;
    }
    await clock.sleep(lookEveryMs, signal).catch(() => {});
  }
}

export const sizeOf = (path: string): number => withFile(path, (fd) => fstatSync(fd).size) ?? 0;

/** Of what was written since the log was so long. */
function deathsSince(path: string, from: number): Deaths | undefined {
  return withFile(path, (fd) => {
    const start = Math.max(from, fstatSync(fd).size - mostBytes);
    const bytes = Buffer.alloc(mostBytes);
    return deathsIn(bytes.toString('utf8', 0, readSync(fd, bytes, 0, mostBytes, start)));
  });
}

/** A log that is not there yet, or was just turned, tells nothing. */
function withFile<T>(path: string, look: (fd: number) => T): T | undefined {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    return look(fd);
  } finally {
    closeSync(fd);
  }
}
