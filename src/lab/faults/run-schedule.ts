/**
 * Runs one schedule: the faults, then heal, and waits until the cluster has converged. Returns what happened; model.ts decides whether
 * the promises were kept.
 */
import { SyntheticSignals } from '../../agent/observe/synthetic-signals.js';
import { defaultRestartLimit } from '../../agent/sync/change-pace.js';
import { configLabel, configNamespace, nodeConfigs } from '../../api/node-config.js';
import { type NodeConfigSet, nodeConfigSets } from '../../api/node-config-set.js';
import type { KubeObject } from '../../api/object.js';
import { signaturesAnnotation, statementAnnotation } from '../../api/signing.js';
import { isForbidden } from '../../api/status.js';
import type { KubeClient } from '../../kube/client.js';
import { configMaps, nodes, pods } from '../../kube/resource-type.js';
import { type SimulatedCluster, startCluster } from '../../rehearsal/simulation/cluster.js';
import type { Fence } from '../../rehearsal/simulation/fence.js';
import { admin, clientAs, type LaggingServer, nodeUser } from '../../rehearsal/simulation/server.js';
import { signedAnnotations } from '../../rollout/signed-config.js';
import {
  behaviourOf,
  type ConfigVersion,
  classOf,
  configIn,
  domainOf,
  localText,
  readStarted,
  textOf,
} from './configs.js';
import { History } from './history.js';
import { recordAnswers, recordingLog, recordObjects } from './record.js';
import type { Action, Operation, Schedule } from './schedule.js';
import { startFullServer } from './server.js';
import { signedConfig, trustFile } from './signing.js';

/** How long healed clusters may take beside the trials. A retry waits for a minute at most. */
const convergenceMs = 15 * 60_000;
/** A drain that failed, as while the controller was cut off, is tried again after half an hour. */
const drainAgainMs = 35 * 60_000;
/** For each of two waves; a node that does not answer is waited for. */
const analysisMs = 20 * 60_000;
const checkMs = 15_000;

export interface ScheduleRun {
  schedule: Schedule;
  history: History;
  /** ConfigMaps that a node could read in the end, although nobody ever assigned them to it. */
  leaks: string[];
}

/** Whether everything that the model asks of a healed cluster is so. */
export type HasConverged = (schedule: Schedule, history: History) => boolean;

