/**
 * The agent's connection to the API: reads of the Node, events, and the sync and status loops. It begins once there is a kubeconfig;
 * until then there is no NodeView, and events are dropped.
 *
 *   reference, ConfigMap ── watch ──► sync loop ──► Agent.sync ──► records, restart
 *   reporter ─────────────────────► status writer, event sender ──► API
 */
import type { KubeObject } from '../../api/object.js';
import type { ObserveRequest } from '../../api/observe.js';
import type { Clock } from '../../clock.js';
import { backoffMs } from '../../kube/backoff.js';
import type { KubeClient } from '../../kube/client.js';
import type { Log } from '../../log.js';
import type { Random } from '../../random.js';
import type { EventText } from '../report/events.js';
import type { Reporter } from '../report/reporter.js';
import { ConfigMapWatch } from './config-map.js';
import { EventSender } from './event-sender.js';
import { ApiNodeView } from './node-view.js';
import type { Reference } from './reference.js';
import { StatusWriter } from './status-writer.js';
import { type Sync, SyncLoop } from './sync-loop.js';

/** A connection and whose node it is. */
export interface Connected {
  client: KubeClient;
  nodeName: string;
  reference: Reference;
}

export interface ApiSideOptions {
  /** Waits for a kubeconfig, for as long as it takes; rejects when the signal fires. */
  connect(signal: AbortSignal): Promise<Connected>;
  /** The request of an analysis, if there is one. */
  onObserve?(request: ObserveRequest | undefined): void;
  reporter: Reporter;
  clock: Clock;
  random: Random;
  log: Log;
}

interface Parts {
  view: ApiNodeView;
  syncLoop: SyncLoop;
  status: StatusWriter;
  events: EventSender;
}

const connectBackoff = { initialMs: 1000, maxMs: 60_000 };
const flushMs = 2000;

export class ApiSide {
  readonly #options: ApiSideOptions;
  #parts: Parts | undefined;

  constructor(options: ApiSideOptions) {
    this.#options = options;
  }

  get view(): ApiNodeView | undefined {
    return this.#parts?.view;
  }

  send(event: EventText): void {
    this.#parts?.events.send(event);
  }

  /** The assignment is read again. */
  syncSoon(): void {
    this.#parts?.syncLoop.queue.soon();
  }

  /** Connects as soon as there is a kubeconfig, and works until the signal fires. Never fails: a node runs without it. */
  async run(sync: Sync, signal: AbortSignal): Promise<void> {
    const { connect, reporter, clock, random, log } = this.#options;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        const connected = await connect(signal);
        reporter.node = connected.nodeName;
        await this.#work(connected, sync, signal);
      } catch (error) {
        if (signal.aborted) return;
        // May be temporary, such as a half-written certificate or an exec plugin that fails once.
        log.error('cannot connect to the API server, will retry', { error });
        await clock.sleep(backoffMs(failures, connectBackoff, random), signal).catch(() => {});
      }
    }
  }

  /** Returns when the signal fired and nothing is under way. */
  async #work(connected: Connected, sync: Sync, signal: AbortSignal): Promise<void> {
    const { reporter, clock, log } = this.#options;
    const { client, reference } = connected;
    const options = { ...connected, reporter, clock, log, signal };
    const configMaps = new ConfigMapWatch({ client, clock, log, onChange: () => this.syncSoon(), signal });
    const view = new ApiNodeView(client, connected.nodeName);
    const status = new StatusWriter(options);
    const events = new EventSender(options);
    const syncLoop = new SyncLoop({ ...options, configMaps, sync });
    this.#parts = { view, syncLoop, status, events };
    syncLoop.queue.soon();
    status.queue.soon();
    void status.renew();
    const listener = {
      onInstruction: () => syncLoop.queue.soon(),
      onGrant: (isGranted: boolean) => syncLoop.granted(isGranted),
      onStatus: () => status.queue.soon(),
      onObserve: (request: ObserveRequest | undefined) => this.#options.onObserve?.(request),
      onNode: (node: KubeObject) => view.saw(node),
    };
    await reference.follow(listener, signal);
    await Promise.all(this.#queues.map(({ stopped }) => stopped));
  }

  /** Waits until everything is written, at most for a moment: on the way out. */
  async flush(): Promise<void> {
    const { clock } = this.#options;
    this.#parts?.status.queue.soon();
    const untilMs = clock.monotonic() + flushMs;
    while (!this.#queues.every(({ isIdle }) => isIdle) && clock.monotonic() < untilMs) await clock.sleep(10);
  }

  get #queues() {
    if (this.#parts === undefined) return [];
    const { syncLoop, status, events } = this.#parts;
    return [syncLoop, status, events].map(({ queue }) => queue);
  }
}
