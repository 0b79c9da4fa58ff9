/**
 * The whole system, from start to end:
 *
 *   certificates ─► API server ─► controller, nodes, a few at a time ─► all Ready ─► … ─► nodes end ─► API server ends
 *
 * Each is a process of its own; this one starts them, keeps them running and ends them.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { aborted } from '../../aborted.js';
import { isNotFound } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { type Clock, systemClock } from '../../clock.js';
import { readPlain } from '../../config/plain-document.js';
import { createClient, type KubeClient } from '../../kube/client.js';
import { kubeconfigSource } from '../../kube/identity.js';
import { systemFileReader } from '../../kube/kubeconfig.js';
import { leases, nodes } from '../../kube/resource-type.js';
import { silentLog } from '../../log.js';
import { systemRandom } from '../../random.js';
import { serverUrl, writeKubeconfig } from '../apiserver/pki/admin-kubeconfig.js';
import { openPki } from '../apiserver/pki/pki.js';
import { KeptProcess } from './child.js';
import { applyDeploy, controllerCommand, prepareController } from './controller.js';
import { type Crashes, watchCrashes } from './crashes.js';
import type { SystemDirectory } from './directory.js';
import { systemVariable } from './leftovers.js';
import { ApiPortTaken, isFree } from './network.js';
import { type NodePlan, nodeCommand, prepareNode } from './node.js';
import { followReadiness, type Readiness } from './ready.js';
import { nodeNames, type System } from './settings.js';
import { keepTaints } from './taints.js';

export interface SystemOptions {
  directory: SystemDirectory;
  system: System;
  /** How relet itself is started. */
  relet: string[];
  /** The manifests that a user applies to a real cluster. */
  deployDir: string;
  env: NodeJS.ProcessEnv;
  /** Ends the system. */
  signal: AbortSignal;
  listener: SystemListener;
  /** Called once, before the first node is started. */
  onNodes?(nodes: NodeControl): void;
}

/** Stops and starts single nodes of a running system. */
export interface NodeControl {
  /** Resolves when its processes have ended. */
  stop(name: string): Promise<void>;
  /** Resolves when the node is Ready. */
  start(name: string): Promise<void>;
}

export interface SystemListener {
  onServer(url: string): void;
  onNode(name: string): void;
  /** Something ended by itself and is started again. */
  onTrouble(text: string): void;
  /** While it is waited for: its kubelet crashed and is started again. Called again when that continues. */
  onCrash(name: string, crashes: Crashes): void;
  /** Those that were not Ready in time; none: all is well. */
  onStarted(late: string[]): void;
}

const host = '127.0.0.1';
const clock: Clock = systemClock;
/** How long one node may take to become Ready while others still wait for their turn. */
const turnMs = 10_000;
/** How long all nodes may take before it is said that they do not get Ready. */
const patienceMs = 60_000;
const patiencePerNodeMs = 2000;

export async function runSystem(options: SystemOptions): Promise<void> {
  const { directory, system, signal, listener } = options;
  const url = serverUrl(host, system.network.apiPort);
  const plans = await prepare(options, url);
  const early = new AbortController();
  const server = new KeptProcess(serverProcess(options, early));
  const controller = new KeptProcess(controllerProcess(options));
  const kept = plans.map((plan) => new KeptProcess(nodeProcess(options, plan)));
  const over = new AbortController();
  const ended = AbortSignal.any([signal, over.signal]);
  const client = adminClient(directory.kubeconfig);
  try {
    const since = clock.now();
    server.start();
    await untilServing(client, options, signal, early.signal);
    if (signal.aborted) return;
    listener.onServer(url);
    const { nodeConfig } = system.settings;
    await applyDeploy(client, options.deployDir, nodeConfig ? 'base' : 'namespace');
    await forgetSurplusNodes(client, plans);
    keepTaints(client, clock, ended);
    options.onNodes?.(nodeControl(options, client, plans, kept, ended));
    const readiness = followReadiness(client, { since, nodeConfig, signal: ended });
    // The controller finds the guards whole, and need not do with less for a moment; the nodes start meanwhile.
    const guarded = nodeConfig ? applyDeploy(client, options.deployDir, 'guards') : Promise.resolve();
    const controlled = guarded.then(() => controller.start());
    const labelled = async (name: string) => {
      await readiness.ready(name);
      const { labels } = system.settings;
      if (labels !== undefined) await client.patch(nodes, { name }, { metadata: { labels } }, { as: 'merge' });
    };
    const [late] = await Promise.all([startNodes(plans, kept, { ready: labelled }, options), controlled]);
    if (signal.aborted) return;
    listener.onStarted(late);
    await aborted(signal);
  } finally {
    over.abort();
    client.close();
    // Nodes first: they tell the API server how they ended.
    await Promise.all([...kept, controller].map((one) => one.stop()));
    await server.stop();
  }
}

