/**
 * Pods that the kubelet rejected after it was restarted: a sign that its config leaves them no room. A restarted kubelet admits
 * every pod again, also those that ran before, so their age shows nothing. A pod that had failed before the restart is known by its uid.
 */
import type { KubeObject } from '../../api/object.js';
import { mostRejectedNamed, type RejectedPods, readRejectedPods } from '../../api/rejected-pods.js';
import { type Clock, rfc3339 } from '../../clock.js';
import { isObject } from '../../json.js';
import { defineRecord } from '../state/json-record.js';

interface PodStatus {
  phase?: string;
  startTime?: string;
  reason?: string;
  message?: string;
}

/** Reasons that kubelets 1.11 to 1.37 write when they do not admit a pod, beside `OutOfcpu` and its like. */
const admissionReasons: ReadonlySet<string> = new Set([
  'AppArmor',
  'InitContainerRestartPolicyForbidden',
  'NodeAffinity',
  'NodeName',
  'NodePorts',
  'NodeSelectorMismatching',
  'PodFeatureUnsupported',
  'PodOSNotSupported',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'SysctlForbidden',
  'TaintToleration',
  'TopologyAffinityError',
  'UnexpectedAdmissionError',
  'UnexpectedPredicateFailureType',
]);

/** Newer kubelets begin the message of every rejection like this, whatever its reason. */
const rejection = 'Pod was rejected: ';
const mostNamed = 20;

export function isRejected(pod: KubeObject): boolean {
  const { phase, reason = '', message = '' } = (pod.status ?? {}) as PodStatus;
  return (
    phase === 'Failed' &&
    (reason.startsWith('OutOf') || admissionReasons.has(reason) || message.startsWith(rejection)) &&
    reason !== 'NodeShutdown'
  );
}

/** The uids of those that are rejected already. */
export const rejectedUids = (pods: KubeObject[]): Set<string> =>
  new Set(pods.filter(isRejected).map(({ metadata }) => metadata.uid ?? ''));

export interface Since {
  /** Rejected before the restart; undefined if the API did not answer. */
  before: ReadonlySet<string> | undefined;
  /** Wall clock. */
  startedAt: number;
}

/** One line for each, for people; the last line counts those that are not named. */
export function rejectedPods(pods: KubeObject[], since: Since): string[] {
  const found = pods.filter((pod) => isRejected(pod) && isSince(pod, since));
  const lines = found.slice(0, mostNamed).map(({ metadata, status }) => {
    const { reason, message = '' } = (status ?? {}) as PodStatus;
    const details = message.slice(0, 1000).replace(rejection, '');
    return `pod ${metadata.namespace}/${metadata.name} was rejected by the kubelet after its restart: ${reason}${details && `: ${details}`}`;
  });
  const rest = found.length - lines.length;
  return rest > 0 ? [...lines, `${rest} more pods were rejected by the kubelet after its restart`] : lines;
}

function isSince(pod: KubeObject, { before, startedAt }: Since): boolean {
  if (before !== undefined) return !before.has(pod.metadata.uid ?? '');
  // Times have whole seconds.
  return Date.parse(lastKubeletWrite(pod) ?? '') + 1000 >= startedAt;
}

/** For a pod that failed, the time at which it failed: a kubelet does not write the status of such a pod again. */
export function lastKubeletWrite({ metadata }: KubeObject): string | undefined {
  const writes = (metadata.managedFields ?? []) as { manager?: string; subresource?: string; time?: string }[];
  const written = writes.find(({ manager, subresource }) => manager === 'kubelet' && subresource === 'status')?.time;
  return written ?? metadata.creationTimestamp;
}

/** Keeps the pods that an earlier kubelet had started. A pod scheduled since then is new: the scheduler may place it elsewhere. */
export function rejectedRunning(pods: KubeObject[], since: Since): RejectedPods | undefined {
  const ran = ({ metadata, status }: KubeObject) => {
    const { startTime = metadata.creationTimestamp ?? '' } = (status ?? {}) as PodStatus;
    // Times have whole seconds.
    return Date.parse(startTime) + 1000 <= since.startedAt;
  };
  const found = pods.filter((pod) => isRejected(pod) && isSince(pod, since) && ran(pod));
  if (found.length === 0) return undefined;
  const names = found.slice(0, mostRejectedNamed).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  return { since: rfc3339(since.startedAt), count: found.length, names };
}

/** Kept while the same config runs: a kubelet that is restarted with it does not reject the same pods again. */
export const rejectedPodsRecord = defineRecord('rejected-pods', isKept, { durable: false });

interface KeptRejection {
  /** As that of the trial: of the config, the kubelet and its flags. */
  key: string;
  found: RejectedPods;
}

function isKept(value: unknown): value is KeptRejection {
  return isObject(value) && typeof value.key === 'string' && readRejectedPods(value.found) !== undefined;
}

export interface PodCheckOptions {
  view(): { pods(signal: AbortSignal): Promise<KubeObject[]> } | undefined;
  since(): Since;
  onFound(warnings: string[], ran: RejectedPods | undefined): void;
  clock: Clock;
}

/** Since the kubelet was healthy. It admits its pods as it starts, and their status is in the API within seconds. */
const lookAfterMs = 30_000;

/** Looks for them once after the start, and once more at the end of a trial. For one run of the kubelet. */
export class PodCheck {
  readonly #options: PodCheckOptions;
  #found = 0;

  constructor(options: PodCheckOptions) {
    this.#options = options;
  }

  async afterStart(signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(lookAfterMs, signal).catch(() => {});
    if (!signal.aborted) await this.look(signal);
  }

  /** Never rejects. */
  async look(signal: AbortSignal): Promise<void> {
    const { view, since, onFound } = this.#options;
    const pods = await view()
      ?.pods(signal)
      .catch(() => undefined);
    if (signal.aborted) return;
    const found = rejectedPods(pods ?? [], since());
    if (found.length > this.#found) onFound(found, rejectedRunning(pods ?? [], since()));
    this.#found = Math.max(this.#found, found.length);
  }
}
