/** The controller's informers: caches of the resources that it reconciles, with a callback for each kind of change. */
import type { NodeConfig } from '../api/node-config.js';
import { configLabel, nodeConfigs } from '../api/node-config.js';
import type { KubeObject } from '../api/object.js';
import { isNotFound } from '../kube/api-error.js';
import type { KubeClient } from '../kube/client.js';
import { createInformer, type Informer, parseKey } from '../kube/informer.js';
import {
  admissionPolicies,
  admissionPolicyBindings,
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  nodes,
  type ResourceType,
  roleBindings,
  roles,
} from '../kube/resource-type.js';
import type { Log } from '../log.js';
import { grantedConfigMap, grantLabel, type Role, type RoleBinding } from './grant-objects.js';
import { nodeRoleLabel } from './guard-roles.js';

export interface ClusterView {
  nodes: Informer<KubeObject>;
  nodeConfigs: Informer<NodeConfig>;
  /** By namespace. */
  configMaps: Map<string, Informer<KubeObject>>;
  roles: Map<string, Informer<Role>>;
  bindings: Map<string, Informer<RoleBinding>>;
  nodeRoles: Informer<KubeObject>;
  nodeRoleBindings: Informer<KubeObject>;
  policies: GuardInformer;
  policyBindings: GuardInformer;
  /** All caches are synced. */
  synced: Promise<unknown>;
}

export interface ClusterViewOptions {
  client: KubeClient;
  namespaces: readonly string[];
  log: Log;
  signal: AbortSignal;
  onNode(name: string): void;
  onNodeConfig(name: string): void;
  /** `namespace/name` of a ConfigMap that changed, or whose grant did. */
  onConfigMap(key: string): void;
  onGuard(): void;
}

type Keep<T> = (object: KubeObject) => T;

export function watchCluster(options: ClusterViewOptions): ClusterView {
  const { client, namespaces, signal } = options;
  const onFailure = (type: ResourceType) => (error: unknown) =>
    options.log.warn('list or watch failed, will retry', { resource: type.resource, error });
  const informer = <T = KubeObject>(
    type: ResourceType,
    onKey: (key: string) => void,
    more: { namespace?: string; labelSelector?: string; keep?: Keep<T> } = {},
  ) => createInformer<T>(client, { type, signal, onKey, onFailure: onFailure(type), ...more });
  const inNamespaces = <T = KubeObject>(
    type: ResourceType,
    labelSelector: string,
    onKey: (key: string) => void,
    keep?: Keep<T>,
  ) =>
    new Map(
      namespaces.map((namespace) => [
        namespace,
        informer<T>(type, onKey, { namespace, labelSelector, ...(keep && { keep }) }),
      ]),
    );
  const onGrant = (key: string) => {
    const { namespace, name } = parseKey(key);
    const configMap = grantedConfigMap(name);
    if (configMap !== undefined) options.onConfigMap(`${namespace}/${configMap}`);
  };
  const view = {
    nodes: informer(nodes, options.onNode, { keep: onlyWhatCounts }),
    nodeConfigs: informer<NodeConfig>(nodeConfigs, options.onNodeConfig),
    configMaps: inNamespaces(configMaps, configLabel, options.onConfigMap, withoutContent),
    roles: inNamespaces<Role>(roles, grantLabel, onGrant),
    bindings: inNamespaces<RoleBinding>(roleBindings, grantLabel, onGrant),
    nodeRoles: informer(clusterRoles, ignore, { labelSelector: nodeRoleLabel, keep: onlyMetadata }),
    nodeRoleBindings: informer(clusterRoleBindings, ignore, { labelSelector: nodeRoleLabel, keep: onlyMetadata }),
    policies: guardInformer(options, admissionPolicies),
    policyBindings: guardInformer(options, admissionPolicyBindings),
  };
  const informers = [
    view.nodes,
    view.nodeConfigs,
    view.nodeRoles,
    view.nodeRoleBindings,
    view.policies,
    view.policyBindings,
  ];
  const perNamespace = [view.configMaps, view.roles, view.bindings].flatMap((one) => [...one.values()]);
  return { ...view, synced: Promise.all([...informers, ...perNamespace].map(({ synced }) => synced)) };
}

/** An informer of admission policies or their bindings, which servers before 1.30 do not serve. */
export interface GuardInformer {
  get(name: string): KubeObject | undefined;
  readonly isServed: boolean;
  /** False while the watch fails: the cache may be stale. */
  readonly isCurrent: boolean;
  /** Listed, or known not to be served. */
  readonly synced: Promise<unknown>;
}

function guardInformer({ client, signal, onGuard, log }: ClusterViewOptions, type: ResourceType): GuardInformer {
  let isServed = true;
  let isCurrent = true;
  let notServed = () => {};
  const known = new Promise<void>((resolve) => {
    notServed = resolve;
  });
  const informer = createInformer(client, {
    type,
    signal,
    labelSelector: 'app.kubernetes.io/name=relet',
    onKey: () => {
      isServed = true;
      onGuard();
    },
    onWatching: () => {
      isCurrent = true;
    },
    onFailure: (error) => {
      isCurrent = isNotFound(error);
      if (!isCurrent) return log.warn('list or watch failed, will retry', { resource: type.resource, error });
      isServed = false;
      notServed();
      onGuard();
    },
  });
  return {
    get: (name) => (isServed ? informer.get(name) : undefined),
    get isServed() {
      return isServed;
    },
    get isCurrent() {
      return isCurrent;
    },
    synced: Promise.race([informer.synced, known]),
  };
}

const ignore = () => {};

function onlyMetadata({ apiVersion, kind, metadata: { name, uid } }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(uid && { uid }) } };
}

/** Without the content of a ConfigMap, which the controller does not need. */
function withoutContent({ apiVersion, kind, metadata: { name, namespace, uid } }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(namespace && { namespace }), ...(uid && { uid }) } };
}

function onlyWhatCounts(node: KubeObject): KubeObject {
  const { configSource, taints } = (node.spec ?? {}) as { configSource?: unknown; taints?: unknown };
  return {
    ...onlyMetadata(node),
    spec: { ...(configSource !== undefined && { configSource }), ...(taints !== undefined && { taints }) },
  };
}
