/**
 * Waits for the permission to read the ConfigMap of a new assignment. The controller grants it within moments, so a forbidden read is
 * retried quickly, and becomes an error only after some seconds.
 */
import { isForbidden } from '../../api/status.js';
import type { Clock } from '../../clock.js';
import type { Log } from '../../log.js';
import type { Random } from '../../random.js';
import type { Instruction } from './reference.js';

export interface PermissionWaitOptions {
  client: { random: Random };
  clock: Clock;
  log: Log;
}

/** How long a fresh assignment may be forbidden before that is an error. */
const patienceMs = 5000;
/** How long the condition Granted is awaited before the ConfigMap is read without it. */
const grantPatienceMs = 1000;
/** The controller needs two writes for a grant, 100 ms and more, and reports it in the status, which is watched. */
const retryMs = (waitedMs: number, random: Random) =>
  Math.max(100, Math.min(waitedMs / 2, 1000)) * (0.5 + 0.5 * random.number());

export class PermissionWait {
  readonly #options: PermissionWaitOptions;
  #forbiddenSinceMs: number | undefined;
  #ungranted: { generation: number | undefined; sinceMs: number } | undefined;
  /** The last pass could read all it needed. */
  #hasRead = false;

  constructor(options: PermissionWaitOptions) {
    this.#options = options;
  }

  /** The controller has not processed this generation yet: a read now would be forbidden. */
  grantWaitMs({ kind, generation, awaitsGrant }: Instruction): number {
    const { clock } = this.#options;
    if (kind !== 'source' || !awaitsGrant) {
      this.#ungranted = undefined;
      return 0;
    }
    const now = clock.monotonic();
    if (this.#ungranted?.generation !== generation) this.#ungranted = { generation, sinceMs: now };
    this.#hasRead = false;
    return Math.max(0, this.#ungranted!.sinceMs + grantPatienceMs - now);
  }

  /** The pass has read all it needed. */
  granted(): void {
    this.#hasRead = true;
    this.#forbiddenSinceMs = undefined;
  }

  /** How long to wait for a permission that a pass lacked; undefined: its failure is an error. */
  retryMs(error: unknown): number | undefined {
    const { client, clock, log } = this.#options;
    const isDenied = isForbidden((error as Error).cause);
    this.#hasRead = false;
    if (isDenied && this.#forbiddenSinceMs === undefined) log.info('waiting for permission', { error });
    this.#forbiddenSinceMs = isDenied ? (this.#forbiddenSinceMs ?? clock.monotonic()) : undefined;
    if (this.#forbiddenSinceMs === undefined) return undefined;
    const waitedMs = clock.monotonic() - this.#forbiddenSinceMs;
    return waitedMs < patienceMs ? retryMs(waitedMs, client.random) : undefined;
  }

  /** A node that has read its config need not read it again when it is granted. */
  isNews(isGranted: boolean): boolean {
    return !isGranted || !this.#hasRead;
  }
}
