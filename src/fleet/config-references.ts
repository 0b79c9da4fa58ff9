/**
 * The references from nodes to their configs, for the command line: one interface, so that nothing else knows which object holds
 * the reference. It is the Node itself, as in Dynamic Kubelet Configuration, or the NodeConfig of the node.
 */
import { owedReasons } from '../api/condition-reasons.js';
import { formatRef, refOf, sameConfig } from '../api/config-ref.js';
import { type MeasuredNodeConfig, measured } from '../api/local-config.js';
import { byAnnotation, claimOf, owedActions, owedAnnotation, readOwed } from '../api/node-annotations.js';
import { guardedByPolicies, isUnset, type NodeConfig, nodeConfigs } from '../api/node-config.js';
import { adoptAnnotation, holdAnnotation } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import { isNotFound } from '../api/status.js';
import { type CallOptions, type KubeClient, serves } from '../kube/client.js';
import { nodes } from '../kube/resource-type.js';
import { watchLoop } from '../kube/watch.js';
import { agentSigns } from './agent-presence.js';
import { type Annotations, newNodeConfig, nodeConfigPatch, nodePatch } from './assignment.js';
import { historyAnnotation, readHistory, resultAnnotation, withEntry } from './config-history.js';
import {
  type ConfigReferences,
  type ConfiguredNode,
  fromNode,
  type Hold,
  holdNote,
  holdOf,
  type Node,
  type NodeMark,
  nodeLists,
  ReferenceDropped,
  readable,
  type WatchNodes,
  withLeft,
} from './configured-node.js';

/** The references of this cluster, of the kind that its API server supports. */
export async function configReferences(client: KubeClient, options: CallOptions = {}): Promise<ConfigReferences> {
  return referencesOfKind(client, (await serves(client, nodeConfigs, options)) ? 'NodeConfig' : 'Node');
}

export const referencesOfKind = (client: KubeClient, kind: ConfigReferences['kind']): ConfigReferences =>
  kind === 'NodeConfig' ? nodeConfigReferences(client) : nodeReferences(client);

function nodeReferences(client: KubeClient): ConfigReferences {
  const configured = (node: Node) => readable(fromNode(node));
  return {
    kind: 'Node',
    get: async (name, options) => configured(await client.get<Node>(nodes, { name }, options)),
    async *pages(options) {
      const list = { ...nodeLists, ...options };
      for await (const { items } of client.pages<Node>(nodes, list)) yield items.map(configured);
    },
    reportedLocal: async () => ({}),
    watch: ({ onList, onChange, ...scope }) =>
      watchLoop<Node>(client, {
        ...scope,
        omitLists: nodeLists.omitLists,
        type: nodes,
        onList: (items) => onList(items.map(configured)),
        onChange: (type, node) => onChange(configured(node), type === 'DELETED'),
      }),
    async assign(node, source, { history, owed, detach, by: _, ...options }) {
      const patch = nodePatch(node.version, { source, history, owed, detach });
      const write = { ...options, as: 'merge', fieldManager: 'relet' } as const;
      const written = configured(await client.patch<Node>(nodes, { name: node.name }, patch, write));
      if (!sameConfig(refOf(source), refOf(written.configSource), 'name'))
        throw new ReferenceDropped(`the server does not keep spec.configSource of Node ${JSON.stringify(node.name)}`);
      return written;
    },
    async mark(node, mark, options) {
      const { name } = node;
      if (mark.adopt !== undefined) throw new Error(`node ${name} has no NodeConfig, so no set can have it`);
      await client.patch(nodes, { name }, markPatch(node, mark), { ...options, as: 'merge', fieldManager: 'relet' });
    },
    async dismiss({ name }, options) {
      await client.patch(nodes, { name }, nothingOwed, { ...options, as: 'merge', fieldManager: 'relet' });
    },
  };
}

