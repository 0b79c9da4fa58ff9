/**
 * Whether the API server can be reached, as all requests of one client see it:
 *
 *     reachable ── a connection is refused or breaks ──► unreachable ── any response ──► reachable
 *
 * A retry waits for its backoff and then, while the server is unreachable, until it is reachable. So an outage does not
 * increase any backoff, and all retries proceed after the first response. During an outage each client sends one probe at a
 * time, with jitter: thousands of nodes neither connect at the same moment, nor with all their pending requests.
 */
import type { Clock } from '../clock.js';
import type { Random } from '../random.js';
import { type Backoff, backoffMs } from './backoff.js';
import { TimeoutError } from './deadline.js';
import { ConnectionError } from './transport.js';

export interface ReachabilityOptions {
  clock: Clock;
  /** Sends a cheap request. Any response will do; `answered` and `lost` are called as for every request. */
  probe(signal: AbortSignal): Promise<unknown>;
  random: Random;
}

const probeBackoff: Backoff = { initialMs: 200, maxMs: 5000 };

export class Reachability {
  readonly #options: ReachabilityOptions;
  #isUnreachable = false;
  readonly #waiting = new Set<() => void>();
  /** Ends the probes; undefined while no retry waits. */
  #probes: AbortController | undefined;

  constructor(options: ReachabilityOptions) {
    this.#options = options;
  }

  lost(): void {
    this.#isUnreachable = true;
  }

  answered(): void {
    this.#isUnreachable = false;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Waits before a retry: for `ms`, and then until the server can be reached. Rejects when the signal fires. */
  async waitBeforeRetry(ms: number, signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(ms, signal);
    if (!this.#isUnreachable) return;
    await new Promise<void>((resolve) => {
      const leave = () => {
        signal.removeEventListener('abort', leave);
        this.#waiting.delete(leave);
        if (this.#waiting.size === 0) this.#probes?.abort();
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.add(leave);
      if (this.#probes === undefined) void this.#probeUntilLeft();
    });
    signal.throwIfAborted();
  }

  async #probeUntilLeft(): Promise<void> {
    const { clock, probe, random } = this.#options;
    this.#probes = new AbortController();
    const { signal } = this.#probes;
    for (let failures = 1; !signal.aborted; failures++) {
      await clock.sleep(backoffMs(failures, probeBackoff, random), signal).catch(() => {});
      if (signal.aborted) break;
      await probe(signal).catch((error: unknown) => {
        // Other errors, such as missing credentials, will show in the retries.
        if (!(error instanceof ConnectionError || error instanceof TimeoutError)) this.answered();
      });
    }
    this.#probes = undefined;
    // Another retry may have begun to wait while the last probe ended.
    if (this.#waiting.size > 0) void this.#probeUntilLeft();
  }
}
