/**
 * Decides which agents of a rehearsal actually run, to keep it fast. An agent runs only while its node is changed. If several equal
 * nodes get the same config within a few seconds, one agent runs for all: its reports are written to the others too, each in its own
 * time.
 *
 *   at rest ── its NodeConfig is written ──► runs ── trial over, 30 s ──► at rest
 *      │                                      ▲
 *      └── an equal node runs ──► follows its leader ── it is written again, or the leader is: then the next one leads
 */
import { refOf, sameConfig } from '../api/config-ref.js';
import { owedAnnotation } from '../api/node-annotations.js';
import {
  agentMissingCondition,
  type NodeConfig,
  type NodeConfigObjectStatus,
  nodeConditions,
  nodeConfigs,
} from '../api/node-config.js';
import type { KubeObject } from '../api/object.js';
import { nodes, type ResourceType } from '../kube/resource-type.js';
import type { Fleet } from './fleet.js';
import type { SimulatedCluster } from './simulation/cluster.js';
import type { NodeImage } from './simulation/node.js';
import type { SeededRandom } from './simulation/seeded-random.js';

/** By name of a node, the one of its kind that runs before the rollout; itself, where it runs. */
export type Kinds = ReadonlyMap<string, string>;

/** Two nodes are of one kind where their agents do the same before the rollout. */
export function kindsOf({ nodes, nodeConfigs: present, failing }: Fleet): Kinds {
  const assigned = new Map(present.map(({ metadata, spec }) => [metadata.name, [metadata.annotations, spec]]));
  const first = new Map<string, string>();
  return new Map(
    nodes.map(({ name, local, kubeletVersion, host }) => {
      const key = failing.has(name) ? name : JSON.stringify([local, kubeletVersion, host, assigned.get(name)]);
      if (!first.has(key)) first.set(key, name);
      return [name, first.get(key)!];
    }),
  );
}

/** A node at rest. Those with the same one are alike. */
interface Rest {
  image: NodeImage;
  /** That began from it, by what they are assigned: nodes may join for a while. */
  groups: Map<string, Group>;
}

/** Nodes that were alike and got the same config. The agent of the leader runs. */
interface Group {
  leader: string;
  sinceMs: number;
  /** Statuses that the leader has reported, each with its time. */
  reports: { atMs: number; status: NodeConfigObjectStatus }[];
  /** How much later than the leader each follower is. */
  delaysMs: Map<string, number>;
  /** State at rest of all of them, once the agent of the leader has ended. */
  rest?: Rest;
}

export interface AgentsOptions {
  cluster: SimulatedCluster;
  kinds: Kinds;
  random: SeededRandom;
  /** Its agent runs, whatever the others do. */
  isAlone(name: string): boolean;
  /** As the server has it now. */
  nodeConfig(name: string): NodeConfig | undefined;
}

/** After the trial, an agent still sends its last status and events. */
const restAfterMs = 30_000;
/** A batch is written within this. */
const joinMs = 5000;
/** Kubelets take from one to five seconds to be healthy: that of a leader takes one. */
export const leaderHealthyMs = 1000;
const slowerByMs = 4000;

export class Agents {
  readonly #options: AgentsOptions;
  /** States of nodes that are in no group. */
  readonly #rests = new Map<string, Rest>();
  /** Groups of leaders and followers, by name of a node. */
  readonly #groups = new Map<string, Group>();

  constructor(options: AgentsOptions) {
    this.#options = options;
  }

  /** The nodes that run have settled: the others of their kinds are made like them. `absent`: Nodes that are not there yet, by name. */
  async copyKinds(absent: ReadonlyMap<string, KubeObject> = new Map()): Promise<void> {
    const { cluster, kinds, nodeConfig } = this.#options;
    const rests = new Map<string, Rest>();
    for (const like of new Set(kinds.values())) {
      const node = cluster.nodes.get(like)!;
      rests.set(like, restOf(node.image()));
      node.rest();
    }
    for (const [name, like] of kinds) {
      this.#rests.set(name, rests.get(like)!);
      const node = absent.get(name);
      if (node !== undefined) await this.#add(node, nodeConfig(like));
      else if (name !== like) await this.#report(name, ownStatus(nodeConfig(like)));
    }
  }

  /** The spec of its NodeConfig was written. */
  written(object: NodeConfig): void {
    const { cluster, isAlone } = this.#options;
    const { name } = object.metadata;
    const node = cluster.nodes.get(name);
    if (node === undefined) return;
    // A running agent sees it in its watch. Those that follow it were not written.
    if (!node.isResting) {
      this.#handOver(name);
      return;
    }
    const rest = this.#leave(name);
    const key = JSON.stringify([object.spec, object.metadata.annotations?.[owedAnnotation]]);
    const group = rest.groups.get(key);
    const isOpen = group !== undefined && cluster.clock.monotonic() - group.sinceMs < joinMs;
    if (isOpen && !isAlone(name)) {
      this.#join(name, group);
      return;
    }
    node.become(rest.image);
    node.boot();
    if (isAlone(name)) return;
    const begun: Group = { leader: name, sinceMs: cluster.clock.monotonic(), reports: [], delaysMs: new Map() };
    this.#groups.set(name, begun);
    rest.groups.set(key, begun);
  }

