/**
 * Caches the answers about a config per group of equal nodes: thousands of nodes are a few groups, and a pass costs nothing while these
 * stay the same.
 */
import { exclusionReasons } from '../api/condition-reasons.js';
import { type ConfigRef, formatRef, refOf } from '../api/config-ref.js';
import { selectsLabels } from '../api/label-selector.js';
import { addOwed, type Owed, owedAnnotation, readOwed } from '../api/node-annotations.js';
import type { LocalConfig, NodeConfig } from '../api/node-config.js';
import type { NodeConfigSet } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import type { NodeFacts } from '../config/node-facts.js';
import type { Payload } from '../fleet/config-maps.js';
import { selectorOf } from '../fleet/field-policies.js';
import { shorten } from '../shorten.js';
import {
  answerFor,
  type CaseAnswer,
  type CaseQuestion,
  type DrainNeed,
  drainNeed,
  type NodeCase,
  owedOf,
  problemOf,
} from './impact.js';
import type { Refusal, SetMember } from './members.js';
import type { Stalled } from './plan.js';
import type { DesiredRevision } from './state.js';

interface SetCasesOptions {
  fieldPolicies: { values(): Iterable<KubeObject> };
  /** Reads a config; undefined if that is not possible. */
  readPayload(ref: ConfigRef): Promise<Payload | undefined>;
  /** Yields to the event loop. */
  turn(): Promise<void>;
}

interface Wanted {
  text: string;
  desired: DesiredRevision;
}

/** Nodes that are alike, and why: the key names everything that an answer depends on. */
interface Group {
  key: string;
  members: SetMember[];
}

/** Known facts of one set. */
interface Known {
  /** By group: a node that reports something else costs no more than the answer for its own group. */
  answers: Map<string, CaseAnswer>;
  groupOfNode: Map<string, string>;
}

export interface Assessment {
  /** Why the config is rolled out to no node at all. */
  problem: Stalled | undefined;
  /** All members, those that the config cannot be rolled out to with the reason (Refusal). */
  members: readonly SetMember[];
}

const withBigInts = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);

export class SetCases {
  readonly #options: SetCasesOptions;
  readonly #sets = new Map<string, Known>();
  /** Payloads of immutable ConfigMaps, by source. */
  readonly #payloads = new Map<string, string>();
  /** Needs that do not depend on pods, by group and target. */
  readonly #needs = new Map<string, DrainNeed>();
  readonly #locals = new WeakMap<LocalConfig, number>();
  #nextLocal = 1;
  /** By Node, as it was with this NodeConfig. */
  readonly #groups = new WeakMap<SetMember['cluster'], { object: SetMember['object']; group: string }>();

  constructor(options: SetCasesOptions) {
    this.#options = options;
  }

  /**
   * Which of the nodes without the config can get it. One node cannot stop the others: where the config is invalid on it, not allowed, or
   * needs more than is accepted, it is refused. Where that leaves no node, the problem is of the whole set.
   */
  async assess(
    { metadata, spec: { accept = [] } }: NodeConfigSet,
    { text, desired: { revision } }: Wanted,
    members: readonly SetMember[],
  ): Promise<Assessment> {
    const has = ({ node }: SetMember) => node.claim?.revision === revision;
    const open = members.filter((member) => !has(member) && !member.node.blocked);
    const policies = [...this.#options.fieldPolicies.values()];
    const groups = this.#groupsOf(open, JSON.stringify([revision, accept]), policies);
    const answers = await this.#answersFor(metadata.name, groups, { text, policies, accept });
    const refused = new Map<string, Refusal>();
    for (const { key, members: alike } of groups) {
      const problem = problemOf([{ names: [], answer: answers.get(key)! }]);
      if (problem === undefined) continue;
      const reason = refusalReasons[problem.kind];
      const message = shorten(problem.message, 300);
      for (const { node } of alike) refused.set(node.name, { kind: problem.kind, revision, reason, message });
    }
    if (refused.size === 0) return { problem: undefined, members };
    if (refused.size === open.length && !members.some(has)) {
      const answered = groups.map(({ key, members: alike }) => ({
        names: alike.map(({ node }) => node.name),
        answer: answers.get(key)!,
      }));
      return { problem: problemOf(answered), members };
    }
    const marked = members.map((member): SetMember => {
      const refusal = refused.get(member.node.name);
      return refusal === undefined ? member : { ...member, node: { ...member.node, refused: refusal } };
    });
    return { problem: undefined, members: marked };
  }

  /** A set that is gone needs no answers. */
  forget(set: string): void {
    this.#sets.delete(set);
  }

  #groupsOf(members: readonly SetMember[], about: string, policies: readonly KubeObject[]): Group[] {
    const selectors = policies.map((policy) => ({ id: versionOf(policy), selector: selectorOf(policy) }));
    const groups = new Map<string, Group>();
    for (const member of members) {
      const policed = selectors.filter(({ selector }) => selectsLabels(selector, member.node.labels));
      const key = [about, this.#groupOf(member), ...policed.map(({ id }) => id)].join('\n');
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { key, members: [member] });
      else group.members.push(member);
    }
    return [...groups.values()];
  }

