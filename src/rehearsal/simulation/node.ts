/**
 * One node of a simulation: a machine with a disk, a kubelet that behaves as its config says, and the real agent in front of it, on the
 * fake driver. The agent can crash at any step and is started again as by a service manager; the machine can lose power.
 */
import { createAgent, type FlowOptions } from '../../agent/create-agent.js';
import { Documents } from '../../agent/documents.js';
import type { Exit, StartedConfig } from '../../agent/drivers/driver.js';
import { type Behaviour, FakeDriver, FakeMachine } from '../../agent/drivers/fake.js';
import type { NodeSignals } from '../../agent/observe/sampler.js';
import { Reporter } from '../../agent/report/reporter.js';
import { NodeState } from '../../agent/state/node-state.js';
import { NodeConfigReference } from '../../agent/sync/node-config-reference.js';
import { makeDocument } from '../../agent/validate/host-validator.js';
import type { TrustSource } from '../../agent/validate/trust-file.js';
import { type Clock, rfc3339 } from '../../clock.js';
import { nodes } from '../../kube/resource-type.js';
import type { Log } from '../../log.js';
import { SimulatedDisk } from './disk.js';
import { Fence, fencedClock, fencedDriver, fencedFiles, fencedLog } from './fence.js';
import {
  commandLineOf,
  localPath,
  type SimulatedHost,
  simulatedValidator,
  usualHost,
  type ValidationMemo,
} from './host-validator.js';
import type { Network } from './network.js';
import type { SeededRandom } from './seeded-random.js';
import { type ClientParts, clientAs, nodeUser } from './server.js';

export interface NodeListener {
  /** A kubelet starts with this text, as it reads it from the disk. */
  onKubeletStart(node: string, text: string, source: StartedConfig['source']): void;
  onKubeletExit(node: string, exit: Exit): void;
  onAgentStart(node: string): void;
  onAgentDown(node: string): void;
}

export interface SimulatedNodeOptions {
  name: string;
  clock: Clock;
  network: Pick<Network, 'transport'>;
  random: SeededRandom;
  /** Client of the controller manager, which marks Nodes that stopped reporting. */
  admin: ClientParts;
  memo: ValidationMemo;
  flow: FlowOptions;
  /** Text of its local config. */
  local: string;
  kubeletVersion: string;
  host?: SimulatedHost;
  /** Its host starts only signed configs. */
  trustFile?: TrustSource;
  /** How its kubelet behaves with a config. */
  behaviour(node: string, text: string): Behaviour;
  /** Duration of a kubelet probe. */
  probeMs(random: SeededRandom): number;
  /** From a crash of the agent to its next start. */
  restartMs(random: SeededRandom): number;
  /** Kubelets survive their agents, as in attached mode. */
  adopts?: boolean;
  /** Without them its agent answers no analysis. */
  signals?: NodeSignals | undefined;
  log(node: string): Log;
  listener: NodeListener;
}

/** A node as it is while no agent runs on it. */
export interface NodeImage {
  disk: SimulatedDisk;
  running: StartedConfig | undefined;
}

const dir = '/relet';
/** As a kubelet retries, and as the controller manager waits before it calls a Node unknown. */
const statusRetryMs = 10_000;
const nodeMonitorGraceMs = 40_000;
const withoutItsFile: Behaviour = { healthyAfterMs: Number.POSITIVE_INFINITY, exits: { afterMs: 100, code: 1 } };

export class SimulatedNode {
  readonly name: string;
  readonly machine: FakeMachine;
  disk: SimulatedDisk;
  readonly #options: SimulatedNodeOptions;
  /** Power of the machine: its kubelet posts nothing once it is gone. */
  #power = new Fence();
  agent = new Fence();
  /** The kubelet answers no health check. */
  isHanging = false;
  #starts = 0;
  #boots = 0;
  #isReady: boolean | undefined;
  /** No agent runs, and none is to be started again. */
  isResting = true;
  /** The config of its kubelet is copied, not started. */
  #isCopying = false;
  #isLosingPower = false;
  /** Difference of its wall clock to those of others. */
  #clockSkewMs = 0;