function markPatch(node: ConfiguredNode, { hold, adopt, entry }: NodeMark) {
  const { why, ...person } = entry;
  const config = formatRef(refOf(node.configSource), 'short');
  const history = withEntry(node, { ...person, ...(why && { why }), from: config, to: config });
  const annotations: Annotations = {
    ...(hold !== undefined && { [holdAnnotation]: hold }),
    ...(adopt !== undefined && { [adoptAnnotation]: adopt }),
    [historyAnnotation]: history,
  };
  return { metadata: { resourceVersion: node.version, annotations } };
}

/** The author is written only if admission policies verify it: once they are in force, every name counts as verified. */
const authorOf = ({ isGuarded }: ConfiguredNode, by: string): string | undefined => (isGuarded ? by : undefined);

const nothingOwed = { metadata: { annotations: { [owedAnnotation]: null } } };

/** A node is its Node and its NodeConfig together. */
function nodeConfigReferences(client: KubeClient): ConfigReferences {
  return {
    kind: 'NodeConfig',
    async get(name, options) {
      const [node, object] = await Promise.all([
        client.get<Node>(nodes, { name }, options),
        client.get<NodeConfig>(nodeConfigs, { name }, options).catch(absent),
      ]);
      return both(node, object);
    },
    async *pages(options = {}) {
      const { labelSelector: _ofNodes, ...rest } = options;
      const objects = new Map<string, NodeConfig>();
      for await (const { items } of client.pages<NodeConfig>(nodeConfigs, rest))
        for (const item of items) objects.set(item.metadata.name, item);
      for await (const { items } of client.pages<Node>(nodes, { ...nodeLists, ...options }))
        yield items.map((node) => both(node, objects.get(node.metadata.name)));
    },
    async reportedLocal(name, options) {
      const { localConfig, kubeletFlags } =
        (await client.get<NodeConfig>(nodeConfigs, { name }, options).catch(absent))?.status ?? {};
      return { localConfig, kubeletFlags };
    },
    watch: (options) => watchBoth(client, options),
    async assign(node, source, { history, owed, detach, by, ...options }) {
      const write = { ...options, fieldManager: 'relet' };
      const { name, version } = node;
      const assignment = { source, history, owed, detach, by: authorOf(node, by) };
      const written = await (version === ''
        ? client.create<NodeConfig>(nodeConfigs, {}, newNodeConfig(name, assignment), write)
        : client.patch<NodeConfig>(nodeConfigs, { name }, nodeConfigPatch(version, assignment), {
            ...write,
            as: 'merge',
          }));
      if (!sameConfig(refOf(source), refOf(written.spec?.configSource), 'name'))
        throw new ReferenceDropped(
          `the server does not keep spec.configSource of NodeConfig ${JSON.stringify(node.name)}`,
        );
      return combine(node, written);
    },
    async mark(node, mark, options) {
      const { name } = node;
      const write = { ...options, as: 'merge', fieldManager: 'relet' } as const;
      if (mark.hold === null && node.hold?.on.includes('Node'))
        await client.patch(nodes, { name }, { metadata: { annotations: { [holdAnnotation]: null } } }, write);
      const patch = markPatch(node, mark);
      patch.metadata.annotations[byAnnotation] = authorOf(node, mark.entry.by) ?? null;
      await client.patch(nodeConfigs, { name }, patch, write);
    },
    async dismiss({ name }, options) {
      await client.patch(nodeConfigs, { name }, nothingOwed, { ...options, as: 'merge', fieldManager: 'relet' });
    },
  };
}

function absent(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
  return undefined;
}

const both = (node: Node, object: NodeConfig | undefined): ConfiguredNode => combine(fromNode(node), object);

const combine = (node: ConfiguredNode, object: NodeConfig | undefined): ConfiguredNode =>
  together(node, fromNodeConfig(object));

/** Either of the two may be held. */
const together = (node: ConfiguredNode, ofObject: Partial<ConfiguredNode>): ConfiguredNode =>
  readable({ ...node, ...ofObject, hold: bothHolds(ofObject.hold, node.hold) });

