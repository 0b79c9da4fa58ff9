/** Garbage-collects ConfigMaps that a set made: each is deleted once no NodeConfig, no claim and no revision of the set refers to it. */
import { type ConfigRef, formatRef } from '../api/config-ref.js';
import { claimOf } from '../api/node-annotations.js';
import { madeBySetLabel } from '../api/node-config-set.js';
import { removeConfigMap } from '../fleet/config-maps.js';
import type { KubeClient } from '../kube/client.js';
import type { Log } from '../log.js';
import type { ClusterView } from './cluster-view.js';
import { referencedConfigMaps } from './grant-plan.js';

interface CollectOptions {
  client: KubeClient;
  view: Pick<ClusterView, 'nodeConfigs' | 'configMaps'>;
  log: Log;
}

/** `needed`: those that the set may return to. */
export async function collectConfigMaps(
  { client, view, log }: CollectOptions,
  set: string,
  needed: readonly (ConfigRef | undefined)[],
): Promise<void> {
  const made = [...view.configMaps.values()]
    .flatMap((informer) => [...informer.values()])
    .filter(({ metadata }) => metadata.labels?.[madeBySetLabel] === set);
  const isNeeded = (key: string) => needed.some((ref) => ref !== undefined && formatRef(ref, 'configMap') === key);
  const old = made.filter(({ metadata }) => !isNeeded(`${metadata.namespace}/${metadata.name}`));
  if (old.length === 0) return;
  const used = new Set<string>();
  for (const object of view.nodeConfigs.values()) {
    for (const key of referencedConfigMaps(object)) used.add(key);
    // An undo may return to it.
    const previous = claimOf(object)?.previous;
    if (previous !== undefined) used.add(formatRef(previous, 'configMap'));
  }
  for (const configMap of old) {
    const key = `${configMap.metadata.namespace}/${configMap.metadata.name}`;
    if (used.has(key)) continue;
    await removeConfigMap({ client }, configMap);
    log.info('ConfigMap of a set garbage-collected', { set, configMap: key });
  }
}