function nodeControl(
  options: SystemOptions,
  client: KubeClient,
  plans: NodePlan[],
  kept: KeptProcess[],
  ended: AbortSignal,
): NodeControl {
  const indexOf = (name: string) => plans.findIndex((plan) => plan.name === name);
  return {
    stop: async (name) => kept[indexOf(name)]?.stop(),
    async start(name) {
      const index = indexOf(name);
      await kept[index]?.stop();
      const over = new AbortController();
      const { nodeConfig } = options.system.settings;
      const signal = AbortSignal.any([ended, over.signal]);
      const readiness = followReadiness(client, { since: clock.now(), nodeConfig, signal });
      kept[index] = new KeptProcess(nodeProcess(options, plans[index]!));
      kept[index].start();
      await Promise.race([readiness.ready(name), aborted(ended)]);
      over.abort();
    },
  };
}

async function prepare({ directory, system }: SystemOptions, url: string): Promise<NodePlan[]> {
  const pki = await openPki({
    dir: directory.at('pki'),
    bindAddress: host,
    log: silentLog,
    clock,
    random: systemRandom,
  }).catch((error: Error) => {
    throw new CannotRun(error.message);
  });
  writeKubeconfig(directory.kubeconfig, { server: url, ca: pki.ca, user: 'kubernetes-admin', client: pki.admin });
  const plans = nodeNames(system.settings.nodes).map((name, index) => ({
    name,
    index,
    paths: directory.node(name),
    ...system,
    serverUrl: url,
    caFile: directory.at('pki', 'ca.crt'),
  }));
  for (const plan of plans) await prepareNode(plan, pki);
  await prepareController(directory, pki, url);
  return plans;
}

/** `early` fires when it ends, which matters only before it ever served. */
function serverProcess({ directory, system, relet, env, listener }: SystemOptions, early: AbortController) {
  const { settings, network } = system;
  const log = directory.at('apiserver.log');
  return {
    command: [
      ...relet,
      'apiserver',
      `--data-dir=${directory.dir}`,
      `--bind-address=${host}`,
      `--port=${network.apiPort}`,
      `--node-config-access=${settings.nodeConfigAccess}`,
      `--feature-gates=DynamicKubeletConfig=${!settings.nodeConfig}`,
    ],
    env: { ...env, [systemVariable]: directory.dir },
    cwd: directory.dir,
    log,
    pid: directory.at('apiserver.pid'),
    clock,
    onEnd(how: string) {
      early.abort(how);
      listener.onTrouble(`API server ended (${how}), starting it again; its log: ${log}`);
    },
  };
}

function controllerProcess({ directory, relet, env, listener }: SystemOptions) {
  const log = directory.at('controller.log');
  return {
    command: controllerCommand(relet, directory),
    env: { ...env, [systemVariable]: directory.dir },
    cwd: directory.dir,
    log,
    pid: directory.at('controller.pid'),
    clock,
    onEnd: (how: string) => listener.onTrouble(`controller ended (${how}), starting it again; its log: ${log}`),
  };
}

function nodeProcess({ directory, relet, env, listener }: SystemOptions, plan: NodePlan) {
  const { name, paths } = plan;
  return {
    command: nodeCommand(relet, plan),
    env: { ...env, [systemVariable]: directory.dir },
    cwd: paths.dir,
    log: paths.log,
    pid: paths.pid,
    clock,
    onEnd: (how: string) => listener.onTrouble(`${name} ended (${how}), starting it again; its log: ${paths.log}`),
  };
}

