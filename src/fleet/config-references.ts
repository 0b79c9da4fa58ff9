/**
 * Where a node's config is referred to, for those who look at many nodes and change their reference: the command line and
 * the rollout controller. One interface, so that nothing else knows which object holds the reference. Here the Node
 * itself, as Kubernetes had it; node-config-references.ts stands beside it.
 */

import { sameReference, sourceName } from '../api/config-state.js';
import {
  agentVersionAnnotation,
  causeAnnotation,
  heldAnnotation,
  pinnedByFlagsAnnotation,
  readCause,
  readHeld,
  restartDelayedAnnotation,
  trialEndsAnnotation,
} from '../api/node-annotations.js';
import type { NodeCondition } from '../api/node-condition.js';
import type { HeldState } from '../api/node-config.js';
import { nodeConfigs } from '../api/node-config.js';
import type { NodeConfigSource, NodeConfigStatus } from '../api/node-config-source.js';
import type { KubeObject } from '../api/object.js';
import type { CallOptions, KubeClient, ListOptions } from '../kube/client.js';
import { serves } from '../kube/discovery.js';
import { nodes } from '../kube/resource-type.js';
import { watchLoop } from '../kube/watch-loop.js';
import { historyAnnotation } from './config-history.js';
import { nodeConfigReferences } from './node-config-references.js';

/** A node, what is asked of it and what it reports: all that matters of it here, and small, since there are thousands. */
export interface ConfiguredNode {
  name: string;
  labels: Record<string, string>;
  createdAt: string;
  kubeletVersion: string;
  /** The condition Ready: True, False or Unknown. */
  ready: string;
  /** The last sign of life in the Node's own status. */
  heartbeatAt: string | undefined;
  configSource: NodeConfigSource | undefined;
  /** Nobody has said anything about its config yet: without a configSource it is then not told to be local either. */
  undecided?: boolean;
  status: NodeConfigStatus;
  /** False: nothing on the node has ever reported about its config. */
  reports: boolean;
  /** Of the condition ConfigOK, where it is reported. */
  condition: { status: string; reason: string; message: string; since: string } | undefined;
  /** When the trial under way is over, if the node tells. */
  trialEndsAt: string | undefined;
  /** Why, in detail, for status.error; undefined also where an older relet runs. */
  cause?: string | undefined;
  /** It follows no new assignment until it is released on its host. */
  held?: HeldState | undefined;
  /** Configs changed in quick succession, so it restarts its kubelet with the newest only at this time. */
  restartDelayedUntil?: string | undefined;
  /** Fields that flags of its kubelet set, if the node tells. */
  pinnedByFlags: string[] | undefined;
  /** What it warns of under the config it runs, if it tells: a Node has no place for it. */
  warnings: string[];
  /** relet's version on the node, if it tells. */
  agentVersion: string | undefined;
  /** The annotation as it stands; src/fleet/config-history.ts reads it. */
  history: string | undefined;
  /** Of the object that holds the reference, and the one that `status` is about; a Node has neither. */
  generation?: number | undefined;
  observedGeneration?: number | undefined;
  /** Version of the object that holds the reference; `assign` refuses to write over a newer one. */
  version: string;
}

/** The server answered as if it had kept the reference, and dropped it. */
export class ReferenceDropped extends Error {
  override readonly name = 'ReferenceDropped';
}

export interface FollowNodes {
  name?: string;
  labelSelector?: string;
  signal: AbortSignal;
  /** All there is now; again whenever a new list was needed. */
  onList(present: ConfiguredNode[]): void;
  onChange(node: ConfiguredNode, gone: boolean): void;
  onFailure(error: unknown): void;
}

export interface AssignOptions extends CallOptions {
  /** The new text of the history annotation; written together with the reference, or not at all. */
  history: string;
  dryRun?: boolean;
}