  constructor(options: SimulatedNodeOptions) {
    this.#options = options;
    const { name, clock, kubeletVersion, random } = options;
    this.name = name;
    this.disk = new SimulatedDisk(random.stream('temporary files'));
    for (const path of [dir, `${dir}/meta`, `${dir}/checkpoints`]) this.disk.makeDir(path, 0o700);
    for (const path of ['/', dir]) this.disk.sync(path);
    this.machine = new FakeMachine({ clock, behaviour: (config) => this.#start(config), version: kubeletVersion });
  }

  /** Starts the agent, as a new process on this disk. */
  boot(): void {
    const { name, clock, network, listener, flow, local, memo, host = usualHost, adopts = false } = this.#options;
    const { trustFile } = this.#options;
    const fence = new Fence(() => this.#onAgentDown());
    this.agent = fence;
    this.isResting = false;
    this.#boots++;
    listener.onAgentStart(name);
    const random = this.#options.random.stream(`agent ${this.#boots}`);
    const own = { ...fencedClock(clock, fence), now: () => clock.now() + this.#clockSkewMs };
    const log = fencedLog(this.#options.log(name), fence);
    const state = new NodeState(dir, log, fencedFiles(this.disk, fence));
    const client = clientAs(nodeUser(name), { transport: network.transport(name, fence), clock: own, random });
    const agent = createAgent({
      options: flow,
      state,
      documents: new Documents({
        state,
        localFiles: () => [{ path: localPath, data: Buffer.from(local) }],
        make: async (from) => makeDocument(from),
        version: '0.0.0',
      }),
      validator: simulatedValidator(
        () => local,
        memo,
        () => own.sleep(this.#options.probeMs(random)),
        host,
      ),
      commandLine: { args: (file) => [`--config=${file ?? localPath}`], shown: commandLineOf(host).shown },
      driver: fencedDriver(new FakeDriver({ machine: this.machine, adopts }), fence),
      ...(trustFile && { trustFile }),
      hostFiles: { contentOf: () => 'there', hasEntries: async () => host.hasStaticPods },
      probe: () => fence.guard(this.#probe()),
      reporter: new Reporter({ state, clock: own, log, initConfig: false }),
      connect: async () => ({
        client,
        nodeName: name,
        reference: new NodeConfigReference({
          client,
          name,
          clock: own,
          log,
          version: '0.0.0',
          renewsLease: flow.renewsLease,
        }),
      }),
      certificateExpired: async () => false,
      signals: this.#options.signals,
      clock: own,
      random,
      log,
    });
    // An agent that ends is a crash too: it is started again.
    agent.run(new AbortController().signal).then(
      () => fence.down(),
      (error: unknown) => {
        log.error('agent failed', { error });
        fence.down();
      },
    );
  }

  /** Answers late if another process has a port: the kubelet may have exited when the answer arrives. */
  async #probe(): Promise<boolean> {
    const { running, isHealthy } = this.machine;
    const isAnswered = isHealthy && !this.isHanging;
    if (running?.behaviour.portsTakenBy === undefined) return isAnswered;
    await this.#options.clock.sleep(20);
    return isAnswered || running.behaviour.healthyAfterMs === Number.POSITIVE_INFINITY;
  }

  /** The agent ends; the kubelet runs on. */
  rest(): void {
    this.isResting = true;
    this.agent.down();
  }

  image(): NodeImage {
    return { disk: this.disk.copy(), running: this.machine.running?.config };
  }

  /** Gets the disk and the running kubelet of another node, or of itself earlier. No agent runs here. */
  become({ disk, running }: NodeImage): void {
    this.disk = disk.copy(this.#options.random.stream('temporary files'));
    this.#isCopying = true;
    this.machine.kill('SIGKILL');
    if (running !== undefined) void this.machine.start(running);
    this.#isCopying = false;
    this.#isReady = true;
  }

  #onAgentDown(): void {
    const { name, clock, random, restartMs, listener } = this.#options;
    if (this.isResting) return;
    listener.onAgentDown(name);
    if (this.#isLosingPower) return;
    const power = this.#power;
    void power.guard(clock.sleep(restartMs(random))).then(() => this.boot());
  }

  /** The power goes, and comes back after a while. What was not synced may be lost. */
  losePower(offMs: number): void {
    const { clock, random } = this.#options;
    // First, so that no service manager of this boot starts the agent again.
    this.#power.down();
    const power = new Fence();
    this.#power = power;
    this.#isLosingPower = true;
    this.agent.down();
    this.#isLosingPower = false;
    this.machine.reboot();
    this.isHanging = false;
    this.disk.losePower(random);
    void power.guard(clock.sleep(offMs)).then(() => this.boot());
  }

  /** The kubelet is stopped for so long: it needs that much longer to become healthy. */
  pauseKubelet(forMs: number): void {
    const { running, isHealthy } = this.machine;
    if (running === undefined) return;
    if (!isHealthy) running.startedMs += forMs;
    this.isHanging = true;
    void this.#power.guard(this.#options.clock.sleep(forMs)).then(() => (this.isHanging = false));
  }

  /** The wall clock is set. A heartbeat of the kubelet with the new time follows. */
  jumpClock(byMs: number): void {
    this.#clockSkewMs += byMs;
    const start = this.#starts;
    const heartbeat = () => (this.machine.isHealthy ? this.#postReady(start) : undefined);
    void this.#power.guard(this.#options.clock.sleep(statusRetryMs)).then(heartbeat);
  }

  #start(config: StartedConfig): Behaviour {
    const { local, behaviour, listener, clock } = this.#options;
    if (this.#isCopying) return {};
    const text = config.file === undefined ? local : this.#textOf(config.file);
    const now = text === undefined ? withoutItsFile : behaviour(this.name, text);
    const start = ++this.#starts;
    listener.onKubeletStart(this.name, text ?? '', config.source);
    // The machine has the new kubelet when this call returns.
    queueMicrotask(() => {
      const { running } = this.machine;
      if (running === undefined) return;
      void running.exited.then((exit) => this.#exited(start, exit));
      const { healthyAfterMs = 0 } = now;
      // A heartbeat has whole seconds, and one of the second of the start would not count: without Leases it comes in the next one.
      const inNextSecondMs = 1000 - ((clock.now() + this.#clockSkewMs) % 1000);
      if (Number.isFinite(healthyAfterMs))
        void this.#power
          .guard(clock.sleep(Math.max(healthyAfterMs, inNextSecondMs)))
          .then(() => this.#postReady(start));
    });
    return now;
  }

  /** Undefined when it is gone: a kubelet without its file exits. */
  #textOf(file: string): string | undefined {
    return this.disk.stat(file) && this.disk.read(file).toString('utf8');
  }

  #exited(start: number, exit: Exit): void {
    const { listener, clock } = this.#options;
    listener.onKubeletExit(this.name, exit);
    void clock.sleep(nodeMonitorGraceMs).then(async () => {
      if (start !== this.#starts && this.machine.isHealthy) return;
      if (this.#isReady !== true) return;
      this.#isReady = undefined;
      await this.#writeReady('Unknown', clientAs('admin', this.#options.admin)).catch(() => {});
    });
  }

  /** The kubelet posts its status once it is up, until the server has it. */
  async #postReady(start: number): Promise<void> {
    const { clock, network, random } = this.#options;
    const power = this.#power;
    const transport = network.transport(this.name, power);
    const client = clientAs(nodeUser(this.name), { transport, clock: fencedClock(clock, power), random });
    while (start === this.#starts && this.machine.running !== undefined) {
      try {
        if (!this.isHanging) {
          await this.#writeReady('True', client);
          this.#isReady = true;
          return;
        }
      } catch {
        // Tried again below, as the kubelet does.
      }
      await power.guard(clock.sleep(statusRetryMs));
    }
  }

  async #writeReady(status: 'True' | 'Unknown', client: ReturnType<typeof clientAs>): Promise<void> {
    const now = rfc3339(this.#options.clock.now() + this.#clockSkewMs);
    const condition = { type: 'Ready', status, lastHeartbeatTime: now, lastTransitionTime: now };
    const patch = { status: { conditions: [{ ...condition, reason: 'Kubelet', message: '' }] } };
    await client.patch(nodes, { name: this.name, subresource: 'status' }, patch, { as: 'strategic' });
  }
}
