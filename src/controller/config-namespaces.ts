/**
 * Default of the namespaces whose ConfigMaps are granted: relet's own and, while nodes still use configs there, kube-system, where
 * relet stored them before 0.1.0. In kube-system only what an earlier controller granted is kept, so that an upgrade cuts no node off;
 * new assignments there are not granted.
 */
import { configNamespace, formerConfigNamespace, type NodeConfig, nodeConfigs } from '../api/node-config.js';
import { type NodeConfigSet, nodeConfigSets } from '../api/node-config-set.js';
import { isForbidden, isNotFound } from '../api/status.js';
import type { KubeClient } from '../kube/client.js';
import { roles } from '../kube/resource-type.js';
import type { Log } from '../log.js';
import { byNaturalOrder } from '../natural-order.js';
import { grantedConfigMap, grantLabel, type Role, referencedConfigMaps } from './grant-plan.js';

export async function defaultNamespaces({
  client,
  log,
  signal,
}: {
  client: Pick<KubeClient, 'pages' | 'list'>;
  log: Log;
  signal: AbortSignal;
}): Promise<readonly string[]> {
  const granted = await grantsIn(formerConfigNamespace);
  const users = granted.size === 0 ? [] : await usersOf(granted);
  if (users.length === 0) return [configNamespace];
  const { length: count } = users;
  const shown = users.sort(byNaturalOrder).slice(0, 5).join(', ');
  log.warn('configs in kube-system are in use, granting from there too', { users: count, first: shown });
  return [configNamespace, formerConfigNamespace];

  /** ConfigMaps with a grant; none where this controller has no rights in the namespace. */
  async function grantsIn(namespace: string): Promise<ReadonlySet<string>> {
    try {
      const { items } = await client.list<Role>(roles, { namespace, labelSelector: `${grantLabel}=true`, signal });
      const names = items.map(({ metadata }) => grantedConfigMap(metadata.name));
      return new Set(names.flatMap((name) => (name === undefined ? [] : [`${namespace}/${name}`])));
    } catch (error) {
      if (isForbidden(error)) return new Set();
      throw error;
    }
  }

  async function usersOf(keys: ReadonlySet<string>): Promise<string[]> {
    const found: string[] = [];
    for await (const { items } of client.pages<NodeConfig>(nodeConfigs, { signal }))
      for (const item of items)
        if ([...referencedConfigMaps(item)].some((key) => keys.has(key))) found.push(`node ${item.metadata.name}`);
    const sets = await client.list<NodeConfigSet>(nodeConfigSets, { signal }).catch((error: unknown) => {
      if (isNotFound(error)) return { items: [] };
      throw error;
    });
    for (const { metadata, spec } of sets.items) {
      const { namespace, name } = spec.config.configMap ?? {};
      if (keys.has(`${namespace}/${name}`)) found.push(`set ${metadata.name}`);
    }
    return found;
  }
}
