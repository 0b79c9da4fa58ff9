/**
 * The half of the agent that needs the API: what it follows, what it asks, what it writes. Nothing here decides; it calls
 * `sync` when something may have changed, and keeps writing status and events until the API has them.
 */
import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from '../../api/config-error.js';
import { isAlreadyExists, isForbidden, isInvalid, isNotFound } from '../../api/status.js';
import { betaError } from '../../api/upstream-words.js';
import type { Clock } from '../../clock.js';
import { causesOf } from '../../error-causes.js';
import { backoffMs } from '../../kube/backoff.js';
import type { KubeClient } from '../../kube/client.js';
import { configMaps, events, leases, nodes, pods } from '../../kube/resource-type.js';
import { ConnectionError } from '../../kube/transport.js';
import { type ReconcileResult, WorkQueue } from '../../kube/work-queue.js';
import type { Log } from '../../log.js';
import type { Random } from '../../random.js';
import { type EventText, eventObject, rejected, rolledBack } from '../report/events.js';
import { type Report, statusConfig } from '../report/report.js';
import type { Reporter } from '../report/reporter.js';
import { isReady, type NodeView } from '../trial/health.js';
import { type ConfigMap, ConfigMapWatch, type Resolved, resolve, type Target } from './config-map.js';
import type { Instruction, Reference, ReferenceListener } from './reference.js';

/** A connection and whose node it is. */
export interface Connected {
  client: KubeClient;
  nodeName: string;
  reference: Reference;
}

export interface ApiSideOptions extends Connected {
  reporter: Reporter;
  /** One pass of the sync loop. Throws a ConfigError when the reference cannot be followed. */
  sync(api: ApiSide): Promise<ReconcileResult>;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

const backoff = { initialMs: 50, maxMs: 60_000 };
const connectBackoff = { initialMs: 1000, maxMs: 60_000 };
const mostWaitingEvents = 100;
const flushMs = 2000;
/** Most kubelets answer within this time after a restart: a change is then one write, not two or three. */
const statusDelayMs = 2000;
/** How long a fresh assignment may be forbidden before that is an error. */
const permissionPatienceMs = 5000;
/** The controller needs two writes for a grant, 100 ms and more, and reports it in the status, which is watched. */
const permissionRetryMs = (waitedMs: number, random: Random) =>
  Math.max(100, Math.min(waitedMs / 2, 1000)) * (0.5 + 0.5 * random.number());

export class ApiSide {
  readonly configMaps: ConfigMapWatch;
  readonly #options: ApiSideOptions;
  readonly #queue: WorkQueue<'sync' | 'status' | 'events'>;
  readonly #events: object[] = [];
  #serial = 0;
  #reportedRejection: string | undefined;
  /** Whether this process has sent an event about a rollback. */
  #hasReportedRollback = false;
  #forbiddenSinceMs: number | undefined;
  /** The last sync could follow the reference. */
  #isSynced = false;
  /** What was last found urgent to report. */
  #shown: object | undefined;
  /** Of the instruction that the pass under way has read. */
  #generation: number | undefined;
  /** Whether the last request was answered, whatever the answer. */
  answered = false;
  nodeReady = false;