export async function runSchedule(
  schedule: Schedule,
  manifests: readonly KubeObject[],
  hasConverged: HasConverged,
): Promise<ScheduleRun> {
  let cluster: SimulatedCluster | undefined;
  const history = new History(() => cluster?.clock.monotonic() ?? 0);
  const spoilt = new Set<string>();
  /** The domain with which each kubelet was started last. */
  const running = new Map<string, string>();
  cluster = await startCluster({
    startServer: startFullServer,
    seed: schedule.seed,
    manifests,
    nodes: schedule.nodes.map((name) => ({
      name,
      labels: labelsOf(name, schedule),
      local: localText,
      kubeletVersion: 'v1.32.1',
      ...(schedule.isSigned && { trustFile }),
      ...(joinsLater(name, schedule) && { isAbsent: true, isResting: true }),
    })),
    controllers: schedule.controllers,
    lease: { durationMs: 45_000, renewMs: 30_000, retryMs: 15_000 },
    flow: {
      trial: { durationMs: schedule.trialMs, healthDeadlineMs: 60_000, failedStarts: 3 },
      onChange: 'restart',
      inPlaceJitterMs: 0,
      restartLimit: defaultRestartLimit,
      settleMs: 500,
      crashDelayMs: 1000,
    },
    behaviour(node, text) {
      const { domain } = readStarted(text);
      return behaviourOf(spoilt.has(`${node} ${configIn(domain)}`) ? 'crashing' : classOf(domain));
    },
    ...(schedule.isAnalyzed && { signals: () => new SyntheticSignals([]) }),
    probeMs: (random) => 50 + random.below(2500),
    restartMs: (random) => 200 + random.below(15_000),
    listener: {
      onKubeletStart(node, text) {
        const started = readStarted(text);
        running.set(node, started.domain);
        history.add({ kind: 'start', node, ...started });
      },
      onKubeletExit: (node, { requested, code, signal }) =>
        history.add({ kind: 'exit', node, isRequested: requested, how: String(signal ?? code) }),
      onAgentStart: (node) => history.add({ kind: 'agent-up', node }),
      onAgentDown: (node) => history.add({ kind: 'agent-down', node }),
      onLead: (controller) => history.add({ kind: 'lead', controller }),
      onControllerDown: (controller) => history.add({ kind: 'controller-down', controller }),
      onAnswered: recordAnswers(history),
      log: (name) => recordingLog(history, name),
    },
  });
  if (schedule.isDrained) for (const node of schedule.inSet) await createPod(cluster.client, node);
  recordObjects(cluster.server.store, history);
  const second = schedule.actions.some(({ kind }) => kind === 'lagging-server')
    ? await cluster.server.another?.(cluster.random.stream('second server'))
    : undefined;
  const base = schedule.latencyMs > 0 ? { latencyMs: schedule.latencyMs } : undefined;
  cluster.network.set('*', base);
  const context = { schedule, spoilt, running, base, second, history };
  for (const action of schedule.actions) {
    await cluster.clock.advance(Math.max(0, action.atMs - cluster.clock.monotonic()));
    history.add({ kind: 'action', action });
    await act(cluster, action, context);
  }
  await cluster.clock.advance(Math.max(0, schedule.faultsEndMs - cluster.clock.monotonic()));
  heal(cluster);
  second?.catchUp();
  history.add({ kind: 'heal' });
  const moreMs = (schedule.isDrained ? drainAgainMs : 0) + (schedule.isAnalyzed ? analysisMs : 0);
  const { clock } = cluster;
  const converge = async () => {
    const untilMs = clock.monotonic() + convergenceMs + moreMs + 2 * schedule.trialMs;
    do await clock.advance(checkMs);
    while (clock.monotonic() < untilMs && !hasConverged(schedule, history));
  };
  await converge();
  if (schedule.isRetried && isStalled(history)) {
    const retry: Action = { atMs: clock.monotonic(), kind: 'retry' };
    history.add({ kind: 'action', action: retry });
    await act(cluster, retry, context);
    await converge();
  }
  const leaks = await findLeaks(cluster, history);
  history.isOver = true;
  await cluster.server.close();
  return { schedule, history, leaks };
}

const labelsOf = (node: string, { inSet }: Schedule) => ({ pool: inSet.includes(node) ? 'set' : 'by-hand' });

const joinsLater = (node: string, { actions }: Schedule): boolean =>
  actions.some((one) => one.kind === 'join' && one.node === node);

function isStalled({ entries }: History): boolean {
  const set = entries.findLast((entry) => entry.kind === 'set');
  return set?.kind === 'set' && set.state.startsWith('Stalled ');
}

interface Pause {
  halfSteps: number;
  forMs: number;
  of?: string;
}

interface ActionContext {
  schedule: Schedule;
  spoilt: Set<string>;
  running: ReadonlyMap<string, string>;
  base: { latencyMs: number } | undefined;
  second: LaggingServer | undefined;
  history: History;
}