const bothHolds = (first: Hold | undefined, second: Hold | undefined): Hold | undefined =>
  first && second ? { ...first, on: [...first.on, ...second.on] } : (first ?? second);

/** The text is that of the newest entry of the history, whose name the API server has checked. */
function checkedHold(object: NodeConfig | undefined, changedBy: string | undefined): Hold | undefined {
  const hold = holdOf('NodeConfig', object);
  if (hold === undefined || changedBy === undefined) return hold;
  const [newest] = readHistory({ history: object?.metadata.annotations?.[historyAnnotation] });
  const isOwn = newest?.verb === 'hold' && newest.by === changedBy && holdNote(newest) === hold.why;
  return isOwn ? { ...hold, verified: true } : hold;
}

/** Fields from the NodeConfig; without one, nothing is assigned. */
function fromNodeConfig(read: MeasuredNodeConfig | undefined): Partial<ConfiguredNode> {
  const object = read && measured(read);
  const { status, unusable } = object ?? {};
  const ok = status?.conditions?.find(({ type }) => type === 'ConfigOK');
  const granted = status?.conditions?.find(({ type }) => type === 'Granted');
  const risk = status?.conditions?.find(({ type, status }) => type === 'UpgradeRisk' && status === 'True');
  const boot = status?.conditions?.find(({ type, status }) => type === 'BootRisk' && status === 'True');
  const unit = status?.conditions?.find(({ type, status }) => type === 'UnitOK' && status === 'False');
  const guarded = status?.conditions?.find(({ type }) => type === 'Guarded');
  const isGuarded = guarded?.status === 'True' && guarded.reason === guardedByPolicies;
  const changedBy = isGuarded ? object?.metadata.annotations?.[byAnnotation] : undefined;
  return {
    configSource: object?.spec?.configSource,
    unset: object === undefined || isUnset(object),
    status: status?.config ?? {},
    ...(object === undefined ? noSigns : agentSigns(object)),
    condition: ok && { status: ok.status, reason: ok.reason, message: ok.message, since: ok.lastTransitionTime },
    granted: granted && granted.status === 'True',
    trialEndsAt: status?.trial?.endsAt,
    restartDelayedUntil: status?.restartDelayedUntil,
    cause: status?.config?.error === undefined ? undefined : status.cause,
    kubeletLog: status?.kubeletLog,
    held: status?.held,
    hold: checkedHold(object, changedBy),
    owed: object && owedOf(object),
    upgradeRisk: risk && { reason: risk.reason, message: risk.message },
    bootRisk: boot && { reason: boot.reason, message: boot.message },
    claim: claimOf(object),
    signing: status?.signing,
    signingTroubles: status?.conditions?.filter(({ type, status }) => troubleStatus.get(type) === status),
    pinnedByFlags: status?.pinnedByFlags,
    warnings: [...(unusable === undefined ? [] : [unusable]), ...(status?.warnings ?? [])],
    unusableReport: unusable,
    agentVersion: status?.agentVersion,
    driver: status?.driver,
    unitNotice: unit && { reason: unit.reason, message: unit.message },
    nextStart: status?.nextStart,
    history: object?.metadata.annotations?.[historyAnnotation],
    changeResult: object?.metadata.annotations?.[resultAnnotation],
    changedBy,
    isGuarded,
    generation: object?.metadata.generation,
    observedGeneration: status?.observedGeneration,
    version: object?.metadata.resourceVersion ?? '',
  };
}

/** Conditions about signatures, and the status that is trouble. */
const troubleStatus = new Map([
  ['TrustFileUsable', 'False'],
  ['SignatureExpired', 'True'],
  ['UnsignedAccepted', 'True'],
]);

const noSigns = { reports: false, lease: undefined, missing: undefined };