  constructor(options: ApiSideOptions) {
    this.#options = options;
    const { clock, log, signal } = options;
    this.#queue = new WorkQueue({
      clock,
      signal,
      workers: 3,
      backoff,
      random: options.client.random,
      waitBeforeRetry: (ms, until) => options.client.waitBeforeRetry(ms, until),
      reconcile: (key) => this.#reconcile(key),
      // The first failure, and every tenth.
      onRetry: (key, error, failures, waitMs) =>
        log[failures === 1 ? 'info' : failures % 10 === 0 ? 'warn' : 'debug']('will be tried again', {
          what: key,
          error,
          failures,
          waitMs: Math.round(waitMs),
        }),
    });
    this.configMaps = new ConfigMapWatch({ ...options, onChange: () => this.#queue.add('sync') });
  }

  /** Returns when the signal fired and nothing is under way. */
  async run(): Promise<void> {
    const { reference, reporter, signal } = this.#options;
    const onReport = () => {
      if (this.#isUrgent()) this.#queue.add('status');
      else this.#queue.addAfter('status', statusDelayMs);
      this.#reportRejection();
    };
    const deaf = reporter.listen(onReport);
    this.#reportRejection();
    this.#queue.add('sync');
    this.#queue.add('status');
    const listener: ReferenceListener = {
      onInstruction: () => this.#queue.add('sync'),
      // A node that has read its config already need not read it again because it may.
      onGrant: (isGranted) => {
        if (!isGranted || !this.#isSynced) this.#queue.add('sync');
      },
      onStatus: () => this.#queue.add('status'),
    };
    await reference.follow(listener, signal);
    deaf();
    await this.#queue.stopped;
  }

  syncSoon(): void {
    this.#queue.add('sync');
  }

  /** What runs, and what went wrong, is reported at once; what else changes is written together. */
  #isUrgent(): boolean {
    const { report } = this.#options.reporter;
    const shown = report && urgentOf(report);
    const isUrgent = !isDeepStrictEqual(shown, this.#shown);
    this.#shown = shown;
    return isUrgent;
  }

  sendEvent(event: EventText): void {
    const { nodeName, clock } = this.#options;
    this.#hasReportedRollback ||= event.reason === 'KubeletConfigRolledBack';
    this.#events.push(eventObject(nodeName, event, clock.now(), this.#serial++));
    this.#events.splice(0, this.#events.length - mostWaitingEvents);
    this.#queue.add('events');
  }

  /**
   * Each refusal once, whether sync or a start of the kubelet found it. A rollback has an event of its own; it is sent again by a
   * process that finds the rollback of an earlier one, which may have ended before the API server had it.
   */
  #reportRejection(): void {
    const { assigned, configError } = this.#options.reporter.report ?? {};
    const rejection =
      configError?.outcome === 'rejected'
        ? rejected(assigned, betaError(configError), causesOf(configError))
        : undefined;
    if (rejection && rejection.message !== this.#reportedRejection) this.sendEvent(rejection);
    if (configError?.outcome === 'rolled back' && !this.#hasReportedRollback)
      this.sendEvent(rolledBack(assigned, betaError(configError), causesOf(configError)));
    this.#reportedRejection = rejection?.message;
  }

  /** What the reference says now. */
  async instruction(signal: AbortSignal): Promise<Instruction> {
    const instruction = await this.#options.reference.read(signal);
    this.#generation = instruction.generation;
    if (instruction.kind === 'local') this.configMaps.follow(undefined);
    return instruction;
  }

  /** The ConfigMap of the reference, as it is now; watched from here on. */
  resolve(target: Target, signal: AbortSignal): Promise<Resolved> {
    const { namespace, name } = target;
    return resolve(target, async () => {
      try {
        const configMap = await this.#options.client.get<ConfigMap>(configMaps, { namespace, name }, { signal });
        this.configMaps.saw(configMap.metadata?.resourceVersion ?? '');
        this.configMaps.follow(target);
        return configMap;
      } catch (error) {
        // What is forbidden cannot be followed either; what is missing may come back.
        if (!isForbidden(error)) this.configMaps.follow(target);
        throw error;
      }
    });
  }

  /** Waits until all is written, at most for a moment: on the way out. */
  async flush(): Promise<void> {
    const { clock } = this.#options;
    this.#queue.add('status');
    const untilMs = clock.monotonic() + flushMs;
    while (this.#queue.size > 0 && clock.monotonic() < untilMs) await clock.sleep(10);
  }

  readonly view: NodeView = {
    node: async (signal) => {
      const node = await this.#ask(() => this.#options.client.get(nodes, { name: this.#options.nodeName }, { signal }));
      this.nodeReady = isReady(node);
      return node;
    },
    lease: (signal) => {
      const place = { namespace: 'kube-node-lease', name: this.#options.nodeName };
      return this.#ask(() => this.#options.client.get(leases, place, { signal }));
    },
    pods: async (signal) => {
      const fieldSelector = `spec.nodeName=${this.#options.nodeName}`;
      // From the cache of the API server, as kubelets list their pods: without it, servers before 1.31 read all pods from etcd.
      return (await this.#options.client.list(pods, { fieldSelector, resourceVersion: '0', signal })).items;
    },
  };

  /** Absent and forbidden are answers too: the API is there. */
  async #ask<T>(request: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await request();
      this.answered = true;
      return answer;
    } catch (error) {
      this.answered = isNotFound(error) || isForbidden(error);
      if (this.answered) return undefined;
      throw error;
    }
  }

  async #reconcile(key: 'sync' | 'status' | 'events'): Promise<ReconcileResult> {
    const { signal } = this.#options;
    switch (key) {
      case 'sync':
        return this.#sync();
      case 'status':
        return this.#writeStatus(signal);
      case 'events':
        return this.#sendEvents(signal);
    }
  }

  async #writeStatus(signal: AbortSignal): Promise<ReconcileResult> {
    const { reference, reporter } = this.#options;
    const { report } = reporter;
    if (report === undefined) return { kind: 'done' };
    if (await reference.write(report, signal)) reporter.delivered(report);
    return { kind: 'done' };
  }

  async #sync(): Promise<ReconcileResult> {
    const { client, sync, reporter, clock, log } = this.#options;
    try {
      const ending = await sync(this);
      this.#isSynced = true;
      this.#forbiddenSinceMs = undefined;
      // A change that waits for its time is not followed yet.
      reporter.update({
        syncError: undefined,
        ...(ending.kind === 'done' && { observedGeneration: this.#generation }),
      });
      return ending;
    } catch (error) {
      const isDenied = isForbidden((error as Error).cause);
      this.#isSynced = false;
      if (isDenied && this.#forbiddenSinceMs === undefined) log.info('waiting for permission', { error });
      this.#forbiddenSinceMs = isDenied ? (this.#forbiddenSinceMs ?? clock.monotonic()) : undefined;
      const waitedMs = clock.monotonic() - (this.#forbiddenSinceMs ?? Number.NEGATIVE_INFINITY);
      if (waitedMs < permissionPatienceMs)
        return { kind: 'requeue', afterMs: permissionRetryMs(waitedMs, client.random) };
      if (error instanceof ConfigError && !isSilence(error))
        reporter.update({ syncError: error, observedGeneration: this.#generation });
      return { kind: 'retry', error };
    }
  }

  async #sendEvents(signal: AbortSignal): Promise<ReconcileResult> {
    const { client, log } = this.#options;
    for (let event = this.#events[0]; event !== undefined; event = this.#events[0]) {
      try {
        await client.create(events, { namespace: 'default' }, event, { signal });
      } catch (error) {
        // Sent before an answer got lost, or a server that never will take it: either way it need not be sent again.
        if (!isAlreadyExists(error) && !isForbidden(error) && !isInvalid(error)) throw error;
        if (!isAlreadyExists(error)) log.warn('event refused', { error });
      }
      this.#events.shift();
    }
    return { kind: 'done' };
  }
}

const urgentOf = (report: Report) => ({ ...statusConfig({ ...report, assigned: undefined }), held: report.held });

export interface RunApiSideOptions {
  /** Waits for a kubeconfig, for as long as it takes; rejects when the signal fires. */
  connect(signal: AbortSignal): Promise<Connected>;
  onConnected(api: ApiSide): void;
  sync: ApiSideOptions['sync'];
  reporter: Reporter;
  clock: Clock;
  random: Random;
  log: Log;
  signal: AbortSignal;
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

/** The API server did not answer: that is not an error of the reference, and could not be reported. */
function isSilence({ reason, cause }: ConfigError): boolean {
  return (reason === 'DownloadFailed' || reason === 'ReferenceUnreadable') && cause instanceof ConnectionError;
}
