/**
 * The references from nodes to their configs, for the command line: one interface, so that nothing else knows which object holds
 * the reference. It is the Node itself, as in Dynamic Kubelet Configuration, or the NodeConfig of the node.
 */
import { owedReasons } from '../api/condition-reasons.js';
import { type NodeConfigSource, refOf, sameConfig } from '../api/config-ref.js';
import { detachAnnotation, isUnset, type NodeConfig, nodeConfigs, unsetAnnotations } from '../api/node-config.js';
import { adoptAnnotation, claimAnnotation, readClaim } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import { type Owed, owedActions, owedAnnotation, readOwed } from '../api/owed.js';
import { isNotFound } from '../kube/api-error.js';
import { type CallOptions, type KubeClient, serves } from '../kube/client.js';
import { nodes } from '../kube/resource-type.js';
import { watchLoop } from '../kube/watch.js';
import { historyAnnotation } from './config-history.js';
import {
  type ConfigReferences,
  type ConfiguredNode,
  fromNode,
  type Node,
  nodeLists,
  ReferenceDropped,
  readable,
  type WatchNodes,
  withLeft,
} from './configured-node.js';

/** The references of this cluster. The server is asked which kind it has. */
export async function configReferences(client: KubeClient, options: CallOptions = {}): Promise<ConfigReferences> {
  return (await serves(client, nodeConfigs, options)) ? nodeConfigReferences(client) : nodeReferences(client);
}

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
    watch: ({ onList, onChange, onFailure, ...scope }) =>
      watchLoop<Node>(client, {
        ...scope,
        omitLists: nodeLists.omitLists,
        type: nodes,
        onList: (items) => onList(items.map(configured)),
        onChange: (type, node) => onChange(configured(node), type === 'DELETED'),
        onFailure,
      }),
    async assign(node, source, { history, owed, detach, ...options }) {
      const written = configured(
        await client.patch<Node>(
          nodes,
          { name: node.name },
          nodePatch(node.version, source, annotationsOf(history, owed, detach)),
          {
            ...options,
            as: 'merge',
            fieldManager: 'relet',
          },
        ),
      );
      if (!sameConfig(refOf(source), refOf(written.configSource), 'name'))
        throw new ReferenceDropped(`the server does not keep spec.configSource of Node ${JSON.stringify(node.name)}`);
      return written;
    },
    adopt: ({ name }) => Promise.reject(new Error(`node ${name} has no NodeConfig, so no set can have it`)),
    async dismiss({ name }, options) {
      await client.patch(nodes, { name }, nothingOwed, { ...options, as: 'merge', fieldManager: 'relet' });
    },
  };
}

type Annotations = Record<string, string | null>;

/** Null in a patch removes one. */
const annotationsOf = (history: string, owed: Owed | undefined, detach: string | undefined): Annotations => ({
  [historyAnnotation]: history,
  [owedAnnotation]: owed === undefined ? null : JSON.stringify(owed),
  [detachAnnotation]: detach ?? null,
});

const nothingOwed = { metadata: { annotations: { [owedAnnotation]: null } } };

