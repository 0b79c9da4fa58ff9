/**
 * Rehearses the rollout of a set: the real controller and the real agents on a copy of the node list, on virtual time, with faults by
 * seed. The copy runs for a while before the set is applied, so that the rollout starts from nodes at rest.
 */
import type { Behaviour } from '../agent/drivers/fake.js';
import { sha256 } from '../agent/state/checkpoints.js';
import { defaultRestartLimit } from '../agent/sync/change-pace.js';
import { nodeConfigs } from '../api/node-config.js';
import { type NodeConfigSet, nodeConfigSets, type RolloutBlock, type WaveAnalysis } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import { ApiError } from '../api/status.js';
import { CannotRun } from '../cannot-run.js';
import { rfc3339 } from '../clock.js';
import type { KubeClient } from '../kube/client.js';
import { configMaps } from '../kube/resource-type.js';
import { silentLog } from '../log.js';
import { byNaturalOrder } from '../natural-order.js';
import { Agents, type Kinds, kindsOf, leaderHealthyMs } from './agents.js';
import { choose, type Faults, failure, outageMs, pauseMs, slow, usual } from './faults.js';
import { type Fleet, silentNodeConfig, unnamed } from './fleet.js';
import { startMemoryServer } from './memory-server.js';
import { Observations } from './observations.js';
import { createPods, PodMover } from './pods.js';
import { RehearsalRecord } from './record.js';
import { type SimulatedCluster, startCluster } from './simulation/cluster.js';
import { type SeededRandom, seededRandom } from './simulation/seeded-random.js';
import { admin } from './simulation/server.js';

export interface RehearsalOptions {
  /** With the status of the one in the cluster, where there is one. */
  set: NodeConfigSet;
  fleet: Fleet;
  faults: Faults;
  seed: string;
  /** Objects of deploy/. */
  manifests: readonly KubeObject[];
  /** Wall clock time at which the set is applied. */
  startMs: number;
  trialMs: number;
  /** From a wave that waits for approval to its approval. */
  approveAfterMs: number;
  /** Then it is not awaited any longer. */
  untilMs: number;
  signal?: AbortSignal;
  /** At each status of the set; `atMs` from when it was applied. */
  onStatus?(set: NodeConfigSet, atMs: number): void;
}

export interface RehearsalRun {
  record: RehearsalRecord;
  set: NodeConfigSet;
  /** When it had ended, and no node had anything left to do either. */
  quietMs: number;
  podsMoved: number;
  /** Earlier analyses of the set, before the rehearsal. */
  earlier: WaveAnalysis[];
  faulty: { fail: string[]; slow: string[]; notReady: string[] };
}

/** Before the set is applied: agents start, report, and run what they are assigned already. */
const warmUpMs = { atRest: 60_000, assigned: 180_000, most: 600_000 };
const stepMs = 5000;
/** Nodes that cannot be changed for so long will not be in this rehearsal: nobody releases or repairs them. */
const mostIdleMs = 10 * 60_000;
const latencyMs = 10;

