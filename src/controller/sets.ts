/**
 * Reconciles one NodeConfigSet:
 *
 *   read ─► plan() ─► status with the intent ─► NodeConfigs of the intent ─► (the watch shows them) ─► read …
 *
 * The intent is written under the resourceVersion that was read, so of two controllers one has a conflict. All state is in the API:
 * after a crash anywhere, the next pass of any replica continues with the same nodes.
 */
import { isDeepStrictEqual } from 'node:util';
import { byAnnotation } from '../api/node-annotations.js';
import { configNamespace } from '../api/node-config.js';
import {
  type NodeConfigSet,
  type NodeConfigSetStatus,
  nodeConfigSets,
  type SignedConfig,
  setFinalizer,
  whyAnnotation,
} from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import { isConflict, isNotFound } from '../api/status.js';
import { CannotRun } from '../cannot-run.js';
import { rfc3339 } from '../clock.js';
import { ensureConfigMap, readPayload, tryReadPayload } from '../fleet/config-maps.js';
import { isDeeperThan } from '../json.js';
import type { KubeClient } from '../kube/client.js';
import type { ReconcileResult } from '../kube/work-queue.js';
import type { Log } from '../log.js';
import type { Measured } from '../rollout/analysis/analysis.js';
import { SetCases } from '../rollout/cases.js';
import type { OtherClaims } from '../rollout/drain/maintenance.js';
import { membersOf, type SetMember } from '../rollout/members.js';
import { type Plan, plan, type Stalled } from '../rollout/plan.js';
import { desiredRevision, payloadOf, setConfigMap } from '../rollout/revision.js';
import { signedIn } from '../rollout/signed-config.js';
import { readRules, type SetRules } from '../rollout/spec.js';
import { InvalidSpec } from '../rollout/spec-values.js';
import { type DesiredRevision, isComplete, isRejected, stateIn, updateOf } from '../rollout/state.js';
import { stalledStatus, statusOf } from '../rollout/status.js';
import { isRecorded, type Pauser } from '../rollout/steps.js';
import type { ClusterView } from './cluster-view.js';
import { DrainAssessment, type DrainPass } from './drain/assessment.js';
import { SetDrains } from './drain/drains.js';
import type { GuardState } from './guard-plan.js';
import type { ControllerCounters } from './metrics.js';
import type { Notifier } from './notifier.js';
import type { QueryNodes } from './prometheus.js';
import { askNodes, measure } from './set-analysis.js';
import { SetBatches } from './set-batches.js';
import { collectConfigMaps } from './set-config-maps.js';
import { recordEvents } from './set-events.js';
import { leaving } from './set-leaving.js';
import { SetMemory } from './set-memory.js';

export interface SetReconcilerOptions {
  client: KubeClient;
  view: Pick<ClusterView, 'sets' | 'nodes' | 'nodeConfigs' | 'configMaps' | 'fieldPolicies'> & { claims?: OtherClaims };
  /** Only ConfigMaps in these may be named by a set. */
  namespaces: readonly string[];
  /** Undefined until they were checked for the first time. */
  guards?(): GuardState | undefined;
  /** Set if there is a webhook. */
  notifier?: Pick<Notifier, 'observe' | 'delivered' | 'forget'> | undefined;
  /** For analyses that query Prometheus. */
  queryNodes?: QueryNodes | undefined;
  counters: ControllerCounters;
  log: Log;
  signal: AbortSignal;
}

/** Requeue interval while own writes are not in the caches yet; the watch that delivers them also enqueues the set. */
const ownWritesMs = 500;
const resyncMs = 5 * 60_000;
/** Requeue interval during drains, since pods are not watched. */
const drainMs = 3000;
/** Depth limit of `spec.config`, whose overlay and whole config are free-form: more is never valid, and recursion has a limit. */
const maxConfigDepth = 20;
/** Limit of planning rounds in one pass. */
const mostRounds = 5;

/** The config of the spec: its text and revision, or why there is none. */
type Wanted = WantedConfig | { problem: Stalled };

interface WantedConfig {
  text: string;
  desired: DesiredRevision;
  signed: SignedConfig | undefined;
}

export class SetReconciler {
  readonly #options: SetReconcilerOptions;
  readonly #memory = new SetMemory();
  readonly #cases: SetCases;
  readonly #assessment: DrainAssessment;
  readonly #drains: SetDrains;
  readonly #batches: SetBatches;

