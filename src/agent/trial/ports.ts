/**
 * Is it the kubelet that answers? A kubelet whose port is taken answers on its healthz port for a moment and then exits, and
 * an answer may come from another process. So an answer counts when the process that relet started lives, and has both
 * ports. What is found is only true if the process still lives afterwards: of one that has ended nothing can be seen.
 */

import type { ProcessIdentity } from '../../proc.js';
import type { Host } from '../drivers/host.js';
import type { Accepted } from '../validate/judging.js';
import type { Health } from './trial.js';

export interface PortParts {
  host: Pick<Host, 'ownerOf' | 'identify'>;
  kubelet: { process: ProcessIdentity | undefined };
}

/** A kubelet opens its ports within milliseconds of each other. After that, a port that nobody has is no evidence. */
export const patienceMs = 1000;

export function ownsPorts(
  { host, kubelet }: PortParts,
  { healthz, serves }: Pick<Accepted, 'healthz' | 'serves'>,
  answeredForMs: number,
): { isAlive: boolean; taken?: Health['taken'] } {
  const child = kubelet.process;
  if (child === undefined) return { isAlive: false };
  const ports = [healthz, serves].filter((port) => port !== undefined);
  const owners = ports.map((port) => ({ port: port.port, owner: host.ownerOf(port, child) }));
  for (const { port, owner } of owners)
    if (typeof owner === 'number') return { isAlive: false, taken: { port, pid: owner } };
  const hasAll = owners.every(({ owner }) => owner === 'child');
  const lives = host.identify(child.pid)?.startTime === child.startTime;
  return { isAlive: lives && (hasAll || answeredForMs >= patienceMs) };
}
