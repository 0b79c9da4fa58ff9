/** The controller's informers: caches of the resources that it reconciles, with a callback for each kind of change. */
import { fieldPolicies } from '../api/field-policy.js';
import { type MeasuredNodeConfig, measured } from '../api/local-config.js';
import { configLabel, nodeConfigs } from '../api/node-config.js';
import { madeBySetLabel, type NodeConfigSet, nodeConfigSets } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import { isNotFound } from '../api/status.js';
import type { KubeClient } from '../kube/client.js';
import { createInformer, type Informer } from '../kube/informer.js';
import {
  admissionPolicies,
  admissionPolicyBindings,
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  nodes,
  parseKey,
  type ResourceType,
  roleBindings,
  roles,
} from '../kube/resource-type.js';
import type { Log } from '../log.js';
import { type ClusterNode, keptNode, sharedLocals } from '../rollout/cluster-node.js';
import { type ClaimView, watchClaims } from './claim-view.js';
import { grantedConfigMap, grantLabel, type Role, type RoleBinding } from './grant-plan.js';
import { nodeRoleLabel } from './guard-roles.js';

export interface ClusterView {
  nodes: Informer<ClusterNode>;
  nodeConfigs: Informer<MeasuredNodeConfig>;
  sets: OptionalInformer<NodeConfigSet>;
  fieldPolicies: OptionalInformer;
  /** By namespace. */
  configMaps: Map<string, Informer<KubeObject>>;
  roles: Map<string, Informer<Role>>;
  bindings: Map<string, Informer<RoleBinding>>;
  nodeRoles: Informer<KubeObject>;
  nodeRoleBindings: Informer<KubeObject>;
  policies: OptionalInformer;
  policyBindings: OptionalInformer;
  /** Claims of other systems on nodes. */
  claims: ClaimView;
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
  onSet(name: string): void;
  onFieldPolicy(): void;
  /** `namespace/name` of a ConfigMap that changed. */
  onConfigMap(key: string): void;
  /** The grant of a ConfigMap changed; with the `namespace/name` of the RoleBinding, where it is one. */
  onGrant(configMap: string, binding?: string): void;
  onGuard(): void;
  /** Another system took a node, or gave it back. */
  onClaim(): void;
}

type Keep<T> = (object: KubeObject) => T;

export function watchCluster(options: ClusterViewOptions): ClusterView {
  const { client, namespaces, signal } = options;
  const onFailure = (type: ResourceType) => (error: unknown) =>
    options.log.warn('list or watch failed, will retry', { resource: type.resource, error });
  const onUnusable = (type: ResourceType) => ({
    onUnusable: (key: string, error: unknown) =>
      options.log.error('object cannot be used, ignored', { resource: type.resource, key, error }),
  });
  const informer = <T = KubeObject>(
    type: ResourceType,
    onKey: (key: string) => void,
    more: { namespace?: string; labelSelector?: string; keep?: Keep<T> } = {},
  ) => createInformer<T>(client, { type, signal, onKey, onFailure: onFailure(type), ...onUnusable(type), ...more });
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
  const onGrant = (key: string, binding?: string) => {
    const { namespace, name } = parseKey(key);
    const configMap = grantedConfigMap(name);
    if (configMap !== undefined) options.onGrant(`${namespace}/${configMap}`, binding);
  };
  const view = {
    nodes: informer<ClusterNode>(nodes, options.onNode, { keep: keptNode }),
    nodeConfigs: informer<MeasuredNodeConfig>(nodeConfigs, options.onNodeConfig, { keep: nodeConfigKeeper() }),
    sets: optionalInformer<NodeConfigSet>(options, nodeConfigSets, options.onSet),
    fieldPolicies: optionalInformer(options, fieldPolicies, options.onFieldPolicy),
    configMaps: inNamespaces(configMaps, configLabel, options.onConfigMap, withoutContent),
    roles: inNamespaces<Role>(roles, grantLabel, (key) => onGrant(key)),
    bindings: inNamespaces<RoleBinding>(roleBindings, grantLabel, (key) => onGrant(key, key)),
    nodeRoles: informer(clusterRoles, ignore, { labelSelector: nodeRoleLabel, keep: onlyMetadata }),
    nodeRoleBindings: informer(clusterRoleBindings, ignore, { labelSelector: nodeRoleLabel, keep: onlyMetadata }),
    policies: optionalInformer(options, admissionPolicies, options.onGuard, ofRelet),
    policyBindings: optionalInformer(options, admissionPolicyBindings, options.onGuard, ofRelet),
    claims: watchClaims(options),
  };
  const informers = [
    view.nodes,
    view.nodeConfigs,
    view.sets,
    view.fieldPolicies,
    view.nodeRoles,
    view.nodeRoleBindings,
    view.policies,
    view.policyBindings,
    view.claims,
  ];
  const perNamespace = [view.configMaps, view.roles, view.bindings].flatMap((one) => [...one.values()]);
  return { ...view, synced: Promise.all([...informers, ...perNamespace].map(({ synced }) => synced)) };
}

/** An informer of what not every server serves: admission policies before 1.30, or sets where their definition is missing. */
export interface OptionalInformer<T = KubeObject> {
  get(name: string): T | undefined;
  values(): Iterable<T>;
  readonly isServed: boolean;
  /** False while the watch fails: the cache may be stale. */
  readonly isCurrent: boolean;
  /** Listed, or known not to be served. */
  readonly synced: Promise<unknown>;
}

const ofRelet = 'app.kubernetes.io/name=relet';

function optionalInformer<T = KubeObject>(
  { client, signal, log }: ClusterViewOptions,
  type: ResourceType,
  onKey: (key: string) => void,
  labelSelector?: string,
): OptionalInformer<T> {
  let isServed = true;
  let isCurrent = true;
  let notServed = () => {};
  const known = new Promise<void>((resolve) => {
    notServed = resolve;
  });
  const informer = createInformer<T>(client, {
    type,
    signal,
    ...(labelSelector !== undefined && { labelSelector }),
    onKey: (key) => {
      isServed = true;
      onKey(key);
    },
    onWatching: () => {
      isCurrent = true;
    },
    onFailure: (error) => {
      isCurrent = isNotFound(error);
      if (!isCurrent) return log.warn('list or watch failed, will retry', { resource: type.resource, error });
      isServed = false;
      notServed();
      onKey('');
    },
  });
  return {
    get: (name) => (isServed ? informer.get(name) : undefined),
    values: () => (isServed ? informer.values() : []),
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

/** Without the content of a ConfigMap, which the controller does not need here. */
function withoutContent({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, labels } = metadata;
  const set = labels?.[madeBySetLabel];
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(set !== undefined && { labels: { [madeBySetLabel]: set } }),
    },
  };
}

/** Without what is large and not needed. */
function nodeConfigKeeper(): Keep<MeasuredNodeConfig> {
  const shared = sharedLocals();
  return (object) => {
    const { managedFields: _, ...metadata } = object.metadata;
    const kept = measured({ ...object, metadata });
    if (kept.status === undefined) return kept;
    const { kubeletFlags: __, warnings: ___, changes: ____, kubeletLog: _____, ...status } = kept.status;
    return shared({ ...kept, status });
  };
}
