/**
 * Finds and ends what an earlier `relet up` left running because it was killed. Every process of a system carries its
 * directory in its environment, so that nothing is mistaken for one of them and none is missed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Clock } from '../../clock.js';
import { identify, stopProcess } from '../../proc.js';

/** Set for all that `relet up` starts, and inherited by what that starts. */
export const systemVariable = 'RELET_SYSTEM';

const graceMs = 35_000;

/** Resolves with how many were ended. */
export async function stopLeftovers(dir: string, clock: Clock): Promise<number> {
  const stop = async (pids: number[]) => {
    const found = pids.flatMap((pid) => identify(pid) ?? []);
    const ended = await Promise.all(found.map((target) => stopProcess(target, { graceMs, clock })));
    return ended.filter(Boolean).length;
  };
  // First those in front of a kubelet, which stop it and report to the API server; then all others.
  const inFront = processesOf(dir).filter((pid) => read(pid, 'cmdline')[2] === 'kubelet');
  return (await stop(inFront)) + (await stop(processesOf(dir)));
}

function processesOf(dir: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && read(pid, 'environ').includes(`${systemVariable}=${dir}`));
}

/** Empty for a process that is gone, or another user's. */
function read(pid: number, file: 'environ' | 'cmdline'): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
