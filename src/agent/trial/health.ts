/** Whether the running kubelet is healthy: asks its /healthz, and the API server about the Node; and the baseline before a restart. */
import type { KubeObject } from '../../api/object.js';
import type { Clock } from '../../clock.js';
import { deadline } from '../../kube/requester.js';
import type { HostFiles } from '../host-files.js';
import type { Accepted } from '../validate/validate.js';
import type { HealthzProbe } from './healthz.js';
import { isReady, type NodeView, readyCondition } from './node-view.js';
import { rejectedUids } from './rejected-pods.js';
import type { Health, NodeBefore } from './trial.js';

export interface HealthCheck {
  healthz: Accepted['healthz'];
  probe: HealthzProbe;
  /** Called right after an answer: whether it came from the kubelet. */
  isKubelets(): boolean;
  /** Wall clock, as in the heartbeats of the Node, which come from this same machine. */
  startedAt: number;
  /** Undefined until there is a kubeconfig. */
  view: NodeView | undefined;
  clock: Clock;
  signal: AbortSignal;
}

const checkTimeoutMs = 2000;
const baselineTimeoutMs = 1000;

export async function checkHealth(check: HealthCheck): Promise<Health> {
  // Not AbortSignal.any with AbortSignal.timeout: on Node 20 the garbage collector takes that away before it fires.
  const limit = deadline(check.clock, checkTimeoutMs, check.signal, 'health check');
  try {
    return await checkUntil(limit.signal, check);
  } finally {
    limit.done();
  }
}

async function checkUntil(limit: AbortSignal, check: HealthCheck): Promise<Health> {
  const { healthz, probe, startedAt, view, isKubelets } = check;
  const answered = healthz && (await probe(healthz, limit)) && isKubelets();
  // The API is not asked about a kubelet that is not up yet.
  if (answered === false) return { alive: false, apiAnswers: true, readyAgain: false };
  const asSeen = await askApi(view, startedAt, limit);
  // Without a healthz port the Lease shows whether it is alive, and without the API the running process must do.
  const alive = answered ?? ((asSeen.apiAnswers ? asSeen.renewed : true) && isKubelets());
  return { alive, apiAnswers: asSeen.apiAnswers, readyAgain: asSeen.readyAgain };
}

/** How the node is just before its kubelet is stopped. A trial requires only what was true then. */
export interface Baseline extends NodeBefore {
  /** Uids of the pods that were rejected already; undefined where the API did not answer. Not recorded. */
  rejectedPods?: ReadonlySet<string> | undefined;
}

export interface BaselineOptions {
  view: NodeView | undefined;
  hostFiles: Pick<HostFiles, 'hasEntries'>;
  staticPodPath: string | undefined;
  clock: Clock;
}

export async function takeBaseline({ view, hostFiles, staticPodPath, clock }: BaselineOptions): Promise<Baseline> {
  const staticPods = staticPodPath !== undefined && hostFiles.hasEntries(staticPodPath);
  const unknown = { apiAnswered: false, nodeReady: false, staticPods };
  if (view === undefined) return unknown;
  const limit = deadline(clock, baselineTimeoutMs, undefined, 'baseline');
  try {
    const [node, pods] = await Promise.all([view.node(limit.signal), view.pods(limit.signal).catch(() => undefined)]);
    return { apiAnswered: true, nodeReady: isReady(node), staticPods, rejectedPods: pods && rejectedUids(pods) };
  } catch {
    return unknown;
  } finally {
    limit.done();
  }
}

async function askApi(view: NodeView | undefined, startedAt: number, signal: AbortSignal) {
  const silent = { apiAnswers: false, readyAgain: false, renewed: false };
  if (view === undefined) return silent;
  try {
    const [node, lease] = await Promise.all([view.node(signal), view.lease(signal)]);
    const renewed = renewedSince(lease, startedAt);
    // A heartbeat has whole seconds: one that equals the second of the start may be the old kubelet's.
    const heartbeat = Date.parse(readyCondition(node)?.lastHeartbeatTime ?? '') || 0;
    return { apiAnswers: true, readyAgain: isReady(node) && (renewed || heartbeat >= startedAt), renewed };
  } catch {
    return silent;
  }
}

function renewedSince(lease: KubeObject | undefined, startedAt: number): boolean {
  const { renewTime } = (lease?.spec ?? {}) as { renewTime?: string };
  return (Date.parse(renewTime ?? '') || 0) >= startedAt;
}
