/**
 * Is it the kubelet that answers? A kubelet whose port is taken answers on its healthz port for a moment and then exits, and
 * an answer may come from another process. So an answer counts when the process that relet started lives, and has both
 * ports.
 */

import type { KubeletDriver } from '../drivers/driver.js';
import type { Accepted } from '../validate/judging.js';
import type { Health } from './trial.js';

/** A kubelet opens its ports within milliseconds of each other. After that, a port that nobody has is no evidence. */
export const patienceMs = 1000;

export function ownsPorts(
  driver: Pick<KubeletDriver, 'portOwners'>,
  { healthz, serves }: Pick<Accepted, 'healthz' | 'serves'>,
  answeredForMs: number,
): { isAlive: boolean; taken?: Health['taken'] } {
  const ports = [healthz, serves].filter((port) => port !== undefined);
  const owners = driver.portOwners(ports);
  if (owners === undefined) return { isAlive: false };
  for (const [at, owner] of owners.entries())
    if (typeof owner === 'object') return { isAlive: false, taken: { port: ports[at]!.port, by: owner.other } };
  const hasAll = owners.every((owner) => owner === 'kubelet');
  return { isAlive: hasAll || answeredForMs >= patienceMs };
}
