/**
 * Assesses the drains of a batch before anything is written: which nodes must be drained, which of them cannot be, and whether the
 * controller has the permission. Results are cached for a while and can be computed again.
 */
import type { NodeConfigSet } from '../../api/node-config-set.js';
import type { KubeObject } from '../../api/object.js';
import { isNotFound } from '../../api/status.js';
import type { NodeFacts } from '../../config/node-facts.js';
import { nodeFacts } from '../../fleet/node-facts.js';
import type { KubeClient } from '../../kube/client.js';
import { nodes, podDisruptionBudgets, pods } from '../../kube/resource-type.js';
import type { SetCases } from '../../rollout/cases.js';
import { type DrainContext, isDrainedFor, undrainableBecause } from '../../rollout/drain/plan.js';
import { type DisruptionBudget, type DrainPod, podActions, undrainable } from '../../rollout/drain/pods.js';
import type { DrainNeed } from '../../rollout/impact.js';
import type { Exclusion, SetMember } from '../../rollout/members.js';
import type { Plan, Stalled } from '../../rollout/plan.js';
import { list } from '../../rollout/sentences.js';
import type { SetRules } from '../../rollout/spec.js';
import type { Intent } from '../../rollout/state.js';
import type { KnownSet, SetMemory } from '../set-memory.js';
import { DrainRights } from './rights.js';

interface Reading {
  client: KubeClient;
  signal: AbortSignal;
}

/** The change of one pass. */
export interface DrainPass {
  set: NodeConfigSet;
  rules: SetRules;
  /** Text of the revision in the spec; another one is read from its ConfigMap. */
  update: { revision: string; text: string } | undefined;
  context: DrainContext;
}

/** How long an "undrainable" result is cached. */
const recheckMs = 30_000;

export class DrainAssessment {
  readonly #options: Reading & { cases: Pick<SetCases, 'drainNeed'>; memory: SetMemory };
  readonly #rights: DrainRights;

  constructor(options: Reading & { cases: Pick<SetCases, 'drainNeed'>; memory: SetMemory }) {
    this.#options = options;
    this.#rights = new DrainRights(options);
  }

  mayDrain(): Promise<boolean> {
    return this.#rights.mayDrain();
  }

