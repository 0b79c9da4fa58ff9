/**
 * Reconciles one NodeConfigSet:
 *
 *   read ─► plan() ─► status with the intent ─► NodeConfigs of the intent ─► (the watch shows them) ─► read …
 *
 * The intent is written under the resourceVersion that was read, so of two controllers one has a conflict. All state is in the API:
 * after a crash anywhere, the next pass of any replica continues with the same nodes.
 */
import { isDeepStrictEqual } from 'node:util';
import type { DrainMark } from '../api/drain.js';
import { type Claim, claimOf } from '../api/node-annotations.js';
import { configNamespace, type NodeConfig, nodeConfigs } from '../api/node-config.js';
import {
  type Intent,
  type NodeConfigSet,
  type NodeConfigSetStatus,
  nodeConfigSets,
  setFinalizer,
} from '../api/node-config-set.js';
import { isConflict, isNotFound } from '../api/status.js';
import { CannotRun } from '../cannot-run.js';
import { rfc3339 } from '../clock.js';
import { ensureConfigMap, readPayload } from '../fleet/config-maps.js';
import type { OtherClaims } from '../fleet/node-claims.js';
import type { KubeClient } from '../kube/client.js';
import type { ReconcileResult } from '../kube/work-queue.js';
import type { Log } from '../log.js';
import type { ClusterView } from './cluster-view.js';
import { DrainAssessment, type DrainPass } from './drain-assessment.js';
import type { ControllerCounters } from './metrics.js';
import { OwnWrites } from './own-writes.js';
import { SetCases } from './set-cases.js';
import { collectConfigMaps } from './set-config-maps.js';
import { SetDrains } from './set-drains.js';
import { recordEvent } from './set-events.js';
import { leaving } from './set-leaving.js';
import { membersOf, nodeReader, type SetMember } from './set-members.js';
import { sourceText } from './set-nodes.js';
import { isWritten, type Plan, plan, type Stalled } from './set-plan.js';
import { desiredRevision, payloadOf, setConfigMap } from './set-revision.js';
import { InvalidSpec, readRules, type SetRules } from './set-spec.js';
import { type DesiredRevision, isComplete, isRejected, stateIn, updateOf } from './set-state.js';
import { stalledStatus, statusOf } from './set-status.js';
import { assignPatch } from './set-writes.js';

export interface SetReconcilerOptions {
  client: KubeClient;
  view: Pick<ClusterView, 'sets' | 'nodes' | 'nodeConfigs' | 'configMaps' | 'fieldPolicies'> & { claims?: OtherClaims };
  /** Only ConfigMaps in these may be named by a set. */
  namespaces: readonly string[];
  counters: ControllerCounters;
  log: Log;
  signal: AbortSignal;
}

/** How soon to look again for our own writes; the watch that brings them also starts a pass. */
const ownWritesMs = 500;
const resyncMs = 5 * 60_000;
/** How soon to look again at nodes that are drained: pods are not watched. */
const drainMs = 3000;
/** How often a batch is planned in one pass. */
const mostRounds = 5;

/** The config of the spec: its text and revision, or why there is none. */
type Wanted = { text: string; desired: DesiredRevision } | { problem: Stalled };

export class SetReconciler {
  readonly #options: SetReconcilerOptions;
  readonly #writes = new Map<string, OwnWrites>();
  readonly #readers = new Map<string, ReturnType<typeof nodeReader>>();
  readonly #cases: SetCases;
  readonly #assessment: DrainAssessment;
  readonly #drains: SetDrains;

  constructor(options: SetReconcilerOptions) {
    this.#options = options;
    this.#cases = new SetCases(options);
    this.#assessment = new DrainAssessment({ ...options, cases: this.#cases });
    const writesOf = (set: string) => this.#writesOf(set);
    this.#drains = new SetDrains({ ...options, assessment: this.#assessment, writesOf });
  }

