/** Events of a node about its config, and the cause of its error. */
import { ApiError } from '../kube/api-error.js';
import { events } from '../kube/resource-type.js';
import { oneLine } from '../visible-text.js';
import type { Cluster } from './config-maps.js';
import type { ConfiguredNode } from './configured-node.js';

interface Event {
  reason?: string;
  message?: string;
  lastTimestamp?: string;
  involvedObject?: { kind?: string };
}

export interface ConfigEvent {
  at: string;
  reason: string;
  message: string;
}

/** The Events of a node about its config, oldest first. None where they may not be read. */
export async function configEvents({ client, signal }: Cluster, node: string): Promise<ConfigEvent[]> {
  try {
    const fieldSelector = `involvedObject.kind=Node,involvedObject.name=${node}`;
    const { items } = await client.list<Event & { apiVersion: string; kind: string; metadata: { name: string } }>(
      events,
      { namespace: 'default', fieldSelector, signal },
    );
    return items
      .filter(({ reason }) => reason?.startsWith('KubeletConfig'))
      .map(({ reason = '', message = '', lastTimestamp = '' }) => ({
        at: lastTimestamp,
        reason: oneLine(reason),
        message: oneLine(message),
      }))
      .sort((a, b) => a.at.localeCompare(b.at));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ApiError) return [];
    throw error;
  }
}

/** The cause of the error in the status: as the node reports it or, of a relet before 0.1.0, from its Events. */
export async function causeOfError(cluster: Cluster, node: ConfiguredNode): Promise<string | undefined> {
  return node.cause ?? (node.status.error === undefined ? undefined : causeInEvents(cluster, node));
}

/** Only for nodes whose relet reports no cause: it wrote the cause behind the error in the text of an Event. */
async function causeInEvents(cluster: Cluster, { name, status }: ConfiguredNode): Promise<string | undefined> {
  const { error, assigned } = status;
  const { uid, resourceVersion } = assigned?.configMap ?? {};
  const config = uid === undefined ? 'local config: ' : `, UID: ${uid}, ResourceVersion: ${resourceVersion}, `;
  const found = (await configEvents(cluster, name)).findLast(
    ({ message }) => message.includes(config) && message.includes(`: ${error}: `),
  );
  return found?.message.slice(found.message.indexOf(`: ${error}: `) + error!.length + 4);
}