  /**
   * Which nodes of the batch are drained, as far as that is not known. Undefined: it can be changed as it is. `undrainable`: some of it
   * cannot, and is left out from now on.
   */
  async assess(
    pass: DrainPass,
    intent: Intent,
    members: readonly SetMember[],
  ): Promise<'undrainable' | Stalled | undefined> {
    const { client, signal } = this.#options;
    const { set, rules, context } = pass;
    const note = (name: string, isNeeded: boolean) => this.#drainedIn(set, intent).set(name, isNeeded);
    const isKnown = ({ node }: SetMember) => this.isNeeded(set, intent, node) !== undefined;
    const unknown = namedIn(intent, members).filter((member) => !isKnown(member));
    const needs = await inTurn(unknown, async (member) => ({ member, need: await this.need(pass, intent, member) }));
    const concerned = needs.filter(({ need }) => need !== 'no');
    for (const { member, need } of needs) if (need === 'no') note(member.node.name, false);
    if (concerned.length === 0) return undefined;
    const isBack = intent.revision !== pass.update?.revision;
    if (!(await this.mayDrain())) {
      const sure = concerned.filter(({ need }) => need === 'yes').map(({ member }) => member.node.name);
      // Going back does not wait for a role; and what pods would do to it is not known without one.
      if (sure.length > 0 && !isBack) return mayNotDrain(sure);
      for (const { member } of concerned) note(member.node.name, false);
      return undefined;
    }
    const budgets = await readBudgets(this.#options);
    const found = await inTurn(concerned, async ({ member, need }) => {
      const { name } = member.node;
      const [node, present] = await Promise.all([
        client.get<KubeObject>(nodes, { name }, { signal }).catch(absent),
        readPods(this.#options, name),
      ]);
      const facts = nodeFacts(node, present);
      const isNeeded = need === 'yes' || (await this.need(pass, intent, member, facts)) === 'yes';
      const message = isNeeded ? undrainable(podActions(present, budgets, rules.drain)) : undefined;
      return { name, isNeeded, isSurprise: isNeeded && need === 'maybe', message };
    });
    const surprised = found.filter(({ isSurprise }) => isSurprise).map(({ name }) => name);
    if (surprised.length > 0 && !isBack && !acceptsDrain(set)) return notAccepted(surprised);
    const untilMs = context.nowMs + recheckMs;
    for (const { name, isNeeded, message } of found)
      if (message === undefined) note(name, isNeeded);
      else this.#undrainableIn(set).set(name, { message, untilMs });
    return found.some(({ message }) => message !== undefined) ? 'undrainable' : undefined;
  }

  knowsUndrainable(set: NodeConfigSet): boolean {
    return this.#undrainableIn(set).size > 0;
  }

  undrainable(set: NodeConfigSet, node: string, { nowMs }: DrainContext): Exclusion | undefined {
    const all = this.#undrainableIn(set);
    const known = all.get(node);
    if (known !== undefined && nowMs < known.untilMs) return undrainableBecause(known.message);
    all.delete(node);
    return undefined;
  }

  /** With `onUndrainable: Halt`: why the rollout stops. */
  problem(members: readonly SetMember[], { rules }: DrainPass): Stalled | undefined {
    if (rules.drain.onUndrainable !== 'Halt') return undefined;
    const { reason } = undrainableBecause('');
    const stuck = members.filter(({ node }) => node.blocked?.reason === reason).map(({ node }) => node);
    const [first] = stuck;
    if (first === undefined) return undefined;
    const also = stuck.length === 1 ? '' : `; also ${list(stuck.slice(1).map(({ name }) => name))}`;
    return { kind: 'undrainable', message: `${first.name} (${first.blocked!.message})${also}` };
  }

  /** When to look again at a node that could not be drained, or at whether the controller may by now. */
  nextAtMs({ progress }: Plan, members: readonly SetMember[], { set, context }: DrainPass): number {
    if (progress.kind === 'mayNotDrain') return context.nowMs + recheckMs;
    if (!this.knowsUndrainable(set)) return Infinity;
    const times = members.map(({ node }) => this.#undrainableIn(set).get(node.name)?.untilMs ?? 0);
    return times.reduce((soonest, atMs) => (atMs > context.nowMs ? Math.min(soonest, atMs) : soonest), Infinity);
  }

  /** Once it has begun, a drain continues until the node is empty. Undefined: not known yet. */
  isNeeded(set: NodeConfigSet, intent: Intent, { name, drain }: SetMember['node']): boolean | undefined {
    if (isDrainedFor(drain, intent)) return true;
    return this.#drainedIn(set, intent).get(name);
  }

  #drainedIn({ metadata }: NodeConfigSet, intent: Intent): Map<string, boolean> {
    return this.#options.memory.of(metadata.name).drainedIn(intent);
  }

  #undrainableIn({ metadata }: NodeConfigSet): KnownSet['undrainable'] {
    return this.#options.memory.of(metadata.name).undrainable;
  }

  /** Decided by the policy of the set, and by the catalogue. */
  async need(
    pass: DrainPass,
    { revision, source }: Pick<Intent, 'revision' | 'source'>,
    member: SetMember,
    facts?: NodeFacts,
  ): Promise<DrainNeed> {
    if (pass.rules.drain.policy !== 'WhenNeeded') return pass.rules.drain.policy === 'Always' ? 'yes' : 'no';
    const target =
      revision === pass.update?.revision
        ? pass.update
        : { source: source === 'previous' ? member.node.previous : source };
    return this.#options.cases.drainNeed(member, target, facts);
  }

  /** A node of the batch is drained, or will be. */
  isDraining(set: NodeConfigSet, intent: Intent | undefined): boolean {
    return intent !== undefined && [...this.#drainedIn(set, intent).values()].includes(true);
  }
}

export async function readPods({ client, signal }: Reading, node: string): Promise<DrainPod[]> {
  return (await client.list<DrainPod>(pods, { fieldSelector: `spec.nodeName=${node}`, signal })).items;
}

/** Budgets of all namespaces. */
export async function readBudgets({ client, signal }: Reading): Promise<DisruptionBudget[]> {
  return (await client.list<DisruptionBudget>(podDisruptionBudgets, { signal })).items;
}

const namedIn = ({ names }: Intent, members: readonly SetMember[]): SetMember[] => {
  const asked = new Set(names);
  return members.filter(({ node, object }) => asked.has(node.name) && object !== undefined);
};

const acceptsDrain = ({ spec: { accept = [] } }: NodeConfigSet): boolean =>
  accept.some((one) => one === 'Drain' || one === 'StateFile' || one === 'Reboot');

const mayNotDrain = (names: readonly string[]): Stalled => ({
  kind: 'mayNotDrain',
  message: `${list(names)} must be drained; give the controller the role relet:controller-drain (docs/drain.md), or drain them and set strategy.drain.policy: Never`,
});

const notAccepted = (names: readonly string[]): Stalled => ({
  kind: 'impact',
  message: `pods on ${list(names)} would be rejected when the kubelet restarts, so these nodes must be drained; accept: [Drain] allows it`,
});

function absent(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
  return undefined;
}

/** Limit of concurrent requests. */
const atOnce = 8;

/** Maps with a few concurrent calls. Results are in the order of the list. */
export async function inTurn<T, R>(items: readonly T[], act: (item: T) => Promise<R> | R): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += atOnce)
    results.push(...(await Promise.all(items.slice(from, from + atOnce).map(act))));
  return results;
}
