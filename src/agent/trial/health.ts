/** Is the running kubelet well? Asks its /healthz, and the API what it thinks of the Node. */
import { get } from 'node:http';
import type { KubeObject } from '../../api/object.js';
import { systemClock } from '../../clock.js';
import { deadline } from '../../kube/deadline.js';
import type { Accepted } from '../validate/judging.js';
import type { Health } from './trial.js';

/** What health needs from the API; each throws when the API does not answer. */
export interface NodeView {
  node(signal: AbortSignal): Promise<KubeObject | undefined>;
  lease(signal: AbortSignal): Promise<KubeObject | undefined>;
  pods(signal: AbortSignal): Promise<KubeObject[]>;
}

export interface HealthQuestion {
  healthz: Accepted['healthz'];
  /** Asked right after a sign of life: whether it came from the kubelet. */
  isKubelets(): boolean;
  /** Wall clock; the node's signs of life carry wall-clock times of this same machine. */
  startedAt: number;
  /** Undefined until there is a kubeconfig. */
  view: NodeView | undefined;
  signal: AbortSignal;
  /** How long one answer may take. Default 2 s. */
  timeoutMs?: number;
}

export async function look(question: HealthQuestion): Promise<Health> {
  // Not AbortSignal.any with AbortSignal.timeout: on Node 20 the garbage collector takes that away before it fires.
  const limit = deadline(systemClock, question.timeoutMs ?? 2000, question.signal, 'look at the kubelet');
  try {
    return await lookUntil(limit.signal, question);
  } finally {
    limit.done();
  }
}

async function lookUntil(limit: AbortSignal, question: HealthQuestion): Promise<Health> {
  const { healthz, startedAt, view, isKubelets } = question;
  const answered = healthz && (await healthzAnswers(healthz, limit)) && isKubelets();
  // The API is not troubled about a kubelet that is not up yet.
  if (answered === false) return { alive: false, apiAnswers: true, readyAgain: false };
  const asSeen = await askApi(view, startedAt, limit);
  // Without a healthz port the Lease is the sign of life, and without the API the living process has to do.
  const alive = answered ?? ((asSeen.apiAnswers ? asSeen.renewed : true) && isKubelets());
  return { alive, apiAnswers: asSeen.apiAnswers, readyAgain: asSeen.readyAgain };
}

export function isReady(node: KubeObject | undefined): boolean {
  return readyCondition(node)?.status === 'True';
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

interface Condition {
  type: string;
  status: string;
  lastHeartbeatTime?: string;
}

function readyCondition(node: KubeObject | undefined): Condition | undefined {
  const { conditions } = (node?.status ?? {}) as { conditions?: Condition[] };
  return conditions?.find(({ type }) => type === 'Ready');
}

function healthzAnswers({ host, port }: { host: string; port: number }, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host, port, path: '/healthz', agent: false, signal }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.once('error', () => resolve(false));
  });
}