async function act(cluster: SimulatedCluster, action: Action, context: ActionContext): Promise<void> {
  const { client, clock, network } = cluster;
  const { base, second } = context;
  const node = 'node' in action ? cluster.nodes.get(action.node) : undefined;
  const later = (ms: number, undo: () => void) => void clock.sleep(ms).then(undo);
  const trouble = (of: string, forMs: number, what: Parameters<typeof network.set>[1]) => {
    network.set(of, { ...base, ...what });
    later(forMs, () => network.set(of, of === '*' ? base : undefined));
  };
  const pause = (process: string, fence: Fence, { halfSteps, forMs, of }: Pause) => {
    const begin = () => {
      context.history.add({ kind: 'pause', process, forMs });
      fence.pause();
      later(forMs, () => fence.resume());
    };
    if (halfSteps === 0 && of === undefined) begin();
    else fence.pauseIn(halfSteps, begin, of);
  };
  switch (action.kind) {
    case 'create': {
      const labels = { [configLabel]: '' };
      const annotations = annotationsOf(action.config, context.schedule);
      const metadata = { name: action.config.name, namespace: configNamespace, labels, annotations };
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { kubelet: textOf(action.config) } };
      return void (await client.create(configMaps, { namespace: configNamespace }, object));
    }
    case 'edit': {
      const place = { name: action.config.name, namespace: configNamespace };
      const annotations = { ...noSignature, ...annotationsOf(action.config, context.schedule) };
      const content = { metadata: { annotations }, data: { kubelet: textOf(action.config) } };
      return void (await client.patch(configMaps, place, content, { as: 'merge' }));
    }
    case 'assign':
    case 'reset': {
      const name = 'config' in action ? action.config : undefined;
      const configMap = { name, namespace: configNamespace, kubeletConfigKey: 'kubelet' };
      const spec = { configSource: name === undefined ? null : { configMap } };
      const header = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig' };
      const object = { ...header, metadata: { name: action.node }, spec };
      // The controller may not have made it yet.
      return void (await client
        .patch(nodeConfigs, { name: action.node }, { spec }, { as: 'merge' })
        .catch(() => client.create(nodeConfigs, {}, object)));
    }
    case 'roll-out':
      return applySet(client, action, context.schedule);
    case 'join': {
      const metadata = { name: action.node, labels: labelsOf(action.node, context.schedule) };
      const status = { nodeInfo: { kubeletVersion: 'v1.32.1' } };
      await client.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata, status } as KubeObject);
      return node!.boot();
    }
    case 'retry': {
      const { status } = await client.get<NodeConfigSet>(nodeConfigSets, { name: 'pool' });
      const request = { action: 'Retry', revision: status?.updateRevision, by: admin };
      const patch = { status: { rollout: { request } } };
      return void (await client.patch(nodeConfigSets, { name: 'pool', subresource: 'status' }, patch, { as: 'merge' }));
    }
    case 'crash-agent':
      return node!.agent.crashIn(action.halfSteps);
    case 'crash-controller':
      return cluster.controllers.get(action.controller)!.process.crashIn(action.halfSteps);
    case 'pause-agent':
      return pause(action.node, node!.agent, action);
    case 'pause-machine':
      node!.pauseKubelet(action.forMs);
      return pause(action.node, node!.agent, { halfSteps: 0, forMs: action.forMs });
    case 'pause-controller':
      return pause(action.controller, cluster.controllers.get(action.controller)!.process, action);
    case 'lose-power':
      return node!.losePower(action.offMs);
    case 'kill-kubelet':
      return node!.machine.kill('SIGKILL');
    case 'hang':
      node!.isHanging = true;
      return later(action.forMs, () => (node!.isHanging = false));
    case 'disk-full':
      node!.disk.isFull = true;
      return later(action.forMs, () => (node!.disk.isFull = false));
    case 'spoil':
      context.spoilt.add(`${action.node} ${action.config}`);
      if (configIn(context.running.get(action.node) ?? '') === action.config) node!.machine.kill('SIGKILL');
      return;
    case 'cut-off':
      return trouble(action.client, action.forMs, { isDown: true });
    case 'lost-answers':
      return trouble(action.client, action.forMs, { lostAnswers: action.share });
    case 'unanswered':
      return trouble(action.client, action.forMs, { unanswered: action.share });
    case 'late-events':
      return trouble(action.client, action.forMs, { lateMs: action.lateMs });
    case 'break-watches':
      return network.breakWatches(action.client);
    case 'lagging-server':
      second?.fallBehind();
      later(action.afterMs, () => second && network.connect(action.client, second.transport));
      return later(action.forMs, () => second?.catchUp());
    case 'restart-server': {
      network.set('*', { ...base, isDown: true });
      return later(action.forMs, () => {
        const { store } = cluster.server;
        second?.catchUp();
        void store.compact(store.revision).then(() => network.set('*', base));
      });
    }
    case 'compact': {
      const { store } = cluster.server;
      second?.catchUp();
      await store.compact(store.revision);
      return network.breakWatches('*');
    }
    case 'jump-clock':
      return node!.jumpClock(action.byMs);
    case 'lie':
      return lie(cluster, action.node, action.config);
  }
}

const annotationsOf = (config: ConfigVersion, { isSigned }: Schedule): Record<string, string> => {
  const signed = isSigned ? signedConfig(config) : undefined;
  return signed === undefined ? {} : signedAnnotations(signed);
};