export async function rehearse(options: RehearsalOptions): Promise<RehearsalRun> {
  const { set, fleet, seed, signal } = options;
  const random = seededRandom(`rehearsal ${seed}`);
  const names = fleet.nodes.map(({ name }) => name);
  const chosen = {
    fail: choose(options.faults.fail, names, random.stream('fail')),
    slow: choose(options.faults.slow, names, random.stream('slow')),
    notReady: choose(options.faults.notReady, names, random.stream('not ready')),
  };
  const warmMs = fleet.nodeConfigs.some(({ spec }) => spec?.configSource) ? warmUpMs.assigned : warmUpMs.atRest;
  const beganMs = options.startMs - warmMs;
  const isOn = ({ name, isOff }: Fleet['nodes'][number]) => !isOff && !chosen.notReady.has(name);
  const kinds = kindsOf({ ...fleet, nodes: fleet.nodes.filter(isOn) });
  const known = new Set(fleet.nodeConfigs.map(({ metadata }) => metadata.name));
  const nodes = fleet.nodes.map((node) => {
    if (chosen.notReady.has(node.name)) return { ...node, isOff: true, object: notReady(node.object, beganMs) };
    const isResting = !node.isOff && kinds.get(node.name) !== node.name;
    // A node without a NodeConfig is added together with the objects that relet writes for it, unless it has pods before that.
    return { ...node, isResting, isAbsent: isResting && !known.has(node.name) && fleet.pods.length === 0 };
  });
  let cluster: SimulatedCluster | undefined;
  let appliedMs = Number.POSITIVE_INFINITY;
  const now = () => cluster?.clock.monotonic() ?? 0;
  const isWarm = () => now() >= appliedMs;
  // A node copes with a disturbed API itself: no other node's agent acts for it.
  const isDisturbed = options.faults.controllerCrashes || options.faults.apiOutages;
  const isAlone = (name: string) => isDisturbed || chosen.fail.has(name) || chosen.slow.has(name);
  const kubelets = new Kubelets({ fleet, kinds, chosen, random: random.stream('kubelets'), isWarm, isAlone });
  const approved = new Set<string>();
  const onSet = (seen: NodeConfigSet) => {
    if (cluster) approve(cluster, record, { set: seen, approved, afterMs: options.approveAfterMs });
    options.onStatus?.(seen, now() - appliedMs);
  };
  let agents: Agents | undefined;
  let observations: Observations | undefined;
  const record = new RehearsalRecord({
    set: set.metadata.name,
    now: () => now() - appliedMs,
    onSet,
    onNodeConfig: (object, isWritten) => {
      if (isWritten) agents?.written(object);
      else agents?.reported(object);
      observations?.seen(object);
    },
    onUpdated: (name) => agents?.updated(name),
  });
  cluster = await startCluster({
    startServer: startMemoryServer,
    seed,
    startMs: beganMs,
    manifests: options.manifests,
    nodes,
    controllers: options.faults.controllerCrashes ? 2 : 1,
    // A pass reads all nodes of the set: with many of them there are fewer passes.
    gatherMs: Math.max(1000, Math.ceil(nodes.length / 2.5)),
    // A controller that is alone and does not crash keeps its lease, however rarely it renews it.
    ...(options.faults.controllerCrashes && { lease: { durationMs: 15_000, renewMs: 10_000, retryMs: 2000 } }),
    flow: {
      trial: {
        // Nodes have run their first configs for long: those get a short trial.
        get durationMs() {
          return isWarm() ? options.trialMs : 1000;
        },
        healthDeadlineMs: 60_000,
        failedStarts: 3,
      },
      onChange: 'restart',
      inPlaceJitterMs: 0,
      restartLimit: defaultRestartLimit,
      settleMs: 500,
      crashDelayMs: 1000,
      renewsLease: false,
    },
    behaviour: (node, text) => kubelets.start(node, text),
    probeMs: (one) => 100 + one.below(400),
    restartMs: (one) => 1000 + one.below(5000),
    adopts: true,
    listener: {
      onKubeletStart: () => {},
      onKubeletExit: () => {},
      onAgentStart: () => {},
      onAgentDown: () => {},
      onLead: (controller) => record.add('fault', `${controller} leads`),
      onControllerDown: (controller) => record.add('fault', `${controller} crashes`),
      onAnswered: () => {},
      log: () => silentLog,
    },
    prepare: (client) => prepare(client, fleet, chosen.notReady),
  }).catch((error) => {
    if (error instanceof ApiError) throw new CannotRun(`an object of the copy is not valid: ${error.message}`);
    throw error;
  });
  cluster.network.set('*', { latencyMs });
  record.follow(cluster.server.store);
  try {
    const mover = new PodMover(cluster, random.stream('pods'));
    const running = new Set(kinds.values());
    await advance(cluster, warmMs - stepMs, signal);
    while (!record.isSettled(running) && now() < warmUpMs.most) await advance(cluster, stepMs, signal);
    const nodeConfig = (name: string) => record.nodeConfig(name);
    const absent = new Map(nodes.flatMap(({ name, isAbsent, object }) => (isAbsent ? [[name, object]] : [])));
    agents = new Agents({ cluster, kinds, random: random.stream('agents'), isAlone, nodeConfig });
    await agents.copyKinds(absent);
    if (set.spec.strategy?.analysis !== undefined)
      observations = new Observations({
        cluster,
        random: random.stream('observations'),
        harms: options.faults.worse ?? [],
        spreads: spreadsIn(set),
        nodeConfig,
        revision: () => record.set?.status?.updateRevision,
      });
    await advance(cluster, stepMs, signal);
    appliedMs = now();
    record.start();
    await apply(cluster.client, set);
    const timed = random.stream('timed');
    if (options.faults.controllerCrashes) void crashControllers(cluster, timed.stream('crashes'));
    if (options.faults.apiOutages) void breakApi(cluster, record, timed.stream('outages'));
    const quietMs = await untilEnd(cluster, record, options, () => now() - appliedMs);
    return {
      record,
      set: record.set!,
      quietMs,
      podsMoved: mover.moved,
      earlier: set.status?.analyses ?? [],
      faulty: listed(chosen),
    };
  } finally {
    await cluster.server.close();
  }
}