  /** The status of a NodeConfig was written. */
  reported(object: NodeConfig): void {
    const { name } = object.metadata;
    const group = this.#groups.get(name);
    if (group?.leader !== name || !isResult(object)) return;
    const status = ownStatus(object);
    const last = group.reports.at(-1)?.status;
    if (JSON.stringify(status) === JSON.stringify(last)) return;
    group.reports.push({ atMs: this.#options.cluster.clock.monotonic(), status });
    for (const follower of group.delaysMs.keys()) this.#follow(follower, group, group.reports.length - 1);
  }

  /** The node has passed its trial. */
  updated(name: string): void {
    const { clock, nodes } = this.#options.cluster;
    const node = nodes.get(name);
    if (node === undefined || node.isResting) return;
    const { agent } = node;
    void clock.sleep(restAfterMs).then(() => {
      if (node.agent !== agent || node.isResting) return;
      node.rest();
      const rest = restOf(node.image());
      const group = this.#groups.get(name);
      if (group?.leader === name) group.rest = rest;
      else this.#rests.set(name, rest);
    });
  }

  #join(name: string, group: Group): void {
    const { cluster, random } = this.#options;
    const laterMs = cluster.clock.monotonic() - group.sinceMs;
    group.delaysMs.set(name, laterMs + random.stream(name).below(slowerByMs));
    this.#groups.set(name, group);
    for (const at of group.reports.keys()) this.#follow(name, group, at);
  }

  /** The leader gets another config: the agent of the next one runs from here on, as the leader is now. */
  #handOver(leader: string): void {
    const { nodes } = this.#options.cluster;
    const group = this.#groups.get(leader);
    if (group?.leader !== leader) return;
    this.#groups.delete(leader);
    const [next] = group.delaysMs.keys();
    if (next === undefined) return;
    group.leader = next;
    group.delaysMs.delete(next);
    nodes.get(next)!.become(nodes.get(leader)!.image());
    nodes.get(next)!.boot();
  }

  /** Reports what the leader has reported, unless it leads, or was assigned another config, by then. */
  #follow(name: string, group: Group, at: number): void {
    const { clock } = this.#options.cluster;
    const { atMs, status } = group.reports[at]!;
    const dueMs = atMs + group.delaysMs.get(name)! - clock.monotonic();
    const isFollower = () => this.#groups.get(name) === group && group.leader !== name;
    void clock.sleep(dueMs).then(() => (isFollower() ? this.#report(name, status) : undefined));
  }

  /** How the node is now, or its leader. It is on its own from here on. */
  #leave(name: string): Rest {
    const group = this.#groups.get(name);
    if (group === undefined) return this.#rests.get(name)!;
    this.#groups.delete(name);
    group.delaysMs.delete(name);
    return group.rest ?? restOf(this.#options.cluster.nodes.get(group.leader)!.image());
  }

  /** A Node, and a NodeConfig like the one of its kind. Straight to the store: the server has accepted the same of the other. */
  async #add(node: KubeObject, like: NodeConfig | undefined): Promise<void> {
    const { cluster, random } = this.#options;
    if (like === undefined) return;
    const { name } = node.metadata;
    const ids = random.stream(`${name} ids`);
    const [uid, ownUid] = [ids.uuid(), ids.uuid()];
    const { creationTimestamp } = like.metadata;
    const ownerReferences = like.metadata.ownerReferences?.map((owner) => ({ ...owner, name, uid }));
    const metadata = { ...like.metadata, name, uid: ownUid, ...(ownerReferences && { ownerReferences }) };
    const objects: [ResourceType, KubeObject][] = [
      [nodeConfigs, { ...like, metadata }],
      [nodes, { ...node, metadata: { ...node.metadata, uid, ...(creationTimestamp && { creationTimestamp }) } }],
    ];
    // Both at once: without the other, a NodeConfig is garbage, and a Node is given one.
    await Promise.all(
      objects.map(([type, object]) => {
        const encode = (revision: number) => encodeAt(revision, object);
        return cluster.server.store.write({ key: keyOf(type, name), expected: 0, delete: false, encode });
      }),
    );
  }

  /**
   * With what the controller has written there, and about the present spec. Straight to the store: the server has accepted the same of
   * the leader.
   */
  async #report(name: string, status: NodeConfigObjectStatus): Promise<void> {
    const { store } = this.#options.cluster.server;
    const key = keyOf(nodeConfigs, name);
    const stored = store.latest(key);
    if (stored === undefined) return;
    const object: NodeConfig = JSON.parse(stored.bytes.toString('utf8'));
    const { generation = 1 } = object.metadata;
    const controllers = object.status?.conditions?.filter((one) => !isAgents(one)) ?? [];
    const conditions = [...(status.conditions ?? []), ...controllers];
    const next = { ...status, conditions, ...(status.observedGeneration && { observedGeneration: generation }) };
    const encode = (revision: number) => encodeAt(revision, { ...object, status: next });
    await store.write({ key, expected: stored.revision, delete: false, encode });
  }
}

const keyOf = ({ group, resource }: ResourceType, name: string) => ({ group, resource, namespace: '', name });

function encodeAt(revision: number, object: KubeObject): Buffer {
  const metadata = { ...object.metadata, resourceVersion: String(revision) };
  return Buffer.from(JSON.stringify({ ...object, metadata }));
}

/** About the present spec, and not that it is being followed: the config is active, or has failed. */
function isResult({ metadata, status }: NodeConfig): boolean {
  const { assigned, active, error } = status?.config ?? {};
  const isActive = sameConfig(refOf(assigned), refOf(active), 'version');
  return status?.observedGeneration === metadata.generation && (isActive || error !== undefined);
}

const restOf = (image: NodeImage): Rest => ({ image, groups: new Map() });

const isAgents = ({ type }: { type: string }): boolean =>
  type === agentMissingCondition || nodeConditions.some((one) => one === type);

/** Returns the part of the status that the node's agent has written. */
function ownStatus(object: NodeConfig | undefined): NodeConfigObjectStatus {
  const { conditions = [], ...status } = object?.status ?? {};
  return { ...status, conditions: conditions.filter(isAgents) };
}
