/** The Lease that shows when the controller last checked the guards; see `guardsLease`. */

import { configNamespace, guardsLease } from '../api/node-config.js';
import type { KubeObject } from '../api/object.js';
import { isAlreadyExists, isNotFound } from '../kube/api-error.js';
import type { KubeClient } from '../kube/client.js';
import { leases } from '../kube/resource-type.js';
import { rfc3339Micro } from '../time.js';

/** Three checks may fail before it runs out. */
export const guardsCheckedEveryMs = 60_000;
const durationSeconds = (3 * guardsCheckedEveryMs) / 1000;

export async function renewGuardsLease(client: KubeClient, signal: AbortSignal): Promise<void> {
  const place = { namespace: configNamespace, name: guardsLease };
  const renewTime = rfc3339Micro(client.clock.now());
  const spec = { holderIdentity: 'relet-controller', leaseDurationSeconds: durationSeconds, renewTime };
  const present = await client.get<KubeObject>(leases, place, { signal }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  if (present !== undefined) return void (await client.update(leases, place, { ...present, spec }, { signal }));
  const metadata = { ...place, labels: { 'app.kubernetes.io/managed-by': 'relet' } };
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
  await client.create(leases, { namespace: configNamespace }, lease, { signal }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}
