/**
 * The node list that a rehearsal runs on: copied from a cluster, from `kubectl get nodes -o json`, or made up by number. Unknown facts
 * are assumed, and each assumption is reported. Pure.
 */
import { type ConfigRef, formatRef, refOf } from '../api/config-ref.js';
import { type LabelSelectorObject, selectsLabels } from '../api/label-selector.js';
import { measured, readLocalConfig } from '../api/local-config.js';
import { checkDnsSubdomain } from '../api/names.js';
import { byAnnotation } from '../api/node-annotations.js';
import { configLabel, type KubeletFlag, type LocalConfig, type NodeConfig } from '../api/node-config.js';
import { holdAnnotation, type NodeConfigSet } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import { selectorText } from '../api/selector-object.js';
import { CannotRun } from '../cannot-run.js';
import * as decode from '../config/decode.js';
import { encode } from '../config/encode.js';
import { flagAt } from '../config/flags.js';
import { mergeLocal } from '../config/merge.js';
import { knownMinor, newestMinor, oldestMinor, parseMinor } from '../config/model.js';
import { agentSigns } from '../fleet/agent-presence.js';
import { parseQuantity } from '../go/quantity.js';
import { DecodeError } from '../memory-api/resource.js';
import { decodeStruct } from '../memory-api/schema/decode.js';
import { byName } from '../natural-order.js';
import type { ClusterNode } from '../rollout/cluster-node.js';
import type { DrainPod } from '../rollout/drain/pods.js';
import { reportedTrialMs } from '../rollout/estimate.js';
import { copyOfPod } from './pods.js';
import type { NodePlan } from './simulation/cluster.js';
import { type SimulatedHost, usualHost } from './simulation/host-validator.js';

export interface Fleet {
  /** Only the nodes that the set selects. */
  nodes: (NodePlan & { object: ClusterNode })[];
  /** As they are created before anything starts; with a status where nothing will report one. */
  nodeConfigs: NodeConfig[];
  configMaps: KubeObject[];
  /** Other sets, and field policies. */
  objects: KubeObject[];
  /** Pods and PodDisruptionBudgets. */
  pods: KubeObject[];
  /** On these, what is assigned has failed before. */
  failing: Set<string>;
  /** The controller has the role for it. */
  mayDrain: boolean;
  /** The longest trial that agents report; undefined if none does. */
  trialMs?: number | undefined;
  /** Sentences for people. */
  assumptions: string[];
}

/** Local config that is assumed for a node whose own is not known: about the one that kubeadm writes. */
export const assumedLocal = encode({
  authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
  authorization: { mode: 'Webhook' },
  clusterDNS: ['10.96.0.10'],
  clusterDomain: 'cluster.local',
  rotateCertificates: true,
  staticPodPath: '/etc/kubernetes/manifests',
});

export interface FleetOptions {
  set: NodeConfigSet;
  /** The local config of nodes that report none. */
  local?: { file: string; text: string } | undefined;
  /** Whether the controller has the role for it; undefined if that is not known. */
  mayDrain?: boolean | undefined;
  /** All pods and PodDisruptionBudgets are among the objects, as far as nodes may be drained. Default false. */
  hasPods?: boolean;
}

