/**
 * Sends events about the Node in order, and retries until the API has them. Also makes one event for each rejection or rollback in the
 * report.
 */
import { isAlreadyExists, isForbidden, isInvalid } from '../../api/status.js';
import { betaError } from '../../api/upstream-words.js';
import { causesOf } from '../../error-causes.js';
import type { KubeClient } from '../../kube/client.js';
import { events } from '../../kube/resource-type.js';
import type { ReconcileResult } from '../../kube/work-queue.js';
import { type EventText, eventObject, eventTime, rejected, rolledBack } from '../report/events.js';
import type { Reporter } from '../report/reporter.js';
import { ApiQueue, type ApiQueueOptions } from './api-queue.js';

export interface EventSenderOptions extends ApiQueueOptions {
  client: ApiQueueOptions['client'] & Pick<KubeClient, 'create'>;
  nodeName: string;
  reporter: Pick<Reporter, 'report' | 'listen'>;
}

const mostWaiting = 100;

export class EventSender {
  readonly #options: EventSenderOptions;
  readonly queue: ApiQueue;
  readonly #waiting: object[] = [];
  #serial = 0;
  /** Time of the newest event. */
  #newestMs = 0;
  #reportedRejection: string | undefined;
  /** This process has sent an event about a rollback. */
  #hasReportedRollback = false;

  constructor(options: EventSenderOptions) {
    this.#options = options;
    this.queue = new ApiQueue('events', options, () => this.#sendWaiting());
    options.reporter.listen(() => this.#reported());
    this.#reported();
  }

  send(event: EventText): void {
    const { nodeName, clock } = this.#options;
    this.#hasReportedRollback ||= event.reason === 'KubeletConfigRolledBack';
    this.#newestMs = eventTime(clock.now(), this.#newestMs, event);
    this.#waiting.push(eventObject(nodeName, event, this.#newestMs, this.#serial++));
    this.#waiting.splice(0, this.#waiting.length - mostWaiting);
    this.queue.soon();
  }

  /**
   * Each rejection once, whether sync or a start of the kubelet found it. A rollback has an event of its own; a process that finds the
   * rollback of an earlier one sends it again, since that one may have ended before the API server had it.
   */
  #reported(): void {
    const { assigned, configError } = this.#options.reporter.report ?? {};
    const rejection =
      configError?.outcome === 'rejected'
        ? rejected(assigned, betaError(configError), causesOf(configError))
        : undefined;
    if (rejection && rejection.message !== this.#reportedRejection) this.send(rejection);
    if (configError?.outcome === 'rolled back' && !this.#hasReportedRollback)
      this.send(rolledBack(assigned, betaError(configError), causesOf(configError)));
    this.#reportedRejection = rejection?.message;
  }

  async #sendWaiting(): Promise<ReconcileResult> {
    const { client, log, signal } = this.#options;
    for (let event = this.#waiting[0]; event !== undefined; event = this.#waiting[0]) {
      try {
        await client.create(events, { namespace: 'default' }, event, { signal });
      } catch (error) {
        // Sent before an answer got lost, or never accepted by this server: either way it is not sent again.
        if (!isAlreadyExists(error) && !isForbidden(error) && !isInvalid(error)) throw error;
        if (!isAlreadyExists(error)) log.warn('event rejected by the API server', { error });
      }
      this.#waiting.shift();
    }
    return { kind: 'done' };
  }
}
