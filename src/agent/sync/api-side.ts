/**
 * The half of the agent that needs the API, put together: the sync loop, the status writer, the event sender and the view of the
 * Node. None of them decides anything about configs.
 *
 *   reference, ConfigMap ── watch ──► sync loop ──► Agent.sync ──► records, restart
 *   reporter ─────────────────────► status writer, event sender ──► API
 */
import type { Clock } from '../../clock.js';
import { backoffMs } from '../../kube/backoff.js';
import type { KubeClient } from '../../kube/client.js';
import type { Log } from '../../log.js';
import type { Random } from '../../random.js';
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

export interface ApiSideOptions extends Connected {
  sync: Sync;
  reporter: Reporter;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

const connectBackoff = { initialMs: 1000, maxMs: 60_000 };
const flushMs = 2000;

export class ApiSide {
  readonly events: EventSender;
  readonly view: ApiNodeView;
  readonly syncLoop: SyncLoop;
  readonly #status: StatusWriter;
  readonly #options: ApiSideOptions;

  constructor(options: ApiSideOptions) {
    this.#options = options;
    const { client, nodeName, clock, log, signal } = options;
    this.view = new ApiNodeView(client, nodeName);
    this.events = new EventSender(options);
    this.#status = new StatusWriter(options);
    const onChange = () => this.syncLoop.soon();
    const configMaps = new ConfigMapWatch({ client, clock, log, onChange, signal });
    this.syncLoop = new SyncLoop({ ...options, configMaps });
  }

  /** Returns when the signal fired and nothing is under way. */
  async run(): Promise<void> {
    const { reference, reporter, signal } = this.#options;
    const stopListening = reporter.listen(() => {
      this.#status.reported();
      this.events.reported(reporter.report ?? {});
    });
    this.events.reported(reporter.report ?? {});
    this.syncLoop.soon();
    this.#status.soon();
    void this.#status.renew();
    const listener = {
      onInstruction: () => this.syncLoop.soon(),
      onGrant: (isGranted: boolean) => this.syncLoop.granted(isGranted),
      onStatus: () => this.#status.soon(),
      onNode: this.view.saw.bind(this.view),
    };
    await reference.follow(listener, signal);
    stopListening();
    await Promise.all(this.#queues.map(({ stopped }) => stopped));
  }

  /** Waits until everything is written, at most for a moment: on the way out. */
  async flush(): Promise<void> {
    const { clock } = this.#options;
    this.#status.soon();
    const untilMs = clock.monotonic() + flushMs;
    while (!this.#queues.every(({ isIdle }) => isIdle) && clock.monotonic() < untilMs) await clock.sleep(10);
  }

  get #queues() {
    return [this.syncLoop, this.#status, this.events].map(({ queue }) => queue);
  }
}

export interface RunApiSideOptions extends Omit<ApiSideOptions, keyof Connected> {
  /** Waits for a kubeconfig, for as long as it takes; rejects when the signal fires. */
  connect(signal: AbortSignal): Promise<Connected>;
  onConnected(api: ApiSide): void;
  random: Random;
}

/** Connects as soon as there is a kubeconfig, and works until the signal fires. Never fails: a node runs without it. */
export async function runApiSide(options: RunApiSideOptions): Promise<void> {
  const { connect, onConnected, sync, reporter, clock, random, log, signal } = options;
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      const connected = await connect(signal);
      reporter.node = connected.nodeName;
      const api = new ApiSide({ ...connected, reporter, clock, log, signal, sync });
      onConnected(api);
      await api.run();
    } catch (error) {
      if (signal.aborted) return;
      // Such as a certificate that is half written, or a plugin that fails once.
      log.error('cannot connect to the API server, will retry', { error });
      await clock.sleep(backoffMs(failures, connectBackoff, random), signal).catch(() => {});
    }
  }
}
