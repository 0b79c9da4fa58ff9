/** An Event of a set for each change of what it does, so that `kubectl describe` and alerts show it. */
import type { NodeConfigSet, NodeConfigSetStatus } from '../api/node-config-set.js';
import { rfc3339 } from '../clock.js';
import type { KubeClient } from '../kube/client.js';
import { events } from '../kube/resource-type.js';
import type { Log } from '../log.js';
import { shorten } from '../shorten.js';

interface EventOptions {
  client: KubeClient;
  signal: AbortSignal;
  log: Log;
}

/** Where the Events of cluster-scoped objects are. */
const namespace = 'default';

/** Only where the reason, or the revision, is another one. That it could not be written is logged and changes nothing. */
export async function recordEvent(
  { client, signal, log }: EventOptions,
  set: NodeConfigSet,
  status: NodeConfigSetStatus,
): Promise<void> {
  const [before, now] = [set.status, status].map((one) => one?.conditions?.find(({ type }) => type === 'Ready'));
  const isSame = before?.reason === now?.reason && set.status?.updateRevision === status.updateRevision;
  if (now === undefined || isSame) return;
  const { name, uid } = set.metadata;
  const isStalled = status.conditions?.some((one) => one.type === 'Stalled' && one.status === 'True');
  const at = rfc3339(client.clock.now());
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace, generateName: `${name}.` },
    involvedObject: { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfigSet', name, ...(uid && { uid }) },
    type: isStalled ? 'Warning' : 'Normal',
    reason: now.reason,
    message: shorten(now.message, 1000),
    source: { component: 'relet-controller' },
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  };
  await client.create(events, { namespace }, event, { signal }).catch((error: unknown) => {
    log.debug('cannot write an Event', { set: name, error });
  });
}