/** From the newest answers. */
const spreadsIn = ({ status: { analyses = [] } = {} }: NodeConfigSet): Map<string, number> =>
  new Map(
    analyses
      .flatMap(({ signals = [] }) => signals)
      .filter(({ kind, spread }) => kind === 'level' && spread > 0)
      .reverse()
      .map(({ name, spread }) => [name, spread]),
  );

const listed = (chosen: Record<'fail' | 'slow' | 'notReady', Set<string>>): RehearsalRun['faulty'] => ({
  fail: [...chosen.fail].sort(byNaturalOrder),
  slow: [...chosen.slow].sort(byNaturalOrder),
  notReady: [...chosen.notReady].sort(byNaturalOrder),
});

/** In small steps, so that it can be interrupted. */
async function advance({ clock }: SimulatedCluster, ms: number, signal: AbortSignal | undefined): Promise<void> {
  for (let left = ms; left > 0; left -= stepMs) {
    signal?.throwIfAborted();
    await clock.advance(Math.min(left, stepMs));
  }
}

async function untilEnd(
  cluster: SimulatedCluster,
  record: RehearsalRecord,
  { untilMs, trialMs, signal }: RehearsalOptions,
  now: () => number,
): Promise<number> {
  // After the end, nodes that are on trial are awaited too.
  const limitMs = () => {
    const { endedMs, idleSinceMs } = record;
    const idleMs = idleSinceMs === undefined ? untilMs : idleSinceMs + mostIdleMs;
    return Math.min(untilMs, idleMs, (endedMs ?? untilMs) + 2 * trialMs + 120_000);
  };
  do await advance(cluster, stepMs, signal);
  while (now() < limitMs() && !(record.endedMs !== undefined && record.isQuiet));
  return now();
}

function approve(
  { clock, client }: SimulatedCluster,
  record: RehearsalRecord,
  { set, approved, afterMs }: { set: NodeConfigSet; approved: Set<string>; afterMs: number },
): void {
  const { updateRevision: revision = '', waves = [] } = set.status ?? {};
  const { name } = set.metadata;
  for (const { wave, state } of waves) {
    const key = `${revision} ${wave}`;
    if (state !== 'AwaitingApproval' || approved.has(key)) continue;
    approved.add(key);
    void clock.sleep(afterMs).then(async () => {
      const approve = { revision, wave, by: admin, at: rfc3339(clock.now()) };
      const patch = { status: { rollout: { approve } } };
      await client.patch(nodeConfigSets, { name, subresource: 'status' }, patch, { as: 'merge' });
      record.add('approval', `wave ${wave} is approved`);
    });
  }
}

async function crashControllers({ clock, controllers }: SimulatedCluster, random: SeededRandom): Promise<void> {
  for (;;) {
    await clock.sleep(pauseMs(random));
    for (const { process } of controllers.values()) process.crashIn(random.below(12));
  }
}

async function breakApi(
  { clock, network }: SimulatedCluster,
  record: RehearsalRecord,
  random: SeededRandom,
): Promise<void> {
  for (;;) {
    await clock.sleep(pauseMs(random));
    const forMs = outageMs(random);
    record.add('fault', `the API server is away for ${Math.round(forMs / 1000)} s`);
    network.set('*', { latencyMs, isDown: true });
    await clock.sleep(forMs);
    network.set('*', { latencyMs });
  }
}

