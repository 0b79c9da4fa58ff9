/** What the controller knows of the cluster: copies of the few kinds it works with, kept up to date, and who is told of changes. */
import type { NodeConfig } from '../api/node-config.js';
import { configLabel } from '../api/node-config.js';
import type { KubeObject } from '../api/object.js';
import { isNotFound } from '../kube/api-error.js';
import type { KubeClient } from '../kube/client.js';
import { createMirror, type Mirror } from '../kube/mirror.js';
import {
  admissionPolicies,
  admissionPolicyBindings,
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  nodeConfigs,
  nodes,
  type ResourceType,
  roleBindings,
  roles,
} from '../kube/resource-type.js';
import type { Log } from '../log.js';
import { grantedConfigMap, grantLabel, type Role, type RoleBinding } from './grant-objects.js';
import { nodeRoleLabel } from './guards.js';

export interface ClusterView {
  nodes: Mirror<KubeObject>;
  nodeConfigs: Mirror<NodeConfig>;
  /** By namespace. */
  configMaps: Map<string, Mirror<KubeObject>>;
  roles: Map<string, Mirror<Role>>;
  bindings: Map<string, Mirror<RoleBinding>>;
  nodeRoles: Mirror<KubeObject>;
  nodeRoleBindings: Mirror<KubeObject>;
  policies: GuardMirror;
  policyBindings: GuardMirror;
  /** All of it is there. */
  synced: Promise<unknown>;
}

export interface ClusterViewOptions {
  client: KubeClient;
  namespaces: readonly string[];
  log: Log;
  signal: AbortSignal;
  onNode(name: string): void;
  onNodeConfig(name: string): void;
  /** `namespace/name` of a ConfigMap whose label or whose grant changed. */
  onConfigMap(key: string): void;
  onGuard(): void;
}

type Keep<T> = (object: KubeObject) => T;

export function followCluster(options: ClusterViewOptions): ClusterView {
  const { client, namespaces, signal } = options;
  const onFailure = (type: ResourceType) => (error: unknown) =>
    options.log.warn('cannot follow', { what: type.resource, error });
  const mirror = <T = KubeObject>(
    type: ResourceType,
    onKey: (key: string) => void,
    more: { namespace?: string; labelSelector?: string; keep?: Keep<T> } = {},
  ) => createMirror<T>(client, { type, signal, onKey, onFailure: onFailure(type), ...more });
  const inNamespaces = <T = KubeObject>(
    type: ResourceType,
    labelSelector: string,
    onKey: (key: string) => void,
    keep?: Keep<T>,
  ) =>
    new Map(
      namespaces.map((namespace) => [
        namespace,
        mirror<T>(type, onKey, { namespace, labelSelector, ...(keep && { keep }) }),
      ]),
    );
  const onGrant = (key: string) => {
    const [namespace = '', name = ''] = key.split('/');
    const configMap = grantedConfigMap(name);
    if (configMap !== undefined) options.onConfigMap(`${namespace}/${configMap}`);
  };
  const view = {
    nodes: mirror(nodes, options.onNode, { keep: smallNode }),
    nodeConfigs: mirror<NodeConfig>(nodeConfigs, options.onNodeConfig),
    configMaps: inNamespaces(configMaps, configLabel, options.onConfigMap, smallConfigMap),
    roles: inNamespaces<Role>(roles, grantLabel, onGrant),
    bindings: inNamespaces<RoleBinding>(roleBindings, grantLabel, onGrant),
    nodeRoles: mirror(clusterRoles, ignore, { labelSelector: nodeRoleLabel, keep: onlyMetadata }),
    nodeRoleBindings: mirror(clusterRoleBindings, ignore, { labelSelector: nodeRoleLabel, keep: onlyMetadata }),
    policies: guardMirror(options, admissionPolicies),
    policyBindings: guardMirror(options, admissionPolicyBindings),
  };
  const mirrors = [
    view.nodes,
    view.nodeConfigs,
    view.nodeRoles,
    view.nodeRoleBindings,
    view.policies,
    view.policyBindings,
  ];
  const perNamespace = [view.configMaps, view.roles, view.bindings].flatMap((one) => [...one.values()]);
  return { ...view, synced: Promise.all([...mirrors, ...perNamespace].map(({ synced }) => synced)) };
}

/** Guards of a kind that a server before 1.30 does not have. */
export interface GuardMirror {
  get(name: string): KubeObject | undefined;
  readonly isServed: boolean;
  /** False while they cannot be watched: what is known may be old. */
  readonly isCurrent: boolean;
  /** They are here, or it is known that there are none. */
  readonly synced: Promise<unknown>;
}

function guardMirror({ client, signal, onGuard, log }: ClusterViewOptions, type: ResourceType): GuardMirror {
  let isServed = true;
  let isCurrent = true;
  let notServed = () => {};
  const known = new Promise<void>((resolve) => {
    notServed = resolve;
  });
  const mirror = createMirror(client, {
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
      if (!isCurrent) return log.warn('cannot follow', { what: type.resource, error });
      isServed = false;
      notServed();
      onGuard();
    },
  });
  return {
    get: (name) => (isServed ? mirror.get(name) : undefined),
    get isServed() {
      return isServed;
    },
    get isCurrent() {
      return isCurrent;
    },
    synced: Promise.race([mirror.synced, known]),
  };
}

const ignore = () => {};

function onlyMetadata({ apiVersion, kind, metadata: { name, uid } }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(uid && { uid }) } };
}

/** Of a ConfigMap only whose it is; the content is none of the controller's business. */
function smallConfigMap({ apiVersion, kind, metadata: { name, namespace, uid } }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(namespace && { namespace }), ...(uid && { uid }) } };
}

function smallNode(node: KubeObject): KubeObject {
  const { configSource } = (node.spec ?? {}) as { configSource?: unknown };
  return { ...onlyMetadata(node), spec: configSource === undefined ? {} : { configSource } };
}