/** From Nodes, NodeConfigs, ConfigMaps, NodeConfigSets and FieldPolicies in any order; other objects are ignored. Throws CannotRun. */
export function fleetFrom(
  objects: readonly KubeObject[],
  { set, local, mayDrain, hasPods = false }: FleetOptions,
): Fleet {
  const ofKind = <T extends KubeObject>(kind: string) => objects.filter((one) => one.kind === kind) as T[];
  const all = ofKind<ClusterNode>('Node');
  checkNodes(all);
  const selected = all
    .filter(({ metadata }) => selectsLabels(set.spec.selector, metadata.labels))
    .sort((a, b) => byName(a.metadata, b.metadata));
  if (selected.length === 0)
    throw new CannotRun(
      `the set ${set.metadata.name} selects ${selectorText(set.spec.selector) || 'all nodes'}, and no Node is selected${all.length === 0 ? '' : ` of the ${all.length} that are known`}`,
    );
  const reported = new Map(ofKind<NodeConfig>('NodeConfig').map((one) => [one.metadata.name, usable(one)]));
  const locals = new LocalTexts(local?.text ?? assumedLocal);
  const fleet: Fleet = {
    nodes: [],
    nodeConfigs: [],
    configMaps: ofKind('ConfigMap').map(copyOf),
    objects: [...ofKind<NodeConfigSet>('NodeConfigSet').filter(isOlder(set)).map(paused), ...ofKind('FieldPolicy')].map(
      copyOf,
    ),
    pods: [...ofKind<KubeObject>('PodDisruptionBudget').map(copyOf), ...ofKind<DrainPod>('Pod').map(copyOfPod)],
    failing: new Set(),
    mayDrain: mayDrain ?? true,
    trialMs: reportedTrialMs(selected.map(({ metadata }) => reported.get(metadata.name))),
    assumptions: [],
  };
  for (const node of selected) addNode(fleet, node, reported, locals);
  fleet.configMaps.push(...missingConfigMaps(fleet));
  const others = fleet.objects.filter(({ kind }) => kind === 'NodeConfigSet').length;
  if (reported.size === 0) fleet.assumptions.push('relet runs on every node, and no node is assigned a config');
  if (locals.unknown > 0)
    fleet.assumptions.push(
      local === undefined
        ? `the local config of ${count(locals.unknown)} is not known; one like kubeadm's is assumed`
        : `${local.file} is the local config of ${count(locals.unknown)}`,
    );
  const strange = selected.filter(({ status }) => !isKnown(status?.nodeInfo?.kubeletVersion));
  if (strange.length > 0)
    fleet.assumptions.push(
      `${count(strange.length)} with a kubelet that relet does not know, such as ${strange[0]!.metadata.name} (${strange[0]!.status?.nodeInfo?.kubeletVersion || 'no version'}), ${strange.length === 1 ? 'is like the one' : 'are like those'} with the nearest version that it knows (1.${oldestMinor} to 1.${newestMinor})`,
    );
  if (drains(set) && mayDrain === undefined)
    fleet.assumptions.push('the controller may drain nodes (the role relet:controller-drain)');
  if (drains(set) && !hasPods && fleet.pods.length === 0)
    fleet.assumptions.push('no pods and no PodDisruptionBudgets are known, so every drain ends at once');
  if (others > 0) fleet.assumptions.push(`${others === 1 ? 'the other set changes' : 'other sets change'} nothing`);
  return fleet;
}

/** Without a report of the local config that cannot be copied; one is assumed. */
function usable(object: NodeConfig): NodeConfig {
  const { unusable: _, ...rest } = measured(object);
  return rest;
}

const isKnown = (version = ''): boolean => {
  const minor = parseMinor(version);
  return minor !== undefined && minor === knownMinor(minor);
};

/** Whether the set may drain nodes. Otherwise only the pods that a lower maxPods would reject matter. */
export function drains({ spec: { accept = [], strategy } }: NodeConfigSet): boolean {
  return accept.length > 0 || strategy?.drain?.policy === 'Always';
}

const count = (nodes: number): string => `${nodes} ${nodes === 1 ? 'node' : 'nodes'}`;

export interface MadeFleetOptions extends FleetOptions {
  count: number;
  /** Such as v1.37.0. */
  kubeletVersion: string;
}

/** Nodes with the labels that the selector requires, in three zones. */
export function madeFleet({ count: wanted, kubeletVersion, ...options }: MadeFleetOptions): Fleet {
  const width = Math.max(2, String(wanted).length);
  const labels = labelsFor(options.set.spec.selector);
  const made = Array.from({ length: wanted }, (_, index): ClusterNode => {
    const name = `node-${String(index + 1).padStart(width, '0')}`;
    const zone = { 'topology.kubernetes.io/zone': 'abc'[index % 3]! };
    const conditions = [{ type: 'Ready', status: 'True' }];
    const status = { conditions, nodeInfo: { kubeletVersion } } as ClusterNode['status'];
    return {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels: { ...zone, ...labels } },
      ...(status && { status }),
    };
  });
  return fleetFrom(made, options);
}

function labelsFor({ matchLabels = {}, matchExpressions = [] }: LabelSelectorObject): Record<string, string> {
  const labels = { ...matchLabels };
  for (const { key, operator, values = [] } of matchExpressions) {
    if (operator === 'In') labels[key] ??= values[0] ?? '';
    if (operator === 'Exists') labels[key] ??= 'true';
  }
  return labels;
}

