/** A whole cluster in one process on virtual time: API server, controllers, nodes. The caller decides what happens to it. */
import type { FlowOptions } from '../../agent/create-agent.js';
import type { Behaviour } from '../../agent/drivers/fake.js';
import type { NodeSignals } from '../../agent/observe/sampler.js';
import type { TrustSource } from '../../agent/validate/trust-file.js';
import type { KubeObject } from '../../api/object.js';
import type { KubeClient } from '../../kube/client.js';
import { nodes } from '../../kube/resource-type.js';
import type { Log } from '../../log.js';
import { type LeaseTimes, SimulatedController } from './controller.js';
import type { SimulatedHost, ValidationMemo } from './host-validator.js';
import { type Answered, Network } from './network.js';
import { type NodeListener, SimulatedNode } from './node.js';
import { type SeededRandom, seededRandom } from './seeded-random.js';
import { admin, clientAs, type SimulatedServer, type StartServer } from './server.js';
import { VirtualClock } from './virtual-clock.js';

export interface NodePlan {
  name: string;
  labels?: Record<string, string>;
  /** Text of the local config. */
  local: string;
  kubeletVersion: string;
  host?: SimulatedHost;
  /** Its host starts only signed configs. */
  trustFile?: TrustSource;
  /** The Node as it is; without it one with these labels and this kubelet is made. */
  object?: KubeObject;
  /** The machine is not started: nothing runs there. */
  isOff?: boolean;
  /** Its agent is not started; `SimulatedNode.boot()` does it. */
  isResting?: boolean;
  /** Its Node is not created. */
  isAbsent?: boolean;
}

export interface ClusterListener extends NodeListener {
  onLead(controller: string): void;
  onControllerDown(controller: string): void;
  onAnswered(answered: Answered): void;
  /** Log of an agent or a controller. */
  log(name: string): Log;
}

export interface ClusterOptions {
  startServer: StartServer;
  seed: string;
  /** Wall clock time at the start. */
  startMs?: number;
  manifests: readonly KubeObject[];
  nodes: readonly NodePlan[];
  controllers: number;
  lease?: LeaseTimes;
  /** As for the controller. */
  gatherMs?: number;
  flow: FlowOptions;
  behaviour(node: string, text: string): Behaviour;
  /** Duration of a kubelet probe. */
  probeMs(random: SeededRandom): number;
  /** From a crash of an agent or a controller to its next start. */
  restartMs(random: SeededRandom): number;
  /** Kubelets survive their agents, as in attached mode. */
  adopts?: boolean;
  /** Without them no agent answers an analysis. */
  signals?(node: string): NodeSignals | undefined;
  listener: ClusterListener;
  /** Creates what is there before any controller or agent starts. */
  prepare?(client: KubeClient): Promise<void>;
}

export interface SimulatedCluster {
  clock: VirtualClock;
  random: SeededRandom;
  server: SimulatedServer;
  network: Network;
  /** Client of a person or a program with all rights, whose network is always good. */
  client: KubeClient;
  nodes: Map<string, SimulatedNode>;
  controllers: Map<string, SimulatedController>;
}

export async function startCluster(options: ClusterOptions): Promise<SimulatedCluster> {
  const { seed, manifests, listener, flow, behaviour, probeMs, restartMs } = options;
  const random = seededRandom(seed);
  // Not shared with other simulations: an answer that is known takes fewer turns, and the order of events would be another one.
  const memo: ValidationMemo = new Map();
  const ties = random.stream('order');
  const clock = new VirtualClock(options.startMs, () => ties.number());
  const server = await options.startServer({ clock, random: random.stream('server'), manifests });
  const onAnswered = (answered: Answered) => listener.onAnswered(answered);
  const network = new Network({ clock, random: random.stream('network'), server: server.transport, onAnswered });
  const parts = { transport: server.transport, clock, random: random.stream('admin') };
  const client = clientAs(admin, parts);
  const cluster: SimulatedCluster = {
    clock,
    random,
    server,
    network,
    client,
    nodes: new Map(),
    controllers: new Map(),
  };
  for (const { name, labels = {}, local, kubeletVersion, host, trustFile, object, isOff, isAbsent } of options.nodes) {
    if (!isAbsent) await client.create(nodes, {}, object ?? nodeObject(name, labels, kubeletVersion));
    if (isOff) continue;
    const own = {
      name,
      clock,
      network,
      random: random.stream(name),
      admin: parts,
      memo,
      flow,
      behaviour,
      probeMs,
      restartMs,
      ...(options.adopts && { adopts: true }),
    };
    const node = new SimulatedNode({
      ...own,
      local,
      kubeletVersion,
      ...(host && { host }),
      ...(trustFile && { trustFile }),
      signals: options.signals?.(name),
      listener,
      log: (of) => listener.log(of),
    });
    cluster.nodes.set(name, node);
  }
  for (let index = 1; index <= options.controllers; index++) {
    const name = `controller-${index}`;
    const own = { name, clock, network, random: random.stream(name), restartMs };
    const controller = new SimulatedController({
      ...own,
      ...(options.lease && { lease: options.lease }),
      ...(options.gatherMs && { gatherMs: options.gatherMs }),
      log: (of) => listener.log(of),
      onLead: (of) => listener.onLead(of),
      onDown: (of) => listener.onControllerDown(of),
    });
    cluster.controllers.set(name, controller);
  }
  await options.prepare?.(client);
  for (const controller of cluster.controllers.values()) controller.start();
  for (const { name, isResting } of options.nodes) if (!isResting) cluster.nodes.get(name)?.boot();
  return cluster;
}

function nodeObject(name: string, labels: Record<string, string>, kubeletVersion: string): KubeObject {
  const status = { nodeInfo: { kubeletVersion } };
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, status } as KubeObject;
}