  async reconcile(name: string): Promise<ReconcileResult> {
    const { view, counters } = this.#options;
    const set = view.sets.get(name);
    if (set === undefined) {
      this.#readers.delete(name);
      counters.sets.delete(name);
      await collectConfigMaps(this.#options, name, []);
      const lifted = await this.#liftAll({ metadata: { name } });
      if (lifted.kind === 'done') this.#writes.delete(name);
      return lifted;
    }
    if (!this.#writesOf(name).areSeen(view)) return { kind: 'requeue', afterMs: ownWritesMs };
    try {
      return await (set.metadata.deletionTimestamp === undefined ? this.#follow(set) : this.#delete(set));
    } catch (error) {
      // Somebody else wrote what we read: the watch brings it, and with it the next pass.
      if (isConflict(error)) return { kind: 'requeue', afterMs: ownWritesMs };
      throw error;
    }
  }

  #writesOf(name: string): OwnWrites {
    const writes = this.#writes.get(name) ?? new OwnWrites();
    this.#writes.set(name, writes);
    return writes;
  }

  #readerOf(name: string): ReturnType<typeof nodeReader> {
    const reader = this.#readers.get(name) ?? nodeReader();
    this.#readers.set(name, reader);
    return reader;
  }

  async #follow(set: NodeConfigSet): Promise<ReconcileResult> {
    const { client } = this.#options;
    const { name, finalizers = [] } = set.metadata;
    if (!finalizers.includes(setFinalizer)) return this.#setFinalizers(set, [...finalizers, setFinalizer]);
    const nowMs = client.clock.now();
    const rules = this.#rules(set);
    if (rules instanceof InvalidSpec) {
      const standing = { condition: 'Stalled', kind: 'invalidSpec', message: rules.message } as const;
      await this.#writeStatus(set, stalledStatus(set, standing, rfc3339(nowMs)));
      return this.#liftAll(set);
    }
    const selected = membersOf(set, this.#options.view, this.#readerOf(name));
    const wanted = await this.#wanted(set);
    const problem = 'problem' in wanted ? wanted.problem : await this.#cases.problem(set, wanted, selected);
    const pass = this.#drainPass(set, rules, wanted);
    const { planned, members } = await this.#plan(pass, wanted, problem, selected);
    const { intent } = planned.state;
    if ('text' in wanted) await this.#ensureConfigMap(set, planned, wanted.text);
    const written = await this.#writeStatus(set, statusOf(set, planned, members, rfc3339(nowMs)));
    if (intent !== undefined) await this.#assign(pass, intent, members);
    const waiting = await this.#drains.taintWaiting(pass, planned, members);
    const lifted = await this.#drains.lift(set, members, { intent, waiting }, pass.context);
    await leaving(this.#leavingOptions(set, rules));
    if (planned.standing.condition === 'Ready')
      await collectConfigMaps(
        this.#options,
        name,
        (planned.state.revisions ?? []).map(({ source }) => source),
      );
    if (written || lifted > 0) return { kind: 'requeue', afterMs: ownWritesMs };
    if (intent !== undefined) {
      const isDraining = members.some(({ node }) => node.drain?.state === 'Draining');
      return { kind: 'requeue', afterMs: isDraining ? drainMs : ownWritesMs };
    }
    const nextAtMs = Math.min(
      planned.nextAtMs ?? Number.POSITIVE_INFINITY,
      this.#assessment.nextAtMs(planned, members, pass),
    );
    return { kind: 'requeue', afterMs: Math.min(resyncMs, Math.max(0, nextAtMs - nowMs)) };
  }

  #drainPass(set: NodeConfigSet, rules: SetRules, wanted: Wanted): DrainPass {
    const state = stateIn(set.status);
    const startedAtMs = Date.parse(updateOf(state)?.startedAt ?? '') || 0;
    const update = 'desired' in wanted ? { revision: wanted.desired.revision, text: wanted.text } : undefined;
    const nowMs = this.#options.client.clock.now();
    return { set, rules, update, context: { rules, startedAtMs, isRejected: isRejected(state), nowMs } };
  }

  /** A batch is planned again without nodes of which it turns out that they cannot be drained. */
  async #plan(
    pass: DrainPass,
    wanted: Wanted,
    configProblem: Stalled | undefined,
    selected: readonly SetMember[],
  ): Promise<{ planned: Plan; members: readonly SetMember[] }> {
    const state = stateIn(pass.set.status);
    const desired = 'desired' in wanted ? wanted.desired : undefined;
    const { rules, context } = pass;
    let problem = configProblem;
    for (let round = 1; ; round++) {
      const members = this.#drains.withExclusions(selected, pass);
      const nodes = members.map(({ node }) => node);
      if (!isRejected(state)) problem ??= this.#assessment.problem(members, pass);
      const set = pass.set.metadata.name;
      const planned = plan({ set, rules, state, desired, problem, nodes, nowMs: context.nowMs });
      const { intent, ...others } = planned.state;
      if (intent === undefined) return { planned, members };
      const found = await this.#assessment.assess(pass, intent, members);
      if (found === undefined) return { planned, members };
      if (found !== 'undrainable') problem = found;
      if (round === mostRounds) return { planned: { ...planned, state: others }, members };
    }
  }

