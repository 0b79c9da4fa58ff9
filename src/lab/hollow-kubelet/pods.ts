/**
 * Deletion of pods on a hollow node: no container ran, so nothing has to stop. A pod in deletion is reported as ended and
 * removed, as a kubelet does once the last container ended; without that a drain would never finish.
 */
import type { KubeObject } from '../../api/object.js';
import { isConflict, isNotFound } from '../../api/status.js';
import { backoffMs } from '../../kube/backoff.js';
import type { KubeClient } from '../../kube/client.js';
import { pods } from '../../kube/resource-type.js';
import { watchLoop } from '../../kube/watch.js';
import type { Log } from '../../log.js';

export interface PodOptions {
  client: KubeClient;
  /** The name of the Node. */
  node: string;
  log: Log;
  signal: AbortSignal;
}

/** Runs until the signal fires. */
export async function finishPods({ client, node, log, signal }: PodOptions): Promise<void> {
  const finishing = new Set<string>();
  const look = (pod: KubeObject) => {
    const uid = pod.metadata.uid ?? '';
    if (pod.metadata.deletionTimestamp === undefined || finishing.has(uid)) return;
    finishing.add(uid);
    void finish({ client, node, log, signal }, pod).finally(() => finishing.delete(uid));
  };
  await watchLoop<KubeObject>(client, {
    type: pods,
    fieldSelector: `spec.nodeName=${node}`,
    signal,
    onList: (all) => all.forEach(look),
    onChange: (type, pod) => type !== 'DELETED' && look(pod),
    onFailure: (error, doing) => log.error('Failed to watch pods, will retry', { doing, error }),
  });
}

/** Retries until the pod is deleted: there may be no further event. */
async function finish({ client, log, signal }: PodOptions, { metadata }: KubeObject): Promise<void> {
  const place = { namespace: metadata.namespace ?? '', name: metadata.name };
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      const status = { phase: 'Succeeded', conditions: [{ type: 'Ready', status: 'False', reason: 'PodCompleted' }] };
      await client.patch(pods, { ...place, subresource: 'status' }, { status }, { as: 'strategic', signal });
      const preconditions = metadata.uid === undefined ? {} : { preconditions: { uid: metadata.uid } };
      await client.delete(pods, place, { gracePeriodSeconds: 0, ...preconditions, signal });
      log.info('Pod ended', { pod: `${place.namespace}/${place.name}` });
      return;
    } catch (error) {
      // Deleted already, or replaced by another pod of its name.
      if (signal.aborted || isNotFound(error) || isConflict(error)) return;
      log.error('Failed to delete pod, will retry', { pod: `${place.namespace}/${place.name}`, error });
      await client.clock
        .sleep(backoffMs(failures, { initialMs: 200, maxMs: 7000 }, client.random), signal)
        .catch(() => {});
    }
  }
}