function nodePatch(resourceVersion: string, source: NodeConfigSource | undefined, annotations: Annotations): object {
  // A merge keeps what it does not name, so the other dialect's field is named as null.
  const configSource = source === undefined ? null : { configMap: null, configMapRef: null, ...source };
  return { metadata: { resourceVersion, annotations }, spec: { configSource } };
}

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
    async assign(node, source, { history, owed, detach, ...options }) {
      const write = { ...options, fieldManager: 'relet' };
      const written = await (node.version === ''
        ? client.create<NodeConfig>(
            nodeConfigs,
            {},
            newObject(node.name, source, annotationsOf(history, owed, detach)),
            write,
          )
        : client.patch<NodeConfig>(
            nodeConfigs,
            { name: node.name },
            nodeConfigPatch(node.version, source, annotationsOf(history, owed, detach)),
            {
              ...write,
              as: 'merge',
            },
          ));
      if (!sameConfig(refOf(source), refOf(written.spec?.configSource), 'name'))
        throw new ReferenceDropped(
          `the server does not keep spec.configSource of NodeConfig ${JSON.stringify(node.name)}`,
        );
      return combine(node, written);
    },
    async adopt({ name }, set, options) {
      const patch = { metadata: { annotations: { [adoptAnnotation]: set } } };
      await client.patch(nodeConfigs, { name }, patch, { ...options, as: 'merge', fieldManager: 'relet' });
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

function nodeConfigPatch(
  resourceVersion: string,
  source: NodeConfigSource | undefined,
  annotations: Annotations,
): object {
  // A merge keeps what it does not name: a pin is of one content, and goes with it.
  const configSource = source === undefined ? null : { configMap: { sha256: null, ...source.configMap } };
  const metadata = { resourceVersion, annotations: { ...annotations, ...unsetAnnotations(null) } };
  return { metadata, spec: { configSource } };
}

/** Where no controller made one yet. */
function newObject(name: string, source: NodeConfigSource | undefined, annotations: Annotations): NodeConfig {
  const set = Object.entries(annotations).filter((entry): entry is [string, string] => entry[1] !== null);
  return {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfig',
    metadata: { name, annotations: Object.fromEntries(set) },
    spec: source === undefined ? {} : { configSource: source },
  };
}

const both = (node: Node, object: NodeConfig | undefined): ConfiguredNode => combine(fromNode(node), object);

function combine(node: ConfiguredNode, object: NodeConfig | undefined): ConfiguredNode {
  const { status } = object ?? {};
  const ok = status?.conditions?.find(({ type }) => type === 'ConfigOK');
  const granted = status?.conditions?.find(({ type }) => type === 'Granted');
  const risk = status?.conditions?.find(({ type, status }) => type === 'UpgradeRisk' && status === 'True');
  const unit = status?.conditions?.find(({ type, status }) => type === 'UnitOK' && status === 'False');
  return readable({
    ...node,
    configSource: object?.spec?.configSource,
    unset: object === undefined || isUnset(object),
    status: status?.config ?? {},
    reports: status?.config !== undefined,
    condition: ok && { status: ok.status, reason: ok.reason, message: ok.message, since: ok.lastTransitionTime },
    granted: granted && granted.status === 'True',
    trialEndsAt: status?.trial?.endsAt,
    restartDelayedUntil: status?.restartDelayedUntil,
    cause: status?.config?.error === undefined ? undefined : status.cause,
    kubeletLog: status?.kubeletLog,
    held: status?.held,
    owed: object && owedOf(object),
    upgradeRisk: risk && { reason: risk.reason, message: risk.message },
    claim: readClaim(object?.metadata.annotations?.[claimAnnotation]),
    pinnedByFlags: status?.pinnedByFlags,
    warnings: status?.warnings ?? [],
    agentVersion: status?.agentVersion,
    driver: status?.driver,
    unitNotice: unit && { reason: unit.reason, message: unit.message },
    nextStart: status?.nextStart,
    history: object?.metadata.annotations?.[historyAnnotation],
    generation: object?.metadata.generation,
    observedGeneration: status?.observedGeneration,
    version: object?.metadata.resourceVersion ?? '',
  });
}

/** As the node reports it, once its report is about this change. */
function owedOf({ metadata, status }: NodeConfig): ConfiguredNode['owed'] {
  const owed = readOwed(metadata.annotations?.[owedAnnotation]);
  const condition = status?.conditions?.find(({ type }) => type === 'ActionOwed');
  if (condition === undefined || (condition.observedGeneration ?? 0) < (metadata.generation ?? 1))
    return withLeft(owed);
  const left = owedActions.find((one) => owedReasons[one].reason === condition.reason);
  return left === undefined ? undefined : withLeft(owed, left);
}

/** Two watches, reported as one: a change of either is a change of the node. */
async function watchBoth(
  client: KubeClient,
  { onList, onChange, onFailure, signal, name, labelSelector }: WatchNodes,
): Promise<void> {
  const present = new Map<string, Node>();
  const objects = new Map<string, NodeConfig>();
  const listed = { nodes: false, objects: false };
  const one = (node: Node) => both(node, objects.get(node.metadata.name));
  const reportAll = () => {
    if (listed.nodes && listed.objects) onList([...present.values()].map(one));
  };
  const fill = <T extends KubeObject>(map: Map<string, T>, items: T[]) => {
    map.clear();
    for (const item of items) map.set(item.metadata.name, item);
    reportAll();
  };
  const scope: CallOptions & { signal: AbortSignal; name?: string } = { signal, ...(name !== undefined && { name }) };
  await Promise.all([
    watchLoop<Node>(client, {
      ...scope,
      type: nodes,
      ...(labelSelector !== undefined && { labelSelector }),
      onFailure,
      onList(items) {
        listed.nodes = true;
        fill(present, items);
      },
      onChange(type, node) {
        if (type === 'DELETED') present.delete(node.metadata.name);
        else present.set(node.metadata.name, node);
        if (listed.objects) onChange(one(node), type === 'DELETED');
      },
    }),
    watchLoop<NodeConfig>(client, {
      ...scope,
      type: nodeConfigs,
      onFailure,
      onList(items) {
        listed.objects = true;
        fill(objects, items);
      },
      onChange(type, object) {
        const { name } = object.metadata;
        if (type === 'DELETED') objects.delete(name);
        else objects.set(name, object);
        const node = present.get(name);
        if (node !== undefined && listed.nodes) onChange(one(node), false);
      },
    }),
  ]);
}