  /** No node of it is changed any more. */
  async #liftAll(set: Pick<NodeConfigSet, 'metadata'>): Promise<ReconcileResult> {
    const context = { rules: undefined, startedAtMs: 0, isRejected: false, nowMs: this.#options.client.clock.now() };
    const left = await this.#drains.lift(set, [], { intent: undefined }, context);
    return left > 0 ? { kind: 'requeue', afterMs: ownWritesMs } : { kind: 'done' };
  }

  /** Its cordons and its claims end before it does; with onDelete: Reset its nodes get their local config back. */
  async #delete(set: NodeConfigSet): Promise<ReconcileResult> {
    const rules = this.#rules(set);
    const lifted = await this.#liftAll(set);
    if (lifted.kind !== 'done') return lifted;
    const left = await leaving({
      ...this.#leavingOptions(set, rules instanceof InvalidSpec ? undefined : rules),
      isDeleted: true,
    });
    if (left > 0) return { kind: 'requeue', afterMs: ownWritesMs };
    return this.#setFinalizers(
      set,
      (set.metadata.finalizers ?? []).filter((one) => one !== setFinalizer),
    );
  }

  #leavingOptions(set: NodeConfigSet, rules: SetRules | undefined) {
    const { client, view, signal, log } = this.#options;
    return { client, view, signal, log, set, rules, writes: this.#writesOf(set.metadata.name), isDeleted: false };
  }

  #rules(set: NodeConfigSet): SetRules | InvalidSpec {
    try {
      return readRules(set.spec);
    } catch (error) {
      if (error instanceof InvalidSpec) return error;
      throw error;
    }
  }

  async #wanted({ metadata: { name }, spec }: NodeConfigSet): Promise<Wanted> {
    const { client, namespaces, signal, view } = this.#options;
    const { configMap } = spec.config;
    const own = payloadOf(spec.config);
    if (own !== undefined) return { text: own, desired: desiredRevision(name, own) };
    const unusable = (message: string): Wanted => ({ problem: { kind: 'noConfigMap', message } });
    if (configMap === undefined) return unusable('config has neither overlay nor whole nor configMap');
    const key = `${configMap.namespace}/${configMap.name}`;
    if (!namespaces.includes(configMap.namespace))
      return unusable(`${key} is not in ${namespaces.join(', ')} (--config-namespaces of the controller)`);
    if (view.configMaps.get(configMap.namespace)?.get(key) === undefined)
      return unusable(`${key} does not exist, or does not carry the label relet.dev/kubelet-config`);
    try {
      const { text } = await readPayload({ client, signal }, configMap);
      return { text, desired: desiredRevision(name, text) };
    } catch (error) {
      if (error instanceof CannotRun || isNotFound(error)) return unusable((error as Error).message);
      throw error;
    }
  }

  /** Before a batch gets it; and of a complete revision in any case, since a rollback may return to it. */
  async #ensureConfigMap(set: NodeConfigSet, { state }: Plan, text: string): Promise<void> {
    const { client, view } = this.#options;
    const update = updateOf(state);
    if (update === undefined || (state.intent?.revision !== update.revision && !isComplete(state))) return;
    const configMap = setConfigMap(set.metadata.name, text, update.attempt ?? 1);
    const key = `${configNamespace}/${configMap.metadata.name}`;
    if (view.configMaps.get(configNamespace)?.get(key) === undefined) await ensureConfigMap({ client }, configMap);
  }

  /** True when it wrote. */
  async #writeStatus(set: NodeConfigSet, status: NodeConfigSetStatus): Promise<boolean> {
    const { client, signal, counters, log } = this.#options;
    const { name } = set.metadata;
    counters.sets.set(name, status);
    if (isDeepStrictEqual(status, set.status)) return false;
    const object = { ...set, status };
    const written = await client.update<NodeConfigSet>(nodeConfigSets, { name, subresource: 'status' }, object, {
      signal,
    });
    this.#writesOf(name).add('sets', written);
    await recordEvent({ client, signal, log }, set, status);
    return true;
  }

  async #assign(pass: DrainPass, intent: Intent, members: readonly SetMember[]): Promise<void> {
    const { counters, log } = this.#options;
    const { name } = pass.set.metadata;
    const names = new Set(intent.names);
    const open = members.filter(
      ({ node, object }) =>
        names.has(node.name) && object !== undefined && node.blocked === undefined && !isWritten(node, intent),
    );
    let assigned = 0;
    await this.#drains.drain(pass, intent, open, async (member, drained) => {
      await this.#assignOne(pass, intent, member, drained);
      assigned++;
    });
    counters.nodesAssigned += assigned;
    if (assigned > 0)
      log.info('config assigned to nodes of a set', { set: name, revision: intent.revision, nodes: assigned });
  }

  async #assignOne(pass: DrainPass, intent: Intent, member: SetMember, drained: DrainMark | undefined): Promise<void> {
    const { client, signal } = this.#options;
    const { node, object } = member;
    const set = pass.set.metadata.name;
    const source = intent.source === 'previous' ? node.previous : intent.source;
    const { revision, wave } = intent;
    // Of a node that was drained the deadline counts from now.
    const at = drained === undefined ? intent.at : latest([rfc3339(client.clock.now()), intent.at, drained.at]);
    const isExempt = intent.exempt?.includes(node.name) ?? false;
    const claim: Claim = {
      set,
      revision,
      source,
      wave,
      at,
      previous: previousOf(pass.set, member),
      ...(isExempt && { exempt: true }),
    };
    const when = { at, isDrained: drained !== undefined };
    const isUpdate = revision === pass.update?.revision && node.claim?.revision !== revision;
    const owed = isUpdate ? this.#cases.owed(set, node.name, when) : await this.#cases.owedFor(member, source, when);
    const patch = assignPatch(object!, claim, owed);
    try {
      const place = { name: node.name };
      const options = { as: 'merge', fieldManager: 'relet-controller', signal } as const;
      this.#writesOf(set).add('nodeConfigs', await client.patch<NodeConfig>(nodeConfigs, place, patch, options));
    } catch (error) {
      // Changed or gone since it was read: the next pass decides again.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }

  async #setFinalizers({ metadata }: NodeConfigSet, finalizers: string[]): Promise<ReconcileResult> {
    const { client, signal } = this.#options;
    const { name, resourceVersion } = metadata;
    const patch = { metadata: { resourceVersion, finalizers } };
    await client.patch(nodeConfigSets, { name }, patch, { as: 'merge', fieldManager: 'relet-controller', signal });
    return { kind: 'done' };
  }
}

/** What the node ran before this set had it, which an undo of the first revision returns to. A node that left the set may come back. */
function previousOf({ metadata: set }: NodeConfigSet, { node, object }: SetMember): string {
  const claim = claimOf(object);
  const isBack = claim?.released && claim.set === set.name && claim.source === sourceText(object);
  // A set of the same name that was there before is another one.
  const isOwn = isBack && Date.parse(claim.at) >= Date.parse(set.creationTimestamp ?? '');
  return isOwn ? claim.previous : node.previous;
}

const latest = (times: readonly string[]): string => times.reduce((a, b) => (Date.parse(a) >= Date.parse(b) ? a : b));