/** As far as they are copied. */
function checkNodes(nodes: readonly ClusterNode[]): void {
  const names = new Set<string>();
  for (const node of nodes) {
    const { name } = node.metadata as { name?: unknown };
    const wrong = typeof name === 'string' ? checkDnsSubdomain(name) : ['it has none'];
    if (wrong.length > 0) throw new CannotRun(`'${String(name)}' cannot be the name of a Node: ${wrong[0]}`);
    if (names.has(String(name))) throw new CannotRun(`the Node ${name} is in the list twice; keep one of them`);
    names.add(String(name));
    try {
      decodeStruct('core.v1.Node', copyOfNode(node));
    } catch (error) {
      if (error instanceof DecodeError) throw new CannotRun(`the Node ${name} is not valid: ${error.message}`);
      throw error;
    }
  }
}

/** A younger set has only the nodes that it has claimed. */
const isOlder =
  ({ metadata: { name, creationTimestamp = '~' } }: NodeConfigSet) =>
  ({ metadata: other }: NodeConfigSet) =>
    other.name !== name && (other.creationTimestamp ?? '') < creationTimestamp;
/** Pauses another set: its nodes stay its own, but its rollout is not rehearsed. */
const paused = (set: NodeConfigSet): NodeConfigSet => ({ ...set, spec: { ...set.spec, paused: true } });

/** Removes the author name: it must be that of the user who writes it. */
export function unnamed(annotations: Record<string, string> = {}): Record<string, string> {
  const { [byAnnotation]: _, ...others } = annotations;
  return others;
}

/** Without what the server sets. */
function copyOf({ status: _, ...object }: KubeObject): KubeObject {
  const { name, namespace, labels, annotations } = object.metadata;
  const metadata = {
    name,
    ...(namespace && { namespace }),
    ...(labels && { labels }),
    ...(annotations && { annotations: unnamed(annotations) }),
  };
  return { ...object, metadata };
}

function addNode(fleet: Fleet, node: ClusterNode, reported: ReadonlyMap<string, NodeConfig>, locals: LocalTexts): void {
  const { name } = node.metadata;
  const nodeConfig = reported.get(name);
  const isReady = node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
  const signs = nodeConfig && agentSigns(nodeConfig);
  const hasAgent = reported.size === 0 || signs?.reports === true;
  const isOff = !isReady || !hasAgent || signs?.missing !== undefined;
  const kubeletVersion = node.status?.nodeInfo?.kubeletVersion ?? '';
  fleet.nodes.push({
    name,
    kubeletVersion,
    local: locals.of(nodeConfig?.status?.localConfig, kubeletVersion),
    host: hostOf(node, nodeConfig?.status?.kubeletFlags),
    object: copyOfNode(node),
    ...(isOff && { isOff }),
  });
  if (nodeConfig !== undefined) fleet.nodeConfigs.push(copyOfNodeConfig(nodeConfig, isOff));
  else if (isOff && hasAgent) fleet.nodeConfigs.push(silentNodeConfig(name));
  if (nodeConfig?.status?.config?.error !== undefined) fleet.failing.add(name);
}

function copyOfNode({ metadata, spec = {}, status = {} }: ClusterNode): ClusterNode {
  const { name, labels, annotations } = metadata;
  const hold = annotations?.[holdAnnotation];
  const { capacity } = status as { capacity?: Record<string, string> };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      ...(labels && { labels }),
      ...(hold !== undefined && { annotations: { [holdAnnotation]: hold } }),
    },
    spec: { ...(spec.unschedulable && { unschedulable: true }), ...(spec.taints && { taints: spec.taints }) },
    status: {
      ...(capacity && { capacity, allocatable: capacity }),
      ...(status.conditions && { conditions: status.conditions }),
      nodeInfo: { kubeletVersion: status.nodeInfo?.kubeletVersion ?? '' },
    },
  } as ClusterNode;
}

/** A hold on the host is copied as one in the API: the host is not simulated. */
function copyOfNodeConfig(object: NodeConfig, isOff: boolean): NodeConfig {
  const { held } = object.status ?? {};
  const hold = held && { [holdAnnotation]: held.why ?? '' };
  const annotations = { ...object.metadata.annotations, ...hold };
  const { status, ...rest } = object;
  const copy = copyOf({ ...rest, metadata: { ...object.metadata, annotations } }) as NodeConfig;
  return isOff && status !== undefined ? { ...copy, status: { ...status, observedGeneration: 1 } } : copy;
}