  constructor(options: SetReconcilerOptions) {
    this.#options = options;
    const { client, signal, view } = options;
    this.#cases = new SetCases({
      fieldPolicies: view.fieldPolicies,
      readPayload: (ref) => tryReadPayload({ client, signal }, ref),
      turn: () => client.clock.sleep(0, signal),
    });
    this.#assessment = new DrainAssessment({ ...options, cases: this.#cases, memory: this.#memory });
    this.#drains = new SetDrains({ ...options, assessment: this.#assessment, memory: this.#memory });
    this.#batches = new SetBatches({ ...options, cases: this.#cases, drains: this.#drains, memory: this.#memory });
  }

  async reconcile(name: string): Promise<ReconcileResult> {
    const { view, counters } = this.#options;
    const set = view.sets.get(name);
    if (set === undefined) {
      counters.sets.delete(name);
      this.#options.notifier?.forget(name);
      await collectConfigMaps(this.#options, name, []);
      const lifted = await this.#liftAll({ metadata: { name } });
      if (lifted.kind === 'done') this.#forget(name);
      return lifted;
    }
    if (!this.#memory.of(name).writes.areSeen(view)) return { kind: 'requeue', afterMs: ownWritesMs };
    try {
      return await (set.metadata.deletionTimestamp === undefined ? this.#follow(set) : this.#delete(set));
    } catch (error) {
      // Conflict: the object has changed since it was read. The next pass decides on what the watch delivers.
      if (isConflict(error)) return { kind: 'requeue', afterMs: ownWritesMs };
      throw error;
    }
  }

  #forget(name: string): void {
    this.#memory.forget(name);
    this.#cases.forget(name);
  }

  async #follow(set: NodeConfigSet): Promise<ReconcileResult> {
    const { client } = this.#options;
    const { name, finalizers = [] } = set.metadata;
    if (!finalizers.includes(setFinalizer)) return this.#setFinalizers(set, [...finalizers, setFinalizer]);
    const nowMs = client.clock.now();
    const rules = this.#rules(set);
    if (rules instanceof InvalidSpec) {
      const progress = { condition: 'Stalled', kind: 'invalidSpec', message: rules.message } as const;
      await this.#writeStatus(set, stalledStatus(set, progress, rfc3339(nowMs)));
      return this.#liftAll(set);
    }
    const all = membersOf(set, this.#options.view, this.#memory.of(name).readNode);
    const wanted = await this.#wanted(set);
    const { problem, members: selected } =
      'problem' in wanted ? { problem: wanted.problem, members: all } : await this.#cases.assess(set, wanted, all);
    const known = this.#memory.of(name);
    const measured = await measure(this.#options, name, { state: stateIn(set.status), rules, known });
    const pass = this.#drainPass(set, rules, wanted);
    const { planned, members } = await this.#plan(pass, wanted, { problem, measured }, selected);
    const { intent } = planned.state;
    if ((await this.#batches.end(set, intent, members)) > 0) return { kind: 'requeue', afterMs: ownWritesMs };
    if ('text' in wanted) await this.#ensureConfigMap(set, planned, wanted);
    const written = await this.#writeStatus(set, statusOf(set, planned, members, rfc3339(nowMs)));
    if (intent !== undefined) await this.#batches.assign(pass, intent, members);
    await askNodes(this.#options, name, { state: planned.state, members, known });
    const waiting = await this.#drains.taintWaiting(pass, planned, members);
    const lifted = await this.#drains.lift(set, members, { intent, waiting }, pass.context);
    await leaving(this.#leavingOptions(set, rules));
    if (planned.progress.condition === 'Ready')
      await collectConfigMaps(
        this.#options,
        name,
        (planned.state.revisions ?? []).map(({ source }) => source),
      );
    if (!written) await this.#forgetPauser(set, rules);
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

  /** Plans a batch, and plans it again without the nodes that turn out to be undrainable. */
  async #plan(
    pass: DrainPass,
    wanted: Wanted,
    { problem: configProblem, measured }: { problem: Stalled | undefined; measured: Measured | undefined },
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
      const input = { set, rules, state, desired, problem, nodes, measured, nowMs: context.nowMs };
      const areNamesChecked = this.#options.guards?.()?.inForce === 'policies';
      const planned = plan({ ...input, pauser: pauserOf(pass.set), areNamesChecked });
      const { intent, ...others } = planned.state;
      if (intent === undefined) return { planned, members };
      const found = await this.#assessment.assess(pass, intent, members);
      if (found === undefined) return { planned, members };
      if (found !== 'undrainable') problem = found;
      if (round === mostRounds) return { planned: { ...planned, state: others }, members };
    }
  }

  /** The set changes no further nodes. */
  async #liftAll(set: Pick<NodeConfigSet, 'metadata'>): Promise<ReconcileResult> {
    const context = { rules: undefined, startedAtMs: 0, isRejected: false, nowMs: this.#options.client.clock.now() };
    const left = await this.#drains.lift(set, [], { intent: undefined }, context);
    return left > 0 ? { kind: 'requeue', afterMs: ownWritesMs } : { kind: 'done' };
  }

  /** Before the set is deleted, its cordons and claims are removed; with onDelete: Reset its nodes get their local config back. */
  async #delete(set: NodeConfigSet): Promise<ReconcileResult> {
    const rules = this.#rules(set);
    const lifted = await this.#liftAll(set);
    if (lifted.kind !== 'done') return lifted;
    const members = membersOf(set, this.#options.view, this.#memory.of(set.metadata.name).readNode);
    if ((await this.#batches.end(set, undefined, members)) > 0) return { kind: 'requeue', afterMs: ownWritesMs };
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
    return {
      client,
      view,
      signal,
      log,
      set,
      rules,
      writes: this.#memory.of(set.metadata.name).writes,
      isDeleted: false,
    };
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
    if (isDeeperThan(spec.config, maxConfigDepth)) {
      const message = `config is nested deeper than ${maxConfigDepth} levels, and no field of a kubelet config is`;
      return { problem: { kind: 'invalidConfig', message } };
    }
    const own = payloadOf(spec.config);
    const asWanted = (text: string, signed: SignedConfig | undefined): Wanted => ({
      text,
      desired: desiredRevision(name, text, signed),
      signed,
    });
    if (own !== undefined) return asWanted(own, spec.config.signed);
    const unusable = (message: string): Wanted => ({ problem: { kind: 'noConfigMap', message } });
    if (configMap === undefined) return unusable('config has neither overlay nor whole nor configMap nor signed');
    const key = `${configMap.namespace}/${configMap.name}`;
    if (!namespaces.includes(configMap.namespace))
      return unusable(`${key} is not in ${namespaces.join(', ')} (--config-namespaces of the controller)`);
    if (view.configMaps.get(configMap.namespace)?.get(key) === undefined)
      return unusable(`${key} does not exist, or does not carry the label relet.dev/kubelet-config`);
    try {
      const { text, configMap: present } = await readPayload({ client, signal }, configMap);
      return asWanted(text, signedIn(present, text));
    } catch (error) {
      if (error instanceof CannotRun || isNotFound(error)) return unusable((error as Error).message);
      throw error;
    }
  }

  /** Before a batch gets it; and of a complete revision in any case, since a rollback may return to it. */
  async #ensureConfigMap(set: NodeConfigSet, { state }: Plan, { text, signed }: WantedConfig): Promise<void> {
    const { client, view } = this.#options;
    const update = updateOf(state);
    if (update === undefined || (state.intent?.revision !== update.revision && !isComplete(state))) return;
    const configMap = setConfigMap(set.metadata.name, text, update.attempt ?? 1, signed);
    const key = `${configNamespace}/${configMap.metadata.name}`;
    if (view.configMaps.get(configNamespace)?.get(key) === undefined) await ensureConfigMap({ client }, configMap);
  }

  /** True when it wrote. */
  async #writeStatus(set: NodeConfigSet, planned: NodeConfigSetStatus): Promise<boolean> {
    const { client, signal, counters, log, notifier } = this.#options;
    const { name } = set.metadata;
    const notified = notifier?.delivered(name) ?? set.status?.notified;
    const status = { ...planned, ...(notified !== undefined && { notified }) };
    const object = { ...set, status };
    counters.sets.set(name, status);
    if (isDeepStrictEqual(status, set.status)) {
      notifier?.observe(object);
      return false;
    }
    // Without the spec, which the subresource ignores, and which may be deeper than JSON.stringify can go.
    const { apiVersion, kind, metadata } = set;
    const sent = { apiVersion, kind, metadata, status };
    const written = await client.update<KubeObject>(nodeConfigSets, { name, subresource: 'status' }, sent, { signal });
    this.#memory.of(name).writes.add('sets', written);
    notifier?.observe(object);
    await recordEvents({ client, signal, log }, set, status);
    return true;
  }

  /** Removes the author annotations once the step is recorded: a later change of spec.paused without an author would be rejected. */
  async #forgetPauser(set: NodeConfigSet, { paused }: SetRules): Promise<void> {
    const { client, signal } = this.#options;
    const { name, resourceVersion } = set.metadata;
    if (Object.keys(pauserOf(set)).length === 0 || !isRecorded(stateIn(set.status), paused)) return;
    const patch = { metadata: { resourceVersion, annotations: { [byAnnotation]: null, [whyAnnotation]: null } } };
    const options = { as: 'merge', fieldManager: 'relet-controller', signal } as const;
    this.#memory
      .of(name)
      .writes.add('sets', await client.patch<NodeConfigSet>(nodeConfigSets, { name }, patch, options));
  }

  async #setFinalizers({ metadata }: NodeConfigSet, finalizers: string[]): Promise<ReconcileResult> {
    const { client, signal } = this.#options;
    const { name, resourceVersion } = metadata;
    const patch = { metadata: { resourceVersion, finalizers } };
    await client.patch(nodeConfigSets, { name }, patch, { as: 'merge', fieldManager: 'relet-controller', signal });
    return { kind: 'done' };
  }
}

function pauserOf({ metadata: { annotations = {} } }: NodeConfigSet): Pauser {
  const { [byAnnotation]: by, [whyAnnotation]: why } = annotations;
  return { ...(by !== undefined && { by }), ...(why !== undefined && { why }) };
}
