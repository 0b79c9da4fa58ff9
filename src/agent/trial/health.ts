/**
 * One health check of the running kubelet: its /healthz, whether the kubelet itself answered there, and its Node in the API. Also takes
 * the baseline: the same before a restart.
 */

import { get } from 'node:http';
import type { KubeObject } from '../../api/object.js';
import type { Clock } from '../../clock.js';
import { type Deadline, deadline } from '../../kube/requester.js';
import type { Log } from '../../log.js';
import type { KubeletDriver } from '../drivers/driver.js';
import type { HostFiles } from '../host-files.js';
import type { Accepted } from '../validate/validate.js';
import { rejectedUids } from './rejected-pods.js';
import type { Health, NodeBefore } from './trial.js';

/** The API, as health checks see it; each read throws when the API does not answer. */
export interface NodeView {
  node(signal: AbortSignal): Promise<KubeObject | undefined>;
  /** The same, or as it was read a moment ago. */
  recentNode(signal: AbortSignal): Promise<KubeObject | undefined>;
  /** Until the signal fires. Undefined: not known at present. */
  watchNode(onNode: (node: KubeObject | undefined) => void, signal: AbortSignal): Promise<void>;
  lease(signal: AbortSignal): Promise<KubeObject | undefined>;
  pods(signal: AbortSignal): Promise<KubeObject[]>;
}

export function isReady(node: KubeObject | undefined): boolean {
  return readyCondition(node)?.status === 'True';
}

interface Condition {
  type: string;
  status: string;
  lastHeartbeatTime?: string;
}

function readyCondition(node: KubeObject | undefined): Condition | undefined {
  const { conditions } = (node?.status ?? {}) as { conditions?: Condition[] };
  return conditions?.find(({ type }) => type === 'Ready');
}

/** Whether /healthz answers with 200; never rejects. */
export type HealthzProbe = (
  endpoint: { host: string; port: number },
  limit: { readonly signal: AbortSignal },
) => Promise<boolean>;

