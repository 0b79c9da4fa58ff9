/**
 * Groups the nodes of a set that a change would treat alike, and remembers the answer for each group: thousands of nodes are a few
 * groups, and a pass costs nothing while these stay the same.
 */
import { formatRef, parseRef, refOf } from '../api/config-ref.js';
import { selectsLabels } from '../api/label-selector.js';
import { addOwed, type Owed, owedAnnotation, readOwed } from '../api/node-annotations.js';
import type { LocalConfig, NodeConfig } from '../api/node-config.js';
import type { NodeConfigSet } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import { ApiError } from '../api/status.js';
import { CannotRun } from '../cannot-run.js';
import type { NodeFacts } from '../config/node-facts.js';
import { readPayload } from '../fleet/config-maps.js';
import { selectorOf } from '../fleet/field-policies.js';
import type { KubeClient } from '../kube/client.js';
import { configProblem, type DrainNeed, drainNeed, type NodeCase, owedOf, policyProblem } from './set-impact.js';
import type { SetMember } from './set-members.js';
import { sourceText } from './set-nodes.js';
import type { Stalled } from './set-plan.js';
import type { DesiredRevision } from './set-state.js';

interface SetCasesOptions {
  client: KubeClient;
  view: { fieldPolicies: { values(): Iterable<KubeObject> } };
  signal: AbortSignal;
}

interface Wanted {
  text: string;
  desired: DesiredRevision;
}

interface Answer {
  key: string;
  problem: Stalled | undefined;
  /** What is left to do afterwards, by node. */
  owed: Map<string, { present: Owed | undefined; added: Omit<Owed, 'at'> | undefined }>;
}

const withBigInts = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);

export class SetCases {
  readonly #options: SetCasesOptions;
  readonly #answers = new Map<string, Answer>();
  /** Payloads of immutable ConfigMaps, by source. */
  readonly #payloads = new Map<string, string>();
  /** Where the pods are not asked for, by group and target. */
  readonly #needs = new Map<string, DrainNeed>();
  readonly #locals = new WeakMap<LocalConfig, number>();
  #nextLocal = 1;
  /** By Node, as it was with this NodeConfig. */
  readonly #groups = new WeakMap<SetMember['cluster'], { object: SetMember['object']; group: string }>();

  constructor(options: SetCasesOptions) {
    this.#options = options;
  }

  /** Why the config may not be rolled out to the nodes that do not have it. */
  async problem(
    set: NodeConfigSet,
    { text, desired }: Wanted,
    members: readonly SetMember[],
  ): Promise<Stalled | undefined> {
    const open = members.filter(({ node }) => node.claim?.revision !== desired.revision && !node.blocked);
    const policies = [...this.#options.view.fieldPolicies.values()];
    const selectors = policies.map((policy) => ({ id: versionOf(policy), selector: selectorOf(policy) }));
    const groups = new Map<string, SetMember[]>();
    for (const member of open) {
      const policed = selectors.filter(({ selector }) => selectsLabels(selector, member.node.labels));
      const key = [this.#groupOf(member), ...policed.map(({ id }) => id)].join('\n');
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [member]);
      else group.push(member);
    }
    const { accept = [] } = set.spec;
    const key = JSON.stringify([desired.revision, accept, [...groups.keys()].sort(), open.length]);
    const known = this.#answers.get(set.metadata.name);
    if (known?.key === key) return known.problem;
    const cases = await Promise.all([...groups.values()].map((group) => this.#case(group)));
    const problem = policyProblem(policies, text, cases) ?? configProblem(text, cases, accept);
    const owed: Answer['owed'] = new Map();
    if (problem === undefined)
      for (const [index, group] of [...groups.values()].entries()) {
        const added = owedOf(text, cases[index]!);
        for (const { node, object } of group)
          owed.set(node.name, { present: readOwed(object?.metadata.annotations?.[owedAnnotation]), added });
      }
    this.#answers.set(set.metadata.name, { key, problem, owed });
    return problem;
  }

  /** After the change of this node, together with what was left to do before it. */
  owed(set: string, node: string, { at, isDrained }: { at: string; isDrained: boolean }): Owed | undefined {
    const { present, added } = this.#answers.get(set)?.owed.get(node) ?? {};
    return withAdded(present, added, { at, isDrained });
  }

  /**
   * The same for a node that has the revision of the spec already, or gets another one. What was left to do before is settled on a node
   * that was drained.
   */
  async owedFor(
    member: SetMember,
    source: string,
    { at, isDrained }: { at: string; isDrained: boolean },
  ): Promise<Owed | undefined> {
    const one = await this.#case([member]);
    const added = owedOf(await this.#payload(source), one);
    const present = isDrained ? undefined : readOwed(member.object?.metadata.annotations?.[owedAnnotation]);
    return withAdded(present, added, { at, isDrained });
  }

  /** Of the change of this node to a config: its text, or where that is. */
  async drainNeed(
    member: SetMember,
    target: { revision?: string; text: string } | { source: string },
    facts?: NodeFacts,
  ) {
    const id = 'text' in target ? (target.revision ?? target.text) : target.source;
    // A node without pods is like any other without.
    const isCommon = facts === undefined || facts.pods?.length === 0;
    const key = JSON.stringify([this.#groupOf(member), id, facts ?? null], withBigInts);
    const known = isCommon ? this.#needs.get(key) : undefined;
    if (known !== undefined) return known;
    const text = 'text' in target ? target.text : await this.#payload(target.source);
    const one = await this.#case([member]);
    const need = drainNeed(text, one, facts);
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
    const group = JSON.stringify([kubeletVersion, local, runningSource(object), losesGpus(member)]);
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
      before: await this.#payload(runningSource(first!.object)),
      mayLoseGpus: losesGpus(first!),
    };
  }

  /** Undefined also where it cannot be read: then it is compared with the local config. */
  async #payload(source: string): Promise<string | undefined> {
    const ref = parseRef(source);
    if (ref === undefined) return undefined;
    const known = this.#payloads.get(source);
    if (known !== undefined) return known;
    try {
      const { text, configMap } = await readPayload(this.#options, ref);
      if (this.#payloads.size > 100) this.#payloads.clear();
      if (configMap.immutable) this.#payloads.set(source, text);
      return text;
    } catch (error) {
      if (error instanceof ApiError || error instanceof CannotRun) return undefined;
      throw error;
    }
  }
}

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

/** What the kubelet runs, which after a rollback is not what is assigned. NAMESPACE/NAME/KEY, or `local`. */
const runningSource = (object: NodeConfig | undefined): string => {
  const { config } = object?.status ?? {};
  return config?.error === undefined ? sourceText(object) : formatRef(refOf(config.active), 'short');
};

const losesGpus = ({ cluster, object }: Pick<SetMember, 'cluster' | 'object'>): boolean =>
  object?.status?.driver === 'systemd' && cluster.hasGpus === true;
