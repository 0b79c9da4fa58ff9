/** Pods that the kubelet turned away since it runs with a config: a sign that the config leaves them no room. Pure. */
import type { KubeObject } from '../../api/object.js';

interface PodStatus {
  phase?: string;
  reason?: string;
  message?: string;
}

/** One line for each, for people. */
export function rejectedPods(pods: KubeObject[], since: number): string[] {
  return pods.flatMap((pod) => {
    const { phase, reason = '', message = '' } = (pod.status ?? {}) as PodStatus;
    const isRejected = phase === 'Failed' && (reason.startsWith('OutOf') || reason === 'UnexpectedAdmissionError');
    const { namespace, name, creationTimestamp = '' } = pod.metadata;
    // Times of objects have whole seconds.
    if (!isRejected || Date.parse(creationTimestamp) + 1000 < since) return [];
    return [`pod ${namespace}/${name} was turned away under this config: ${reason}${message && `: ${message}`}`];
  });
}
