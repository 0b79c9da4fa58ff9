/**
 * Delivers the notices of sets to a webhook, asynchronously: no rollout waits for it. At least once: the id of the last delivered
 * notice is in the status of its set (`status.notified`), so the next leader delivers the rest.
 */
import type { NodeConfigSet } from '../api/node-config-set.js';
import type { Clock } from '../clock.js';
import { WorkQueue } from '../kube/work-queue.js';
import type { Log } from '../log.js';
import type { Random } from '../random.js';
import type { ControllerCounters } from './metrics.js';
import { isDue, type Notice, noticeOf } from './notices.js';

/** Throws if the receiver has not taken it. The error has neither token nor URL in it. */
export type SendNotice = (notice: Notice, signal: AbortSignal) => Promise<void>;

export interface NotifierOptions {
  send: SendNotice;
  clock: Clock;
  random: Random;
  log: Log;
  counters: Pick<ControllerCounters, 'notices'>;
  signal: AbortSignal;
  /** The status of the set has to be written again. */
  onDelivered(set: string): void;
}

const mostWaiting = 100;
/** Attempts before a notice is dropped: with this backoff some six hours. */
const mostAttempts = 80;
const backoff = { initialMs: 1000, maxMs: 300_000 };

export class Notifier {
  readonly #options: NotifierOptions;
  /** By id, the oldest first. */
  readonly #waiting = new Map<string, Notice>();
  /** By set: the last notice that was queued, and the last that was delivered. */
  readonly #queued = new Map<string, string>();
  readonly #delivered = new Map<string, string>();
  readonly #queue: WorkQueue;

  constructor(options: NotifierOptions) {
    const { clock, random, signal } = options;
    this.#options = options;
    this.#queue = new WorkQueue({
      ...{ clock, random, signal, backoff },
      reconcile: async (id, signal) => {
        const notice = this.#waiting.get(id);
        if (notice !== undefined) await this.#deliver(notice, signal);
        return { kind: 'done' };
      },
      onRetry: (id, error, failures) => this.#failed(id, error, failures),
    });
  }

  /** With the status as it is in the API now. */
  observe(set: NodeConfigSet): void {
    const notice = noticeOf(set);
    if (notice === undefined || this.#queued.get(notice.set) === notice.id) return;
    if (!isDue(notice, set.status?.notified, this.#options.clock.now())) return;
    this.#queued.set(notice.set, notice.id);
    this.#waiting.set(notice.id, notice);
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size > mostWaiting) this.#drop(oldest!, 'too many notices wait');
    this.#count();
    this.#queue.add(notice.id);
  }

  /** The id for `status.notified`. */
  delivered(set: string): string | undefined {
    return this.#delivered.get(set);
  }

  /** The set is gone. */
  forget(set: string): void {
    this.#queued.delete(set);
    this.#delivered.delete(set);
  }

  async #deliver(notice: Notice, signal: AbortSignal): Promise<void> {
    await this.#options.send(notice, signal);
    const { counters, log, onDelivered } = this.#options;
    this.#waiting.delete(notice.id);
    counters.notices.delivered++;
    this.#count();
    log.info('notice delivered', { set: notice.set, event: notice.event, revision: notice.revision });
    // An older one may be delivered after a newer one.
    if (this.#queued.get(notice.set) !== notice.id) return;
    this.#delivered.set(notice.set, notice.id);
    onDelivered(notice.set);
  }

  #failed(id: string, error: unknown, failures: number): void {
    const { counters, log } = this.#options;
    counters.notices.failures++;
    const set = this.#waiting.get(id)?.set;
    if (failures % 5 === 1) log.warn('notice not delivered, will retry', { set, error, failures });
    if (failures >= mostAttempts) this.#drop(id, 'it failed too often');
  }

  #drop(id: string, why: string): void {
    const { counters, log } = this.#options;
    const { set, event } = this.#waiting.get(id) ?? {};
    this.#waiting.delete(id);
    counters.notices.dropped++;
    this.#count();
    log.warn('notice dropped', { set, event, why });
  }

  #count(): void {
    this.#options.counters.notices.waiting = this.#waiting.size;
  }
}