export interface ConfigReferences {
  /** The kind of object that holds the reference. */
  readonly kind: 'Node' | 'NodeConfig';
  get(name: string, options?: CallOptions): Promise<ConfiguredNode>;
  pages(
    options?: Pick<ListOptions, 'labelSelector' | 'limit' | 'signal'>,
  ): AsyncGenerator<ConfiguredNode[], void, void>;
  /** Returns only when the signal fires. */
  follow(options: FollowNodes): Promise<void>;
  /** Undefined means local. Throws a conflict when the object is no longer as `node` has it. */
  assign(node: ConfiguredNode, source: NodeConfigSource | undefined, options: AssignOptions): Promise<ConfiguredNode>;
}

/** The references of this cluster; which kind it has, is asked of the server. */
export async function configReferences(client: KubeClient, options: CallOptions = {}): Promise<ConfigReferences> {
  return (await serves(client, nodeConfigs, options))
    ? nodeConfigReferences(client, (node) => fromNode(node as Node))
    : nodeReferences(client);
}

interface Node extends KubeObject {
  spec?: { configSource?: NodeConfigSource };
  status?: { config?: NodeConfigStatus; conditions?: NodeCondition[]; nodeInfo?: { kubeletVersion?: string } };
}

/** A page is read whole before the next; of real Nodes so many are some 2 MB. What is left out is most of a Node. */
export const nodeLists = { limit: 200, leaveOut: ['images', 'managedFields'] };

function nodeReferences(client: KubeClient): ConfigReferences {
  return {
    kind: 'Node',
    get: async (name, options) => fromNode(await client.get<Node>(nodes, { name }, options)),
    async *pages(options) {
      const list = { ...nodeLists, ...options };
      for await (const { items } of client.pages<Node>(nodes, list)) yield items.map(fromNode);
    },
    follow: ({ onList, onChange, onFailure, ...scope }) =>
      watchLoop<Node>(client, {
        ...scope,
        leaveOut: nodeLists.leaveOut,
        type: nodes,
        onList: (items) => onList(items.map(fromNode)),
        onChange: (type, node) => onChange(fromNode(node), type === 'DELETED'),
        onFailure,
      }),
    async assign(node, source, { history, ...options }) {
      const written = fromNode(
        await client.patch<Node>(nodes, { name: node.name }, assignPatch(node.version, source, history), {
          ...options,
          as: 'merge',
          fieldManager: 'relet',
        }),
      );
      if (!sameReference(sourceName(source), sourceName(written.configSource)))
        throw new ReferenceDropped(`the server does not keep spec.configSource of Node ${JSON.stringify(node.name)}`);
      return written;
    },
  };
}

function assignPatch(resourceVersion: string, source: NodeConfigSource | undefined, history: string): object {
  // A merge keeps what it does not name, so the other dialect's field is named as null.
  const configSource = source === undefined ? null : { configMap: null, configMapRef: null, ...source };
  return { metadata: { resourceVersion, annotations: { [historyAnnotation]: history } }, spec: { configSource } };
}

function fromNode({ metadata, spec, status }: Node): ConfiguredNode {
  const condition = (type: string) => status?.conditions?.find((one) => one.type === type);
  const [ready, ok] = [condition('Ready'), condition('ConfigOK')];
  const annotations = metadata.annotations ?? {};
  return {
    name: metadata.name,
    labels: metadata.labels ?? {},
    createdAt: metadata.creationTimestamp ?? '',
    kubeletVersion: status?.nodeInfo?.kubeletVersion ?? '',
    ready: ready?.status ?? 'Unknown',
    heartbeatAt: ready?.lastHeartbeatTime,
    configSource: spec?.configSource,
    status: status?.config ?? {},
    reports: status?.config !== undefined || ok !== undefined,
    condition: ok && {
      status: ok.status,
      reason: ok.reason ?? '',
      message: ok.message ?? '',
      since: ok.lastTransitionTime ?? '',
    },
    trialEndsAt: annotations[trialEndsAnnotation],
    restartDelayedUntil: annotations[restartDelayedAnnotation],
    cause: readCause(annotations[causeAnnotation], status?.config ?? {}),
    held: readHeld(annotations[heldAnnotation]),
    pinnedByFlags: annotations[pinnedByFlagsAnnotation]?.split(','),
    warnings: [],
    agentVersion: annotations[agentVersionAnnotation],
    history: annotations[historyAnnotation],
    version: metadata.resourceVersion ?? '',
  };
}
