/** Reconciles the grant of one ConfigMap: a Role that allows reading it, and a RoleBinding with the nodes that may. */
import { parseKey } from '../kube/informer.js';
import { roleBindings, roles } from '../kube/resource-type.js';
import type { ReconcileResult } from '../kube/work-queue.js';
import type { Log } from '../log.js';
import type { ClusterView } from './cluster-view.js';
import { boundNodes, grantBinding, grantName, grantRole, type RoleBinding } from './grant-objects.js';
import { type GrantFacts, planGrant } from './grant-plan.js';
import type { ControllerCounters } from './metrics.js';
import type { ObjectWriter } from './object-writer.js';

export interface GrantReconcilerOptions {
  view: Pick<ClusterView, 'nodeConfigs' | 'configMaps' | 'roles' | 'bindings'>;
  facts: GrantFacts;
  writer: ObjectWriter;
  counters: Pick<ControllerCounters, 'grantsWritten'>;
  log: Log;
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

  /** The binding stays, without subjects: the controller holds no permission to delete it. */
  async #revoke(key: string): Promise<void> {
    const { view, writer, log } = this.#options;
    const binding = bindingOf(view, key);
    if (binding === undefined || (binding.subjects ?? []).length === 0) return;
    await writer.update(roleBindings, grantPlace(key), { ...binding, subjects: [] });
    log.info('grant revoked', { configMap: key });
  }

  async #grant(key: string, nodes: string[]): Promise<void> {
    const { view, writer, counters, log } = this.#options;
    const place = grantPlace(key);
    const configMap = { ...parseKey(key), uid: inNamespace(view.configMaps, key)?.metadata.uid ?? '' };
    await writer.createOrUpdate(roles, place, {
      present: inNamespace(view.roles, `${place.namespace}/${place.name}`),
      wanted: grantRole(configMap),
      fields: ['rules'],
    });
    const isWritten = await writer.createOrUpdate(roleBindings, place, {
      present: bindingOf(view, key),
      wanted: grantBinding(configMap, nodes),
      fields: ['subjects'],
    });
    if (!isWritten) return;
    counters.grantsWritten++;
    log.info('grant written', { configMap: key, nodes: nodes.length });
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
    granted: (key) => boundNodes(bindingOf(view, key)),
    nodeAbsentMs,
  };
}

function grantPlace(key: string): { namespace: string; name: string } {
  const { namespace, name } = parseKey(key);
  return { namespace, name: grantName(name) };
}

function bindingOf({ bindings }: Pick<ClusterView, 'bindings'>, key: string): RoleBinding | undefined {
  const { namespace, name } = grantPlace(key);
  return inNamespace(bindings, `${namespace}/${name}`);
}

function inNamespace<T>(informers: Map<string, { get(key: string): T | undefined }>, key: string): T | undefined {
  return informers.get(parseKey(key).namespace)?.get(key);
}