/** NodeConfig of a node that is not Ready, and whose agent has reported before. */
export const silentNodeConfig = (name: string): NodeConfig => ({
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfig',
  metadata: { name },
  status: { observedGeneration: 1, config: {} },
});

const memoryStep = 64 * 2 ** 20;

/** Machines of one kind differ by some pages of memory: rounded, they are alike, and a config is validated once for all. */
function hostOf(node: ClusterNode, flags: readonly KubeletFlag[] = []): SimulatedHost {
  const { capacity = {} } = (node.status ?? {}) as { capacity?: Record<string, string> };
  const amountOf = (name: string) => {
    const quantity = typeof capacity[name] === 'string' ? parseQuantity(capacity[name]) : undefined;
    return quantity === undefined ? undefined : Number(quantity.nano / 1_000_000_000n);
  };
  const memoryBytes = Math.floor((amountOf('memory') ?? 0) / memoryStep) * memoryStep;
  const minor = parseMinor(node.status?.nodeInfo?.kubeletVersion ?? '') ?? newestMinor;
  const matters = ({ name }: KubeletFlag) => name === 'feature-gates' || flagAt(name, minor)?.field !== undefined;
  return {
    cpus: amountOf('cpu') || usualHost.cpus,
    memoryBytes: memoryBytes || usualHost.memoryBytes,
    hasStaticPods: Object.hasOwn(node.metadata.labels ?? {}, 'node-role.kubernetes.io/control-plane'),
    flags: flags.flatMap((flag) => (matters(flag) && flag.value !== undefined ? [`--${flag.name}=${flag.value}`] : [])),
  };
}

/** The local configs as one document each. Nodes of a pool have the same: it is merged once. */
class LocalTexts {
  readonly #assumed: string;
  readonly #known = new Map<string, string | undefined>();
  /** Nodes for which one was assumed. */
  unknown = 0;

  constructor(assumed: string) {
    this.#assumed = assumed;
  }

  of(reported: unknown, kubeletVersion: string): string {
    const { local } = readLocalConfig(reported);
    const minor = parseMinor(kubeletVersion) ?? newestMinor;
    const key = JSON.stringify([local ?? null, minor]);
    if (!this.#known.has(key)) this.#known.set(key, local && merged(local, minor));
    const text = this.#known.get(key);
    if (text === undefined) this.unknown++;
    return text ?? this.#assumed;
  }
}

function merged({ files }: LocalConfig, minor: number): string | undefined {
  try {
    const local = files.map(({ path, dropIn, config }) => ({ path, text: encode(config), ...(dropIn && { dropIn }) }));
    return mergeLocal({ minor, local }).text;
  } catch (error) {
    if (error instanceof decode.DecodeError) return undefined;
    throw error;
  }
}

/** Returns ConfigMaps for configs that nodes are assigned and that were not given: they change nothing. */
function missingConfigMaps({ nodeConfigs, configMaps, assumptions }: Fleet): KubeObject[] {
  const idOf = ({ namespace, name }: Pick<ConfigRef, 'namespace' | 'name'>) => `${namespace}/${name}`;
  const there = new Set(
    configMaps.map(({ metadata }) => idOf({ namespace: metadata.namespace ?? '', name: metadata.name })),
  );
  const missing = new Map<string, ConfigRef>();
  for (const { spec } of nodeConfigs) {
    const ref = refOf(spec?.configSource);
    if (ref !== undefined && !there.has(idOf(ref))) missing.set(idOf(ref), ref);
  }
  const refs = [...missing.values()];
  if (refs.length > 0)
    assumptions.push(
      `${formatRef(refs[0], 'short')}${refs.length > 1 ? ` and ${refs.length - 1} more` : ''}, which nodes have now, ${refs.length > 1 ? 'are' : 'is'} not known; nodes run their local config with it`,
    );
  const overlay = 'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig: {}\n';
  return refs.map(({ namespace, name, kubeletConfigKey }) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace, name, labels: { [configLabel]: 'true' } },
    data: { [kubeletConfigKey]: overlay },
  }));
}
