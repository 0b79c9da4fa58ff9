/** Writes an Event about a cluster-scoped object. A failed write is logged and otherwise ignored. */
import { rfc3339 } from '../clock.js';
import type { KubeClient } from '../kube/client.js';
import { events } from '../kube/resource-type.js';
import type { Log } from '../log.js';
import { shorten } from '../shorten.js';

export interface EventOptions {
  client: KubeClient;
  signal: AbortSignal;
  log: Log;
}

export interface NewEvent {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

/** Namespace of the Events of cluster-scoped objects. */
const namespace = 'default';

export async function recordEvent(
  { client, signal, log }: EventOptions,
  involvedObject: { apiVersion: string; kind: string; name: string; uid?: string },
  { type, reason, message }: NewEvent,
): Promise<void> {
  const { kind, name } = involvedObject;
  const at = rfc3339(client.clock.now());
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace, generateName: `${name}.` },
    involvedObject,
    type,
    reason,
    message: shorten(message, 1000),
    source: { component: 'relet-controller' },
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  };
  await client.create(events, { namespace }, event, { signal }).catch((error: unknown) => {
    log.debug('cannot write an Event', { kind, name, error });
  });
}