function notReady<T extends KubeObject>(node: T, sinceMs: number): T {
  const lastTransitionTime = rfc3339(sinceMs);
  const conditions = [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', lastTransitionTime }];
  return { ...node, status: { ...(node.status as object), conditions } };
}

/** Creates the objects that are in the cluster before relet starts. */
async function prepare(client: KubeClient, fleet: Fleet, silent: ReadonlySet<string>): Promise<void> {
  for (const object of fleet.configMaps)
    await client.create(configMaps, { namespace: object.metadata.namespace ?? '' }, object);
  const known = new Set(fleet.nodeConfigs.map(({ metadata }) => metadata.name));
  const added = [...silent].filter((name) => !known.has(name)).map(silentNodeConfig);
  for (const object of [...fleet.nodeConfigs, ...added]) {
    await client.create(nodeConfigs, {}, object);
    const place = { name: object.metadata.name, subresource: 'status' };
    if (object.status) await client.patch(nodeConfigs, place, { status: object.status }, { as: 'merge' });
  }
  for (const object of fleet.objects) {
    const type = { group: 'relet.dev', version: 'v1alpha1', resource: pluralOf(object.kind) };
    await client.create(type, {}, object);
  }
  await createPods(client, fleet.pods);
}

const pluralOf = (kind: string) => (kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : `${kind}s`).toLowerCase();

/** Together with its status, before a controller can write: its requests take time, ours take none. */
async function apply(client: KubeClient, { status, ...set }: NodeConfigSet): Promise<void> {
  const { name, labels, annotations } = set.metadata;
  const metadata = { name, ...(labels && { labels }), ...(annotations && { annotations: unnamed(annotations) }) };
  try {
    await client.create(nodeConfigSets, {}, { ...set, metadata });
    const rollout = status?.rollout && signed(status.rollout);
    const patch = { status: { ...status, ...(rollout && { rollout }), observedGeneration: 0 } };
    if (status) await client.patch(nodeConfigSets, { name, subresource: 'status' }, patch, { as: 'merge' });
  } catch (error) {
    if (error instanceof ApiError) throw new CannotRun(`the set is not valid: ${error.message}`);
    throw error;
  }
}

interface KubeletsOptions {
  fleet: Fleet;
  kinds: Kinds;
  chosen: { fail: ReadonlySet<string>; slow: ReadonlySet<string> };
  random: SeededRandom;
  isWarm(): boolean;
  isAlone(name: string): boolean;
}

/** How kubelets behave. A config is new to a node that has not run it before the rollout. */
class Kubelets {
  readonly #options: KubeletsOptions;
  readonly #locals: ReadonlyMap<string, string>;
  readonly #known = new Set<string>();

  constructor(options: KubeletsOptions) {
    this.#options = options;
    this.#locals = new Map(options.fleet.nodes.map(({ name, local }) => [name, local]));
  }

  start(node: string, text: string): Behaviour {
    const { fleet, kinds, chosen, isWarm, isAlone } = this.#options;
    const random = this.#options.random.stream(node);
    if (text === this.#locals.get(node)) return isWarm() && chosen.slow.has(node) ? slow(random) : usual(random);
    const key = `${kinds.get(node)} ${sha256(text)}`;
    if (!isWarm()) {
      if (fleet.failing.has(node)) return failure(random);
      this.#known.add(key);
      return usual(random);
    }
    if (chosen.fail.has(node) && !this.#known.has(key)) return failure(random);
    if (!isAlone(node)) return { healthyAfterMs: leaderHealthyMs };
    return chosen.slow.has(node) ? slow(random) : usual(random);
  }
}

/** Replaces author names by the rehearsal's own user: an author name must be that of the user who writes it. */
const signed = ({ approve, request }: RolloutBlock): RolloutBlock => ({
  ...(approve && { approve: { ...approve, by: admin } }),
  ...(request && { request: { ...request, by: admin } }),
});
