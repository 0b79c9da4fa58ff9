/**
 * Interface for removing a pod from its node. Today it creates an Eviction, which respects PodDisruptionBudgets; on API servers with
 * EvictionRequests, another implementation can use these.
 */

import { ApiError, isConflict, isForbidden, isNotFound } from '../../api/status.js';
import type { KubeClient } from '../../kube/client.js';
import { TimeoutError } from '../../kube/requester.js';
import { pods } from '../../kube/resource-type.js';
import type { DrainPod } from '../../rollout/drain/pods.js';

export interface Evictor {
  /** Undefined: the pod is about to go, or gone. Otherwise why not now. Asking again changes nothing. */
  evict(pod: DrainPod, signal: AbortSignal): Promise<string | undefined>;
}

/** Evicts through the API. If the server is busy, the next pass retries; this one does not wait. */
const timeoutMs = 5000;

export function apiEvictor(client: KubeClient): Evictor {
  return {
    async evict({ metadata }, signal) {
      const { namespace = '', name, uid } = metadata;
      const place = { namespace, name, subresource: 'eviction' };
      // By uid: a pod of the same name that was created meanwhile is another pod.
      const deleteOptions = uid === undefined ? {} : { deleteOptions: { preconditions: { uid } } };
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name }, ...deleteOptions };
      try {
        await client.create(pods, place, eviction, { signal, timeoutMs });
        return undefined;
      } catch (error) {
        signal.throwIfAborted();
        if (isNotFound(error) || isConflict(error)) return undefined;
        if (error instanceof TimeoutError) return 'the API server is busy';
        if (error instanceof ApiError && (isForbidden(error) || error.code === 429 || error.code >= 500))
          return error.status.details?.causes?.[0]?.message ?? error.message;
        throw error;
      }
    },
  };
}
