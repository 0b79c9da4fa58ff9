/**
 * A work queue with a single item, for work that needs the API: retried with backoff, and at once when the API server can be reached
 * again.
 */
import type { Clock } from '../../clock.js';
import type { KubeClient } from '../../kube/client.js';
import { type ReconcileResult, WorkQueue } from '../../kube/work-queue.js';
import type { Log } from '../../log.js';

export interface ApiQueueOptions {
  client: Pick<KubeClient, 'random' | 'waitBeforeRetry'>;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

const backoff = { initialMs: 50, maxMs: 60_000 };

export class ApiQueue {
  readonly #what: string;
  readonly #queue: WorkQueue;

  constructor(what: string, { client, clock, log, signal }: ApiQueueOptions, work: () => Promise<ReconcileResult>) {
    this.#what = what;
    this.#queue = new WorkQueue({
      clock,
      signal,
      backoff,
      random: client.random,
      waitBeforeRetry: (ms, until) => client.waitBeforeRetry(ms, until),
      reconcile: work,
      // The first failure and every tenth are for operators, the others for debugging.
      onRetry: (key, error, failures, waitMs) =>
        log[failures === 1 ? 'info' : failures % 10 === 0 ? 'warn' : 'debug']('will be tried again', {
          what: key,
          error,
          failures,
          waitMs: Math.round(waitMs),
        }),
    });
  }

  soon(): void {
    this.#queue.add(this.#what);
  }

  after(ms: number): void {
    this.#queue.addAfter(this.#what, ms);
  }

  /** Nothing is queued or under way. */
  get isIdle(): boolean {
    return this.#queue.size === 0;
  }

  /** Resolves when the signal has fired and nothing is under way. */
  get stopped(): Promise<void> {
    return this.#queue.stopped;
  }
}
