/** Reads processes from /proc. A process may have exited by the time its answer is used. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Clock } from './clock.js';
import { isObject } from './json.js';

export interface ProcessIdentity {
  pid: number;
  /** Clock ticks since boot, from /proc: a pid is used again, a pair of pid and start time is not. */
  startTime: string;
}

export function isProcessIdentity(value: unknown): value is ProcessIdentity {
  return isObject(value) && Number.isInteger(value.pid) && typeof value.startTime === 'string';
}

export interface ProcessStat {
  /** Z: it exited, and its parent has not reaped it yet. */
  state: string;
  parent: number;
  /** CPU time that it has used. */
  cpuMs: number;
  /** Clock ticks since boot. */
  startTime: string;
}

const ticksPerSecond = 100;

/** Fields 3, 4, 14, 15 and 22 of /proc/PID/stat; the second, the name, may itself contain blanks and brackets. */
export function statOf(pid: number): ProcessStat | undefined {
  const text = quietly(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const [state, parent, ...rest] = text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? [];
  const [user, system, startTime] = [rest[9], rest[10], rest[17]];
  if (state === undefined || startTime === undefined) return undefined;
  const cpuMs = ((Number(user) + Number(system)) * 1000) / ticksPerSecond;
  return { state, parent: Number(parent), cpuMs, startTime };
}

/** Undefined when no such process runs. A zombie does not run: PID 1 of a container may never reap it. */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = statOf(pid);
  return stat === undefined || stat.state === 'Z' ? undefined : { pid, startTime: stat.startTime };
}

/** Changes with every boot of the machine. */
export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

export function pids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** For a lock, to check whether its holder runs. */
export const systemProcesses = { bootId, identify };

export interface StopOptions {
  /** From SIGTERM to SIGKILL. */
  graceMs: number;
  clock: Clock;
}

const checkEveryMs = 20;

/** Stops a process that is not our child, and waits until it is gone. True when it was still there. */
export async function stopProcess(target: ProcessIdentity, { graceMs, clock }: StopOptions): Promise<boolean> {
  const isRunning = () => identify(target.pid)?.startTime === target.startTime;
  if (!isRunning()) return false;
  kill(target.pid, 'SIGTERM');
  const deadline = clock.monotonic() + graceMs;
  while (isRunning()) {
    if (clock.monotonic() >= deadline) kill(target.pid, 'SIGKILL');
    await clock.sleep(checkEveryMs);
  }
  return true;
}

/** Harmless when the process is gone. */
export function kill(pid: number, signal: NodeJS.Signals): void {
  quietly(() => process.kill(pid, signal));
}

/** For files and processes that may vanish while they are read, and for what only root may do. */
export function quietly<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
