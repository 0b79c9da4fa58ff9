/**
 * Drains nodes of a set before they are assigned its config, if the change needs it. sets.ts calls it in each pass:
 *
 *   withExclusions()  leaves out nodes that cannot be drained
 *   drain()           one step for each node of the open batch, and the assignment of those that are empty
 *   lift()            removes cordons, taints and marks that are no longer needed
 */
import { type DrainMark, drainMarkOf, isCordoned } from '../../api/drain.js';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import { rfc3339 } from '../../clock.js';
import type { KubeClient } from '../../kube/client.js';
import type { Log } from '../../log.js';
import { type DrainContext, evictNext, failedDrain, isDrainedFor, isMarkWanted } from '../../rollout/drain/plan.js';
import { type DisruptionBudget, isEmptied, leftPods, podActions } from '../../rollout/drain/pods.js';
import type { SetMember } from '../../rollout/members.js';
import type { Plan } from '../../rollout/plan.js';
import type { Intent } from '../../rollout/state.js';
import type { ClusterView } from '../cluster-view.js';
import type { ControllerCounters } from '../metrics.js';
import type { SetMemory } from '../set-memory.js';
import { type DrainAssessment, type DrainPass, inTurn, readBudgets, readPods } from './assessment.js';
import { apiEvictor, type Evictor } from './evictor.js';
import { NodeMarks } from './node-marks.js';

type DrainCounters = Pick<
  ControllerCounters,
  'drainsDone' | 'drainsFailed' | 'drainSeconds' | 'evictions' | 'evictionsRejected'
>;

export interface SetDrainsOptions {
  client: KubeClient;
  view: Pick<ClusterView, 'nodes'>;
  assessment: DrainAssessment;
  memory: SetMemory;
  counters: DrainCounters;
  log: Log;
  signal: AbortSignal;
}

/** `drained`: the mark under which the node was emptied. */
type Assign = (member: SetMember, drained: DrainMark | undefined) => Promise<void>;

const mostTaints = 100;

export class SetDrains {
  readonly #options: SetDrainsOptions;
  readonly #evictor: Evictor;
  readonly #assessment: DrainAssessment;

  constructor(options: SetDrainsOptions) {
    this.#options = options;
    this.#assessment = options.assessment;
    this.#evictor = apiEvictor(options.client);
  }

  /** The members, of which those that cannot be drained are left out, and those that are drained show what they wait for. */
  withExclusions(members: readonly SetMember[], { set, context }: DrainPass): readonly SetMember[] {
    const isConcerned = this.#assessment.knowsUndrainable(set) || members.some(({ node }) => node.drain !== undefined);
    if (!isConcerned) return members;
    const waits = this.#waitsFor(set);
    return members.map((member) => {
      const { node } = member;
      const blocked =
        node.blocked ?? failedDrain(node, context) ?? this.#assessment.undrainable(set, node.name, context);
      const waitsFor = node.drain?.state === 'Draining' ? waits.get(node.name) : undefined;
      if (blocked === node.blocked && waitsFor === undefined) return member;
      const drain = waitsFor === undefined ? node.drain : { ...node.drain!, message: waitsFor };
      return { ...member, node: { ...node, ...(blocked && { blocked }), ...(drain && { drain }) } };
    });
  }