/** An edit replaces them. */
const noSignature = { [statementAnnotation]: null, [signaturesAnnotation]: null };

/** Everything works again. Processes that are down are started by their service manager; what is spoilt stays spoilt. */
function heal({ network, nodes }: SimulatedCluster): void {
  network.heal();
  for (const node of nodes.values()) {
    node.isHanging = false;
    node.disk.isFull = false;
  }
}

/** With the credential of the node, which a taken-over node has. */
async function lie({ client, server, clock, random }: SimulatedCluster, node: string, config: string): Promise<void> {
  const present = await client.get(nodeConfigs, { name: node }).catch(() => undefined);
  if (present === undefined) return;
  const hostile = clientAs(nodeUser(node), { transport: server.transport, clock, random });
  const source = {
    configMap: {
      name: config,
      namespace: configNamespace,
      kubeletConfigKey: 'kubelet',
      uid: 'x',
      resourceVersion: '1',
    },
  };
  const lied = {
    ...present,
    status: { ...(present.status as object), config: { assigned: source, active: source, lastKnownGood: source } },
  };
  await hostile.update(nodeConfigs, { name: node, subresource: 'status' }, lied as KubeObject).catch(() => {});
}

/** A node of a set that is silent for so long has failed. */
export const progressDeadlineMs = 4 * 60_000;

async function applySet(
  client: KubeClient,
  { config, onFailure, expiresAfter }: Extract<Operation, { kind: 'roll-out' }>,
  { limits, isDrained, isSigned, isAnalyzed }: Schedule,
): Promise<void> {
  const overlay = { clusterDomain: domainOf(config), ...(config.class === 'invalid' && { maxPods: -1 }) };
  const signed = isSigned ? signedConfig(config) : undefined;
  const strategy = {
    waves: [{ nodes: 1 }, { nodes: '100%' }],
    ...limits,
    ...(isDrained && { drain: { policy: 'Always', timeout: '1m' } }),
    ...(isAnalyzed && { analysis: { window: '5m', signals: [{ name: 'restarts' }] } }),
    maxFailed: 0,
    onFailure,
    progressDeadline: `${progressDeadlineMs / 60_000}m`,
  };
  const accept = isDrained ? ['Drain'] : [];
  const spec = {
    selector: { matchLabels: { pool: 'set' } },
    config: signed ? { signed } : { overlay },
    accept,
    strategy,
    ...(expiresAfter && { expiresAfter }),
  };
  const set = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfigSet', metadata: { name: 'pool' }, spec };
  await client.patch(nodeConfigSets, { name: 'pool' }, set, { as: 'apply', fieldManager: 'git', force: true });
}

/** Something to evict; where it goes then is not simulated. */
async function createPod(client: KubeClient, nodeName: string): Promise<void> {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'app', uid: 'app', controller: true };
  const metadata = { name: `app-${nodeName}`, namespace: 'default', ownerReferences: [owner] };
  const spec = { nodeName, terminationGracePeriodSeconds: 0, containers: [{ name: 'app', image: 'app' }] };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec, status: { phase: 'Running' } };
  await client.create(pods, { namespace: 'default' }, pod as KubeObject);
}

async function findLeaks({ server, clock, random }: SimulatedCluster, { entries }: History): Promise<string[]> {
  const names = new Set(entries.flatMap((entry) => (entry.kind === 'config' ? [entry.config] : [])));
  const assigned = new Set(
    entries.flatMap((entry) => (entry.kind === 'spec' ? [`${entry.node} ${entry.config}`] : [])),
  );
  const nodeNames = new Set(entries.flatMap((entry) => (entry.kind === 'spec' ? [entry.node] : [])));
  const leaks: string[] = [];
  for (const node of nodeNames) {
    const client = clientAs(nodeUser(node), { transport: server.transport, clock, random });
    for (const name of names) {
      if (assigned.has(`${node} ${name}`)) continue;
      const isRead = await client.get(configMaps, { namespace: configNamespace, name }).then(
        () => true,
        (error: unknown) => !isForbidden(error),
      );
      if (isRead) leaks.push(`${node} reads ${name}`);
    }
  }
  return leaks;
}
