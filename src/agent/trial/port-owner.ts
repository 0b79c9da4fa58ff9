/**
 * Whether an answer came from the kubelet. A kubelet whose port is taken answers on its healthz port for a moment and then exits,
 * and an answer may come from another process. So an answer counts when the kubelet is running and has both ports.
 */
import type { Clock } from '../../clock.js';
import type { Log } from '../../log.js';
import type { KubeletDriver } from '../drivers/driver.js';
import type { Accepted } from '../validate/validate.js';
import type { Health } from './trial.js';

/** A kubelet opens its ports within milliseconds of each other. After that, a port that nobody has proves nothing. */
export const patienceMs = 1000;
/** To find the owner of a port, every process is looked at. */
const checkAgainMs = 5000;

export interface PortCheckOptions {
  driver: Pick<KubeletDriver, 'portOwners'>;
  clock: Clock;
  log: Log;
}

/** For one run of the kubelet. */
export class PortCheck {
  readonly #options: PortCheckOptions;
  readonly #ports: Pick<Accepted, 'healthz' | 'serves'>;
  /** Of the first answer, from the kubelet or from another process. */
  #answeredMs: number | undefined;
  #againMs = 0;
  /** The port that another process has. */
  taken: Health['taken'];

  constructor(options: PortCheckOptions, ports: Pick<Accepted, 'healthz' | 'serves'>) {
    this.#options = options;
    this.#ports = ports;
  }

  /** Called right after an answer. */
  isKubelets(): boolean {
    const { driver, clock, log } = this.#options;
    const now = clock.monotonic();
    this.#answeredMs ??= now;
    if (now < this.#againMs) return false;
    const { isAlive, taken } = ownsPorts(driver, this.#ports, now - this.#answeredMs);
    if (taken && this.taken === undefined) log.warn('another process has a port of the kubelet', { ...taken });
    if (taken) this.#againMs = now + checkAgainMs;
    this.taken = taken;
    return isAlive;
  }
}

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