  async #answersFor(set: string, groups: readonly Group[], question: CaseQuestion): Promise<Map<string, CaseAnswer>> {
    const { turn } = this.#options;
    const before = this.#sets.get(set)?.answers;
    const answers = new Map<string, CaseAnswer>();
    for (const { key, members } of groups) {
      answers.set(key, before?.get(key) ?? (await answerFor(question, await this.#case(members), turn)));
    }
    const groupOfNode = new Map(groups.flatMap(({ key, members }) => members.map(({ node }) => [node.name, key])));
    this.#sets.set(set, { answers, groupOfNode });
    return answers;
  }

  /** After the change of this node, together with what was left to do before it. */
  owed(set: string, { node, object }: SetMember, when: { at: string; isDrained: boolean }): Owed | undefined {
    const { answers, groupOfNode } = this.#sets.get(set) ?? {};
    const added = answers?.get(groupOfNode?.get(node.name) ?? '')?.owed;
    return withAdded(readOwed(object?.metadata.annotations?.[owedAnnotation]), added, when);
  }

  /**
   * The same for a node that has the revision of the spec already, or gets another one. What was left to do before is settled on a node
   * that was drained.
   */
  async owedFor(
    member: SetMember,
    source: ConfigRef | undefined,
    { at, isDrained }: { at: string; isDrained: boolean },
  ): Promise<Owed | undefined> {
    const one = await this.#case([member]);
    const added = await owedOf(await this.#payload(source), one, this.#options.turn);
    const present = isDrained ? undefined : readOwed(member.object?.metadata.annotations?.[owedAnnotation]);
    return withAdded(present, added, { at, isDrained });
  }

  /** Need of the change of this node to a config: its text, or its reference. */
  async drainNeed(
    member: SetMember,
    target: { revision?: string; text: string } | { source: ConfigRef | undefined },
    facts?: NodeFacts,
  ) {
    const id = 'text' in target ? (target.revision ?? target.text) : formatRef(target.source, 'short');
    // A node without pods is like any other without.
    const isCommon = facts === undefined || facts.pods?.length === 0;
    const key = JSON.stringify([this.#groupOf(member), id, facts ?? null], withBigInts);
    const known = isCommon ? this.#needs.get(key) : undefined;
    if (known !== undefined) return known;
    const text = 'text' in target ? target.text : await this.#payload(target.source);
    const one = await this.#case([member]);
    const need = await drainNeed(text, one, this.#options.turn, facts);
    if (this.#needs.size > 1000) this.#needs.clear();
    if (isCommon) this.#needs.set(key, need);
    return need;
  }

  /** Nodes of a group are alike. */
  #groupOf(member: SetMember): string {
    const { cluster, object } = member;
    const known = this.#groups.get(cluster);
    if (known !== undefined && known.object === object) return known.group;
    const { kubeletVersion = '' } = cluster.status?.nodeInfo ?? {};
    const local = this.#localId(object?.status?.localConfig);
    const group = JSON.stringify([kubeletVersion, local, formatRef(runningRef(object), 'short'), losesGpus(member)]);
    this.#groups.set(cluster, { object, group });
    return group;
  }

  /** Equal local configs are one object in the cache. */
  #localId(local: LocalConfig | undefined): number {
    if (local === undefined) return 0;
    const known = this.#locals.get(local) ?? this.#nextLocal++;
    this.#locals.set(local, known);
    return known;
  }

  async #case(group: readonly SetMember[]): Promise<NodeCase> {
    const [first] = group;
    return {
      names: group.map(({ node }) => node.name),
      labels: first!.node.labels,
      kubeletVersion: first!.cluster.status?.nodeInfo?.kubeletVersion ?? '',
      local: first!.object?.status?.localConfig,
      before: await this.#payload(runningRef(first!.object)),
      mayLoseGpus: losesGpus(first!),
    };
  }

  /** Undefined also where it cannot be read: then it is compared with the local config. */
  async #payload(ref: ConfigRef | undefined): Promise<string | undefined> {
    if (ref === undefined) return undefined;
    const source = formatRef(ref, 'short');
    const known = this.#payloads.get(source);
    if (known !== undefined) return known;
    const { text, configMap } = (await this.#options.readPayload(ref)) ?? {};
    if (this.#payloads.size > 100) this.#payloads.clear();
    if (text !== undefined && configMap?.immutable) this.#payloads.set(source, text);
    return text;
  }
}

const refusalReasons = {
  invalidConfig: exclusionReasons.invalid.reason,
  fieldPolicy: exclusionReasons.policy.reason,
  impact: exclusionReasons.impact.reason,
} as const;

function withAdded(
  present: Owed | undefined,
  added: Omit<Owed, 'at'> | undefined,
  { at, isDrained }: { at: string; isDrained: boolean },
): Owed | undefined {
  const needs = (added?.needs ?? []).filter((one) => one !== 'drain' || !isDrained);
  const drained = isDrained && { drained: true as const };
  return addOwed(present, added && needs.length > 0 ? { ...added, needs, at, ...drained } : undefined);
}

const versionOf = ({ metadata: { name, resourceVersion } }: KubeObject): string => `${name}/${resourceVersion}`;

/** The config that the kubelet runs, which after a rollback is not the assigned one. */
const runningRef = ({ spec, status }: Partial<NodeConfig> = {}): ConfigRef | undefined =>
  refOf(status?.config?.error === undefined ? spec?.configSource : status.config.active);

const losesGpus = ({ cluster, object }: Pick<SetMember, 'cluster' | 'object'>): boolean =>
  object?.status?.driver === 'systemd' && cluster.hasGpus === true;