/** As the node reports it, once its report is about this change. */
function owedOf({ metadata, status }: NodeConfig): ConfiguredNode['owed'] {
  const owed = readOwed(metadata.annotations?.[owedAnnotation]);
  const condition = status?.conditions?.find(({ type }) => type === 'ActionOwed');
  if (condition === undefined || (condition.observedGeneration ?? 0) < (metadata.generation ?? 1))
    return withLeft(owed);
  const left = owedActions.find((one) => owedReasons[one].reason === condition.reason);
  return left === undefined ? undefined : withLeft(owed, left);
}

/** Two watches, reported as one: a change of either is a change of the node. Of thousands of objects only what is needed is kept. */
async function watchBoth(
  client: KubeClient,
  { onList, onChange, onFailure, onWatching, signal, name, labelSelector }: WatchNodes,
): Promise<void> {
  const open = new Set<'nodes' | 'objects'>();
  const follow = (which: 'nodes' | 'objects') => ({
    onFailure(error: unknown) {
      open.delete(which);
      onFailure(error);
    },
    onWatching() {
      open.add(which);
      if (open.size === 2) onWatching?.();
    },
  });
  const present = new Map<string, ConfiguredNode>();
  const objects = new Map<string, Partial<ConfiguredNode>>();
  const listed = { nodes: false, objects: false };
  const none = fromNodeConfig(undefined);
  const one = (node: ConfiguredNode) => together(node, objects.get(node.name) ?? none);
  const reportAll = () => {
    if (listed.nodes && listed.objects) onList([...present.values()].map(one));
  };
  const scope: CallOptions & { signal: AbortSignal; name?: string } = { signal, ...(name !== undefined && { name }) };
  await Promise.all([
    watchLoop<Node>(client, {
      ...scope,
      type: nodes,
      omitLists: nodeLists.omitLists,
      ...(labelSelector !== undefined && { labelSelector }),
      trim: trimmedNode,
      ...follow('nodes'),
      onList(items) {
        listed.nodes = true;
        present.clear();
        for (const item of items) present.set(item.metadata.name, fromNode(item));
        reportAll();
      },
      onChange(type, object) {
        const node = fromNode(object);
        if (type === 'DELETED') present.delete(node.name);
        else present.set(node.name, node);
        if (listed.objects) onChange(one(node), type === 'DELETED');
      },
    }),
    watchLoop<NodeConfig>(client, {
      ...scope,
      type: nodeConfigs,
      trim: trimmedNodeConfig,
      ...follow('objects'),
      onList(items) {
        listed.objects = true;
        objects.clear();
        for (const item of items) objects.set(item.metadata.name, fromNodeConfig(item));
        reportAll();
      },
      onChange(type, object) {
        const { name } = object.metadata;
        if (type === 'DELETED') objects.delete(name);
        else objects.set(name, fromNodeConfig(object));
        const node = present.get(name);
        if (node !== undefined && listed.nodes) onChange(one(node), false);
      },
    }),
  ]);
}

const trimmedNode = ({ apiVersion, kind, metadata, spec, status }: Node): Node => ({
  apiVersion,
  kind,
  metadata: withoutManagedFields(metadata),
  ...(spec?.configSource && { spec: { configSource: spec.configSource } }),
  status: {
    ...(status?.config && { config: status.config }),
    conditions: (status?.conditions ?? []).filter(({ type }) => type === 'Ready' || type === 'ConfigOK'),
    nodeInfo: { kubeletVersion: status?.nodeInfo?.kubeletVersion ?? '' },
  },
});

function trimmedNodeConfig(object: NodeConfig): MeasuredNodeConfig {
  const { metadata, status, ...rest } = measured(object);
  const { localConfig: _, kubeletFlags: __, changes: ___, ...kept } = status ?? {};
  return { ...rest, metadata: withoutManagedFields(metadata), ...(status && { status: kept }) };
}

function withoutManagedFields({ managedFields: _, ...metadata }: KubeObject['metadata']): KubeObject['metadata'] {
  return metadata;
}
