/** Which ConfigMaps the nodes of a cluster use, may fall back to, or could go back to. */

import { type SourceName, sourceName } from '../api/config-state.js';
import { configLabel } from '../api/node-config.js';
import { parseSourceText, readHistory } from '../fleet/config-history.js';
import type { ConfiguredNode } from '../fleet/config-references.js';
import { configMaps } from '../kube/resource-type.js';
import type { ConfigMap } from './config-maps.js';
import type { Session } from './session.js';

/** `namespace/name` of each, and who uses it. */
export interface Uses {
  /** Assigned, active or last known good. */
  now: Map<string, Set<string>>;
  /** Named in the history of these nodes, so that `relet undo` may want it. */
  history: Map<string, Set<string>>;
}

export async function findUses({ references, signal }: Session): Promise<Uses> {
  const uses: Uses = { now: new Map(), history: new Map() };
  for await (const page of references.pages({ signal })) for (const node of page) addUses(uses, node);
  return uses;
}

export function addUses(uses: Uses, node: ConfiguredNode): void {
  const { assigned, active, lastKnownGood } = node.status;
  for (const source of [node.configSource, assigned, active, lastKnownGood].map(sourceName)) {
    if (source === undefined) continue;
    add(uses.now, source, node);
  }
  for (const { from, to } of readHistory(node.history))
    for (const source of [parseSourceText(from), parseSourceText(to)])
      if (source !== undefined) add(uses.history, source, node);
}

function add(users: Map<string, Set<string>>, { namespace, name }: SourceName, node: ConfiguredNode): void {
  const key = `${namespace}/${name}`;
  users.set(key, (users.get(key) ?? new Set()).add(node.name));
}

/** Those that relet made, or that were labelled as its own. */
export async function labelledConfigMaps({ client, signal, namespaceGiven, namespace }: Session): Promise<ConfigMap[]> {
  const found: ConfigMap[] = [];
  const scope = namespaceGiven ? { namespace } : {};
  const pages = client.pages<ConfigMap>(configMaps, {
    ...scope,
    labelSelector: `${configLabel}=true`,
    limit: 100,
    signal,
  });
  // Their content is not needed, and there may be many.
  for await (const { items } of pages)
    for (const { data: _, binaryData: __, ...rest } of items) found.push(rest as ConfigMap);
  return found;
}

export const keyOf = ({ metadata }: ConfigMap): string => `${metadata.namespace}/${metadata.name}`;
