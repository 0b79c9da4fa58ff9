/** Data of the configs page: the ConfigMaps with kubelet configs, which nodes and sets use them and since when, and which are unused. */
import { configNamespaces } from '../../api/node-config.js';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import type { ConfigMap } from '../../api/object.js';
import { ApiError, isForbidden } from '../../api/status.js';
import { isOverlay } from '../../config/overlay.js';
import { addUses, addUsesOfSet, keyOf, labelledConfigMaps, type Uses } from '../../fleet/config-maps.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { configMaps } from '../../kube/resource-type.js';
import { byNaturalOrder } from '../../natural-order.js';
import type { ConfigDetails, ConfigSummary } from '../wire.js';
import type { Reader } from './reader.js';
import { timeOf } from './row.js';
import type { Session } from './sessions.js';
import { timelineOf } from './timeline.js';

export async function listConfigs(session: Session, signal: AbortSignal): Promise<ConfigSummary[]> {
  await session.view.listed(signal);
  const uses = usesOf(session.view.nodes.values(), session.view.sets.values());
  const found = await readable(session, signal);
  return found.map((one) => summaryOf(one, uses)).sort((a, b) => b.createdAt - a.createdAt);
}

const mostNodes = 100;

export interface FoundConfig extends Pick<ConfigMap, 'metadata'> {
  documents: ConfigDetails['documents'];
}

/** With the text of each key. */
export async function configDocuments(
  { client, signal }: Pick<Reader, 'client' | 'signal'>,
  place: { namespace: string; name: string },
): Promise<FoundConfig> {
  const { metadata, data = {} } = await client.get<ConfigMap>(configMaps, place, { signal });
  const documents = Object.entries(data).map(([key, text]) => [key, { text, isOverlay: isOverlay(text) }]);
  return { metadata, documents: Object.fromEntries(documents) };
}

export async function configDetails(
  session: Session,
  found: FoundConfig,
  { signal, nowMs }: { signal: AbortSignal; nowMs: number },
): Promise<ConfigDetails> {
  await session.view.listed(signal);
  const { nodes, sets } = session.view;
  const { namespace = '', name } = found.metadata;
  const uses = usesOf(nodes.values(), sets.values());
  const all = timelineOf(nodes.values(), { from: 0, to: nowMs });
  return {
    ...summaryOf(found, uses),
    documents: found.documents,
    nodeNames: [...(uses.now.get(`${namespace}/${name}`) ?? [])].sort(byNaturalOrder).slice(0, mostNodes),
    history: all.changes.filter(({ from, to }) => from === name || to === name).slice(0, mostNodes),
  };
}

/** In all namespaces; for a user who may not list all, in those where relet keeps configs. */
async function readable(session: Session, signal: AbortSignal): Promise<ConfigMap[]> {
  const cluster = { client: session.client, signal };
  try {
    return await labelledConfigMaps(cluster, {});
  } catch (error) {
    if (!isForbidden(error)) throw error;
  }
  const lists = configNamespaces.map((namespace) =>
    labelledConfigMaps(cluster, { namespace }).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      return [];
    }),
  );
  return (await Promise.all(lists)).flat();
}

function usesOf(nodes: Iterable<ConfiguredNode>, sets: Iterable<NodeConfigSet>): Uses {
  const uses: Uses = { now: new Map(), history: new Map(), sets: new Map() };
  for (const node of nodes) addUses(uses, node);
  for (const set of sets) addUsesOfSet(uses, set);
  return uses;
}

function summaryOf(configMap: Pick<ConfigMap, 'metadata'>, uses: Uses): ConfigSummary {
  const key = keyOf(configMap);
  const now = uses.now.get(key) ?? new Set();
  const history = uses.history.get(key) ?? new Set();
  const sets = [...(uses.sets.get(key) ?? [])];
  return {
    namespace: configMap.metadata.namespace ?? '',
    name: configMap.metadata.name,
    createdAt: timeOf(configMap.metadata.creationTimestamp),
    nodes: now.size,
    inHistory: [...history].filter((name) => !now.has(name)).length,
    sets,
    unused: now.size === 0 && history.size === 0 && sets.length === 0,
  };
}
