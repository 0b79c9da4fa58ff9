/** Processes as /proc tells of them. Whatever is asked about may be gone by the time of the answer. */
import { readdirSync, readFileSync } from 'node:fs';
import type { ProcessIdentity } from '../state/child-record.js';

export interface ProcessStat {
  /** As in Z for one that has ended, and whose parent has only not looked yet. */
  state: string;
  parent: number;
  /** Clock ticks since boot. */
  startTime: string;
}

/** Fields 3, 4 and 22 of /proc/PID/stat; the second, the name, may itself contain blanks and brackets. */
export function statOf(pid: number): ProcessStat | undefined {
  const text = quietly(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const [state, parent, ...rest] = text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? [];
  const startTime = rest[17];
  return state === undefined || startTime === undefined ? undefined : { state, parent: Number(parent), startTime };
}

/** Undefined when no such process lives. */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = statOf(pid);
  return stat === undefined || stat.state === 'Z' ? undefined : { pid, startTime: stat.startTime };
}

export function pids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** For things that may vanish while one looks at them, or that only root may do. */
export function quietly<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
