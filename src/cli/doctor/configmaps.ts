/** Checks of `relet doctor` about ConfigMaps: assigned and missing, shared and editable, unused. */
import { refOf } from '../../api/config-ref.js';
import type { ConfigMap } from '../../api/object.js';
import { isForbidden, isNotFound } from '../../api/status.js';
import { findUses, labelledConfigMaps } from '../../fleet/config-maps.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { configMaps } from '../../kube/resource-type.js';
import { unusedOf } from '../change/gc.js';
import type { Session } from '../session.js';
import { type Diagnosis, someOf } from './diagnosis.js';

export async function checkConfigMaps(session: Session, nodes: ConfiguredNode[]): Promise<Diagnosis[]> {
  const users = new Map<string, ConfiguredNode[]>();
  for (const node of nodes) {
    const source = refOf(node.configSource);
    if (source === undefined) continue;
    const key = `${source.namespace}/${source.name}`;
    users.set(key, [...(users.get(key) ?? []), node]);
  }
  const found: Diagnosis[] = [];
  for (const [key, assigned] of users) found.push(...(await checkOne(session, key, assigned)));
  if (found.length > 0) return found;
  if (users.size === 0) return [];
  return [
    {
      level: 'ok',
      what: users.size === 1 ? 'the assigned ConfigMap is there' : `the ${users.size} assigned ConfigMaps are there`,
    },
  ];
}

async function checkOne({ client, signal }: Session, key: string, assigned: ConfiguredNode[]): Promise<Diagnosis[]> {
  const [namespace = '', name = ''] = key.split('/');
  const names = assigned.map((node) => node.name);
  try {
    const configMap = await client.get<ConfigMap>(configMaps, { namespace, name }, { signal });
    const without = assigned.filter(
      (node) => !Object.hasOwn(configMap.data ?? {}, refOf(node.configSource)!.kubeletConfigKey),
    );
    const found: Diagnosis[] = [];
    if (without.length > 0)
      found.push({
        level: 'error',
        what: `ConfigMap ${key} lacks the key that is assigned to ${someOf(without.map((node) => node.name))}`,
        remedy: "assign another with 'relet assign', or 'relet undo'",
      });
    if (configMap.immutable !== true && assigned.length > 1)
      found.push({
        level: 'warning',
        what: `ConfigMap ${key} can be edited, and ${assigned.length} nodes use it: one edit restarts the kubelets of all of them at once`,
        remedy: "'relet push' makes immutable ones; 'relet assign' moves nodes one at a time",
      });
    return found;
  } catch (error) {
    if (isForbidden(error))
      return [{ level: 'unknown', what: `whether ConfigMap ${key} is there: you may not read it` }];
    if (!isNotFound(error)) throw error;
    return [
      {
        level: 'error',
        what: `ConfigMap ${key} is assigned to ${someOf(names)} and does not exist; they keep what they have`,
        remedy:
          "'relet undo NODE' or 'relet assign' another; 'relet node view assigned' on a host that had it prints its text",
      },
    ];
  }
}

export async function checkUnused(session: Session): Promise<Diagnosis[]> {
  // Authors may list those of the namespace that relet writes to, and not all.
  const all = await labelledConfigMaps(session, session.scope).catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    return labelledConfigMaps(session, { namespace: session.namespace });
  });
  const unused = unusedOf(all, await findUses(session), { minAge: 3_600_000 }, Date.now());
  if (unused.length === 0) return [];
  const count = unused.length === 1 ? 'one ConfigMap of relet is' : `${unused.length} ConfigMaps of relet are`;
  return [{ level: 'ok', what: `${count} unused`, remedy: "'relet gc' removes them" }];
}
