/** Reconciles the grant of one ConfigMap: a Role that allows reading it, and RoleBindings with the nodes that may. */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../api/object.js';
import { createIfAbsent, type KubeClient } from '../kube/client.js';
import { parseKey, type ResourceType, roleBindings, roles } from '../kube/resource-type.js';
import type { ReconcileResult } from '../kube/work-queue.js';
import type { Log } from '../log.js';
import type { ClusterView } from './cluster-view.js';
import {
  boundNodes,
  type GrantFacts,
  grantBinding,
  grantName,
  grantRole,
  planGrant,
  type RoleBinding,
  shardsOf,
} from './grant-plan.js';
import type { ControllerCounters } from './metrics.js';

export interface GrantReconcilerOptions {
  view: Pick<ClusterView, 'nodeConfigs' | 'configMaps' | 'roles' | 'bindings'>;
  facts: GrantFacts;
  client: Pick<KubeClient, 'create' | 'update'>;
  counters: Pick<ControllerCounters, 'grantsWritten'>;
  log: Log;
  signal: AbortSignal;
}

export class GrantReconciler {
  readonly #options: GrantReconcilerOptions;

  constructor(options: GrantReconcilerOptions) {
    this.#options = options;
  }

  /** `key` is the NAMESPACE/NAME of a ConfigMap. */
  async reconcile(key: string): Promise<ReconcileResult> {
    const { view, facts } = this.#options;
    const plan = planGrant(key, view.nodeConfigs.values(), facts);
    if (plan.kind === 'revoke') await this.#revoke(key);
    if (plan.kind === 'grant') await this.#grant(key, plan.nodes);
    const requeueAfterMs = plan.kind === 'grant' ? plan.requeueAfterMs : undefined;
    return requeueAfterMs === undefined ? { kind: 'done' } : { kind: 'requeue', afterMs: requeueAfterMs };
  }

  /** The bindings stay, without subjects: the controller holds no permission to delete them. */
  async #revoke(key: string): Promise<void> {
    const { view, client, log, signal } = this.#options;
    const used = bindingsOf(view, key).filter(({ subjects = [] }) => subjects.length > 0);
    for (const binding of used) {
      const place = { namespace: parseKey(key).namespace, name: binding.metadata.name };
      await client.update(roleBindings, place, { ...binding, subjects: [] }, { signal });
    }
    if (used.length > 0) log.info('grant revoked', { configMap: key });
  }

  async #grant(key: string, nodes: string[]): Promise<void> {
    const { view, counters, log } = this.#options;
    const { namespace, name } = parseKey(key);
    const configMap = { namespace, name, uid: inNamespace(view.configMaps, key)?.metadata.uid ?? '' };
    const role = { namespace, name: grantName(name) };
    await this.#createOrUpdate(roles, role, {
      present: inNamespace(view.roles, `${namespace}/${role.name}`),
      wanted: grantRole(configMap),
      fields: ['rules'],
    });
    const present = bindingsOf(view, key);
    let written = 0;
    for (const [shard, members] of shardsOf(present.map(boundNodes), nodes).entries()) {
      const isWritten = await this.#createOrUpdate(
        roleBindings,
        { namespace, name: grantName(name, shard) },
        { present: present[shard], wanted: grantBinding(configMap, shard, members), fields: ['subjects'] },
      );
      if (isWritten) written++;
    }
    if (written === 0) return;
    counters.grantsWritten += written;
    log.info('grant written', { configMap: key, nodes: nodes.length, shards: written });
  }

  /** True when it wrote. Only `fields` and the owner are compared and written. */
  async #createOrUpdate<T extends KubeObject>(
    type: ResourceType,
    place: { namespace: string; name: string },
    { present, wanted, fields }: { present: T | undefined; wanted: T; fields: (keyof T)[] },
  ): Promise<boolean> {
    const { client, signal } = this.#options;
    if (present === undefined) return createIfAbsent(client, type, { namespace: place.namespace }, wanted, { signal });
    const { ownerReferences } = wanted.metadata;
    const isSame =
      fields.every((field) => isDeepStrictEqual(present[field], wanted[field])) &&
      isDeepStrictEqual(present.metadata.ownerReferences, ownerReferences);
    if (isSame) return false;
    const changes = Object.fromEntries(fields.map((field) => [field, wanted[field]]));
    const metadata = { ...present.metadata, ownerReferences };
    await client.update(type, place, { ...present, ...changes, metadata }, { signal });
    return true;
  }
}

/** The facts for planning, from the caches. */
export function grantFacts(
  view: Pick<ClusterView, 'configMaps' | 'bindings'>,
  namespaces: readonly string[],
  nodeAbsentMs: GrantFacts['nodeAbsentMs'],
): GrantFacts {
  return {
    namespaces,
    isLabelled: (key) => inNamespace(view.configMaps, key) !== undefined,
    isGranted: (key, node) => bindingsOf(view, key).some((binding) => boundNodes(binding).has(node)),
    nodeAbsentMs,
  };
}

/** By shard: they are created in their order, and none is deleted. */
function bindingsOf({ bindings }: Pick<ClusterView, 'bindings'>, key: string): RoleBinding[] {
  const { namespace, name } = parseKey(key);
  const found: RoleBinding[] = [];
  for (let shard = 0; ; shard++) {
    const binding = inNamespace(bindings, `${namespace}/${grantName(name, shard)}`);
    if (binding === undefined) return found;
    found.push(binding);
  }
}

function inNamespace<T>(informers: Map<string, { get(key: string): T | undefined }>, key: string): T | undefined {
  return informers.get(parseKey(key).namespace)?.get(key);
}