export const probeHealthz: HealthzProbe = ({ host, port }, { signal }) =>
  new Promise((resolve) => {
    const request = get({ host, port, path: '/healthz', agent: false, signal }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.once('error', () => resolve(false));
  });

export interface HealthCheck {
  healthz: Accepted['healthz'];
  probe: HealthzProbe;
  /** Called right after an answer: whether it came from the kubelet. */
  isKubelets(): Promise<boolean>;
  /** Reads the Node from the API server; undefined until there is a kubeconfig. */
  nodeCheck: ((limit: Deadline, needsLease: boolean) => Promise<SeenNode>) | undefined;
  clock: Clock;
  signal: AbortSignal;
}

const checkTimeoutMs = 2000;
const baselineTimeoutMs = 1000;

export async function checkHealth(check: HealthCheck): Promise<Health> {
  // Not AbortSignal.any with AbortSignal.timeout: on Node 20 the garbage collector takes that away before it fires.
  const limit = deadline(check.clock, checkTimeoutMs, check.signal, 'health check');
  try {
    return await checkUntil(limit, check);
  } finally {
    limit.done();
  }
}

async function checkUntil(limit: Deadline, check: HealthCheck): Promise<Health> {
  const { healthz, probe, nodeCheck, isKubelets } = check;
  const answered = healthz && (await probe(healthz, limit)) && (await isKubelets());
  // The API is not queried before the kubelet is up.
  if (answered === false) return { alive: false, apiAnswers: true, readyAgain: false };
  const asSeen = (await nodeCheck?.(limit, healthz === undefined)) ?? silent;
  // Without a healthz port, a heartbeat shows whether it is alive; without the API, the running process must suffice.
  const alive = answered ?? ((asSeen.apiAnswers ? asSeen.hasSignOfLife : true) && (await isKubelets()));
  return { alive, apiAnswers: asSeen.apiAnswers, readyAgain: asSeen.readyAgain };
}

/** How the node is just before its kubelet is stopped. A trial requires only what was true then. */
export interface Baseline extends NodeBefore {
  /** Uids of the pods that were rejected already; undefined if the API did not answer. Not recorded. */
  rejectedPods?: ReadonlySet<string> | undefined;
}

export interface BaselineOptions {
  view: NodeView | undefined;
  hostFiles: Pick<HostFiles, 'hasEntries'>;
  staticPodPath: string | undefined;
  clock: Clock;
}

export async function takeBaseline({ view, hostFiles, staticPodPath, clock }: BaselineOptions): Promise<Baseline> {
  const staticPods = staticPodPath !== undefined && (await hostFiles.hasEntries(staticPodPath));
  const unknown = { apiAnswered: false, nodeReady: false, staticPods };
  if (view === undefined) return unknown;
  const limit = deadline(clock, baselineTimeoutMs, undefined, 'baseline');
  try {
    const [node, pods] = await Promise.all([
      view.recentNode(limit.signal),
      view.pods(limit.signal).catch(() => undefined),
    ]);
    return { apiAnswered: true, nodeReady: isReady(node), staticPods, rejectedPods: pods && rejectedUids(pods) };
  } catch {
    return unknown;
  } finally {
    limit.done();
  }
}

export interface SeenNode {
  apiAnswers: boolean;
  readyAgain: boolean;
  /** A heartbeat of the Node, or a renewal of its Lease, later than the start. */
  hasSignOfLife: boolean;
}

const silent: SeenNode = { apiAnswers: false, readyAgain: false, hasSignOfLife: false };
/** A Node that is Ready is read this often: the API server is shared by all nodes. */
const readAgainMs = 60_000;

export interface NodeCheckOptions {
  view(): NodeView | undefined;
  clock: Clock;
}

/** The Node since the start of the kubelet, as the API server shows it. For one run of the kubelet. */
export class NodeCheck {
  readonly #options: NodeCheckOptions;
  #hasSignOfLife = false;
  #readyMs = Number.NEGATIVE_INFINITY;
  #watching: AbortController | undefined;
  /** As the watch delivered it last; undefined while there is none. */
  #watched: KubeObject | undefined;

  constructor(options: NodeCheckOptions) {
    this.#options = options;
  }

  /** A watch costs less than a read with every check, and shows at once that a Node is no longer Ready. */
  watch(): void {
    const view = this.#options.view();
    if (view === undefined || this.#watching !== undefined) return;
    this.#watching = new AbortController();
    const { signal } = this.#watching;
    const onNode = (node: KubeObject | undefined) => {
      if (!signal.aborted) this.#watched = node;
    };
    void view.watchNode(onNode, signal);
  }

  unwatch(): void {
    this.#watching?.abort();
    this.#watching = undefined;
    this.#watched = undefined;
  }

  /** `startedAt` is wall-clock time, like heartbeats, which come from this same machine. `now`: a cached answer is not enough. */
  async check(
    { startedAt, now, needsLease }: { startedAt: number; now: boolean; needsLease: boolean },
    limit: Deadline,
  ): Promise<SeenNode> {
    const { clock } = this.#options;
    const watched = now ? undefined : this.#watched;
    const isFresh = !now && watched === undefined && clock.monotonic() - this.#readyMs < readAgainMs;
    if (isFresh) return { apiAnswers: true, readyAgain: true, hasSignOfLife: true };
    const seen = await this.#ask({ startedAt, needsLease, watched }, limit.signal).catch(() => silent);
    this.#readyMs = seen.readyAgain ? clock.monotonic() : Number.NEGATIVE_INFINITY;
    return seen;
  }

  async #ask(
    { startedAt, needsLease, watched }: { startedAt: number; needsLease: boolean; watched: KubeObject | undefined },
    signal: AbortSignal,
  ): Promise<SeenNode> {
    const view = this.#options.view();
    if (view === undefined) return silent;
    const node = watched ?? (await view.node(signal));
    // A heartbeat has whole seconds: one that equals the second of the start may be the old kubelet's.
    const heartbeat = Date.parse(readyCondition(node)?.lastHeartbeatTime ?? '') || 0;
    this.#hasSignOfLife ||= heartbeat >= startedAt;
    // The Lease is renewed sooner than the heartbeat is written. It decides nothing for a Node that is not Ready.
    if (!this.#hasSignOfLife && (needsLease || isReady(node)))
      this.#hasSignOfLife = renewedSince(await view.lease(signal), startedAt);
    const hasSignOfLife = this.#hasSignOfLife;
    return { apiAnswers: true, readyAgain: isReady(node) && hasSignOfLife, hasSignOfLife };
  }
}

function renewedSince(lease: KubeObject | undefined, startedAt: number): boolean {
  const { renewTime } = (lease?.spec ?? {}) as { renewTime?: string };
  return (Date.parse(renewTime ?? '') || 0) >= startedAt;
}

/** A kubelet opens its ports within milliseconds of each other. After that, a free port proves nothing. */
export const patienceMs = 1000;
/** Finding the owner of a port reads every process. */
const checkAgainMs = 5000;

export interface PortCheckOptions {
  driver: Pick<KubeletDriver, 'portOwners'>;
  clock: Clock;
  log: Log;
}

/**
 * Whether an answer came from the kubelet. A kubelet whose port is taken answers on its healthz port for a moment and then exits,
 * and an answer may come from another process. So an answer counts when the kubelet is running and has both ports. For one run of the
 * kubelet.
 */
export class PortCheck {
  readonly #options: PortCheckOptions;
  readonly #ports: Pick<Accepted, 'healthz' | 'serves'>;
  /** Time of the first answer, from the kubelet or from another process. */
  #answeredMs: number | undefined;
  #againMs = 0;
  /** The port that another process has. */
  taken: Health['taken'];

  constructor(options: PortCheckOptions, ports: Pick<Accepted, 'healthz' | 'serves'>) {
    this.#options = options;
    this.#ports = ports;
  }

  /** Called right after an answer. */
  async isKubelets(): Promise<boolean> {
    const { driver, clock, log } = this.#options;
    const now = clock.monotonic();
    this.#answeredMs ??= now;
    if (now < this.#againMs) return false;
    const { isAlive, taken } = await ownsPorts(driver, this.#ports, now - this.#answeredMs);
    if (taken && this.taken === undefined) log.warn('kubelet port in use by another process', { ...taken });
    if (taken) this.#againMs = now + checkAgainMs;
    this.taken = taken;
    return isAlive;
  }
}

export async function ownsPorts(
  driver: Pick<KubeletDriver, 'portOwners'>,
  { healthz, serves }: Pick<Accepted, 'healthz' | 'serves'>,
  answeredForMs: number,
): Promise<{ isAlive: boolean; taken?: Health['taken'] }> {
  const ports = [healthz, serves].filter((port) => port !== undefined);
  const owners = await driver.portOwners(ports);
  if (owners === undefined) return { isAlive: false };
  for (const [at, owner] of owners.entries())
    if (typeof owner === 'object') return { isAlive: false, taken: { port: ports[at]!.port, by: owner.other } };
  const hasAll = owners.every((owner) => owner === 'kubelet');
  return { isAlive: hasAll || answeredForMs >= patienceMs };
}