  /** One step of the batch. `assign` is called for nodes that are not drained, and for those that are cordoned and empty now. */
  async drain(pass: DrainPass, intent: Intent, open: readonly SetMember[], assign: Assign): Promise<void> {
    const { set } = pass;
    const isNeeded = ({ node }: SetMember) => this.#assessment.isNeeded(set, intent, node);
    const draining = open.filter((member) => isNeeded(member) === true);
    await inTurn(
      open.filter((member) => isNeeded(member) === false),
      (member) => assign(member, undefined),
    );
    const bare = draining.filter(({ node, cluster }) => !isDrainedFor(node.drain, intent) || !isCordoned(cluster));
    // Nothing is evicted before the whole batch is cordoned: evicted pods would land on the next node of it.
    if (bare.length > 0) {
      const at = laterOf(rfc3339(this.#options.client.clock.now()), intent.at);
      const mark: DrainMark = { set: set.metadata.name, revision: intent.revision, state: 'Draining', at };
      await inTurn(bare, ({ node }) => this.#marks(set).cordon(node.name, mark, intent));
      this.#options.log.info('nodes cordoned', { set: set.metadata.name, nodes: bare.map(({ node }) => node.name) });
      return;
    }
    if (draining.length === 0) return;
    const budgets = await readBudgets(this.#options);
    await inTurn(draining, (member) => this.#drainOne(pass, intent, member, budgets, assign));
  }

  /** Lifts the marks that are no longer needed; all of them for a set that is deleted or no longer changes nodes. */
  async lift(
    set: Pick<NodeConfigSet, 'metadata'>,
    members: readonly SetMember[],
    batch: { intent: Intent | undefined; waiting?: ReadonlySet<string> },
    context: DrainContext,
  ): Promise<number> {
    const { view, log } = this.#options;
    const waiting = batch.waiting ?? new Set<string>();
    const marked: { name: string; mark: DrainMark }[] = [];
    for (const cluster of view.nodes.values()) {
      const mark = drainMarkOf(cluster);
      if (mark?.set === set.metadata.name) marked.push({ name: cluster.metadata.name, mark });
    }
    if (marked.length === 0) return 0;
    const byName = new Map(members.map(({ node }) => [node.name, node]));
    const isWanted = ({ name, mark }: (typeof marked)[number]) =>
      isMarkWanted(mark, byName.get(name), { intent: batch.intent, waiting }, context);
    const left = marked.filter((one) => !isWanted(one));
    await inTurn(left, async ({ name, mark }) => {
      await this.#marks(set).lift(name, mark);
      this.#waitsFor(set).delete(name);
      log.info('drain ended', { set: set.metadata.name, node: name, state: mark.state });
    });
    return left.length;
  }

  /** Nodes that are drained later in this rollout get a taint: evicted pods prefer others. */
  async taintWaiting(pass: DrainPass, planned: Plan, members: readonly SetMember[]): Promise<Set<string>> {
    const { set, update } = pass;
    if (update === undefined || !isRollingOut(planned)) return new Set();
    const { survey, state } = planned;
    const { intent } = state;
    const isDraining = this.#assessment.isDraining(set, intent) || members.some(({ node }) => node.drain !== undefined);
    if (!isDraining) return new Set();
    const todo = new Set(survey.eligible.filter((node) => survey.phases.get(node) === 'todo'));
    const left = members.filter(({ node }) => todo.has(node) && !intent?.names.includes(node.name));
    const { revision } = update;
    const needs = await inTurn(left, (member) => this.#assessment.need(pass, { revision, source: undefined }, member));
    const later = left.filter((_, index) => needs[index] === 'yes');
    if (later.length === 0 || !(await this.#assessment.mayDrain())) return new Set();
    const mark: DrainMark = {
      set: set.metadata.name,
      revision,
      state: 'Waiting',
      at: rfc3339(this.#options.client.clock.now()),
    };
    const bare = later.filter(({ cluster }) => drainMarkOf(cluster) === undefined).slice(0, mostTaints);
    await inTurn(bare, ({ node }) => this.#marks(set).taint(node.name, mark));
    return new Set(later.map(({ node }) => node.name));
  }

  async #drainOne(
    { set, rules }: DrainPass,
    intent: Intent,
    member: SetMember,
    budgets: readonly DisruptionBudget[],
    assign: Assign,
  ): Promise<void> {
    const { client, signal, log, counters } = this.#options;
    const { name } = member.node;
    const node = await this.#marks(set).read(name);
    const mark = node && drainMarkOf(node);
    // The cordon was lifted, or another controller has changed the Node: the next pass decides again.
    if (mark === undefined || mark.set !== set.metadata.name || !isDrainedFor(mark, intent) || !isCordoned(node!))
      return;
    const actions = podActions(await readPods(this.#options, name), budgets, rules.drain);
    if (isEmptied(actions)) {
      await assign(member, mark);
      counters.drainsDone++;
      counters.drainSeconds += Math.max(0, client.clock.now() - Date.parse(mark.at)) / 1000;
      return;
    }
    const rejected = new Map<string, string>();
    const nowMs = client.clock.now();
    if (nowMs - Date.parse(mark.at) > rules.drain.timeoutMs) {
      const message = this.#waitsFor(set).get(name) ?? leftPods(actions) ?? '';
      const next: DrainMark = { ...markOf(mark), state: 'Failed', at: rfc3339(nowMs), message };
      await this.#marks(set).lift(name, mark, next);
      this.#waitsFor(set).delete(name);
      counters.drainsFailed++;
      return log.warn('node not drained in time', { set: set.metadata.name, node: name, left: message });
    }
    await this.#marks(set).showMaintenance(node!, `relet drains the node for set ${set.metadata.name}.`);
    for (const pod of evictNext(actions)) {
      const why = await this.#evictor.evict(pod, signal);
      if (why === undefined) counters.evictions++;
      else counters.evictionsRejected++;
      if (why !== undefined) rejected.set(pod.metadata.uid ?? '', why);
    }
    this.#waitsFor(set).set(name, leftPods(actions, rejected) ?? '');
  }

  #marks({ metadata }: Pick<NodeConfigSet, 'metadata'>): NodeMarks {
    const { client, signal, memory } = this.#options;
    return new NodeMarks({ client, signal, onWrite: (node) => memory.of(metadata.name).writes.add('nodes', node) });
  }

  #waitsFor({ metadata }: Pick<NodeConfigSet, 'metadata'>): Map<string, string> {
    return this.#options.memory.of(metadata.name).waitsFor;
  }
}

/** Neither paused, halted nor rolling back. */
const isRollingOut = ({ progress, state }: Plan): boolean =>
  progress.condition === 'Reconciling' && progress.kind !== 'paused' && !state.rollingBack;

const laterOf = (a: string, b: string): string => (Date.parse(a) >= Date.parse(b) ? a : b);

/** Without what is about one state only. */
const markOf = ({ set, revision, state, at }: DrainMark): DrainMark => ({ set, revision, state, at });