function adminClient(kubeconfig: string): KubeClient {
  const source = kubeconfigSource({
    paths: [kubeconfig],
    readYaml: readPlain,
    files: systemFileReader,
    env: {},
    clock,
    log: silentLog,
  });
  return createClient({ source, clock, random: systemRandom, userAgent: 'relet-up' });
}

/** Throws CannotRun with the end of the server's log when it does not come up, or ends at once. */
async function untilServing(
  client: KubeClient,
  { directory: { at }, system }: SystemOptions,
  signal: AbortSignal,
  ended: AbortSignal,
) {
  const until = AbortSignal.any([signal, ended]);
  const deadlineMs = clock.monotonic() + patienceMs;
  while (!until.aborted && clock.monotonic() < deadlineMs) {
    try {
      await client.raw({ method: 'GET', path: '/readyz', signal: until, timeoutMs: patienceMs });
      return;
    } catch {
      await clock.sleep(20, until).catch(() => {});
    }
  }
  const why = ended.aborted ? ended.reason : `it did not answer within ${patienceMs / 1000} s`;
  if (signal.aborted) return;
  const message = `the API server does not start (${why}); the end of ${at('apiserver.log')}:\n${tail(at('apiserver.log'))}`;
  const isTaken = ended.aborted && !(await isFree(host, system.network.apiPort));
  throw isTaken ? new ApiPortTaken(message) : new CannotRun(message);
}

const tail = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n').slice(-5).join('\n');

/** With fewer nodes than last time, those no longer wanted leave the API; their directories stay. */
async function forgetSurplusNodes(client: KubeClient, plans: NodePlan[]): Promise<void> {
  const wanted = new Set(plans.map(({ name }) => name));
  const present = await client.list(nodes);
  const surplus = present.items.map(({ metadata }) => metadata.name).filter((name) => !wanted.has(name));
  for (const name of surplus.filter((name) => /^node-\d+$/.test(name))) {
    const ignoreMissing = (error: unknown) => {
      if (!isNotFound(error)) throw error;
    };
    await client.delete(nodes, { name }).catch(ignoreMissing);
    await client.delete(leases, { namespace: 'kube-node-lease', name }).catch(ignoreMissing);
  }
}

/** A few at a time: fifty kubelets starting at once on two cores would all be too slow. Resolves with those that are late. */
async function startNodes(
  plans: NodePlan[],
  kept: KeptProcess[],
  readiness: Pick<Readiness, 'ready'>,
  { signal, listener }: SystemOptions,
): Promise<string[]> {
  const late = new Set(plans.map(({ name }) => name));
  const turns = Math.max(3, 2 * availableParallelism());
  const all: Promise<void>[] = [];
  const underWay = new Set<Promise<unknown>>();
  const enough = new AbortController();
  for (const [index, { name, paths }] of plans.entries()) {
    while (underWay.size >= turns) await Promise.race(underWay);
    if (signal.aborted) return [];
    kept[index]!.start();
    const isUp = new AbortController();
    const ready = readiness.ready(name).then(() => {
      isUp.abort();
      late.delete(name);
      listener.onNode(name);
    });
    all.push(ready);
    const waiting = AbortSignal.any([signal, enough.signal, isUp.signal]);
    const report = (crashes: Crashes) => listener.onCrash(name, crashes);
    void watchCrashes({ dir: paths.dynamicConfig, clock, signal: waiting, report });
    const turn: Promise<unknown> = Promise.race([ready, clock.sleep(turnMs, waiting).catch(() => {})]).then(() =>
      underWay.delete(turn),
    );
    underWay.add(turn);
  }
  const waited = clock.sleep(patienceMs + plans.length * patiencePerNodeMs, enough.signal).catch(() => {});
  await Promise.race([Promise.all(all), waited, aborted(signal)]);
  enough.abort();
  return [...late];
}
