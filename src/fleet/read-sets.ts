/** Reads the sets of the cluster for commands that show nodes: one request, or one watch, for all nodes. */
import { type NodeConfigSet, nodeConfigSets } from '../api/node-config-set.js';
import { ApiError } from '../api/status.js';
import type { KubeClient } from '../kube/client.js';
import { watchLoop } from '../kube/watch.js';
import type { ConfigReferences } from './configured-node.js';

interface Cluster {
  client: KubeClient;
  references: Pick<ConfigReferences, 'kind'>;
  signal: AbortSignal;
}

/** Empty also where sets are not served, or this person may not list them. */
export async function readSets({ client, references, signal }: Cluster): Promise<NodeConfigSet[]> {
  if (references.kind === 'Node') return [];
  try {
    return (await client.list<NodeConfigSet>(nodeConfigSets, { signal })).items;
  } catch (error) {
    if (error instanceof ApiError) return [];
    throw error;
  }
}

/** Calls `onSets` with all of them after each change, until the signal. */
export function followSets(
  { client, references, signal }: Cluster,
  onSets: (sets: Iterable<NodeConfigSet>) => void,
): void {
  if (references.kind === 'Node') return;
  const sets = new Map<string, NodeConfigSet>();
  const over = new AbortController();
  void watchLoop<NodeConfigSet>(client, {
    type: nodeConfigSets,
    signal: AbortSignal.any([signal, over.signal]),
    onList(items) {
      sets.clear();
      for (const set of items) sets.set(set.metadata.name, set);
      onSets(sets.values());
    },
    onChange(type, set) {
      if (type === 'DELETED') sets.delete(set.metadata.name);
      else sets.set(set.metadata.name, set);
      onSets(sets.values());
    },
    // Not served, or not allowed.
    onFailure: (error) => (error instanceof ApiError ? over.abort() : undefined),
  });
}
