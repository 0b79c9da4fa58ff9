/**
 * One node of a simulation: a machine with a disk, a kubelet that behaves as its config says, and the real agent in front of it, on the
 * fake driver. The agent can crash at any step and is started again as by a service manager; the machine can lose power.
 */
import { Agent } from '../../agent/agent.js';
import type { FlowOptions } from '../../agent/agent-options.js';
import { Documents } from '../../agent/documents.js';
import type { Exit, StartedConfig } from '../../agent/drivers/driver.js';
import { type Behaviour, FakeDriver, FakeMachine } from '../../agent/drivers/fake.js';
import { newCounters } from '../../agent/report/metrics.js';
import { Reporter } from '../../agent/report/reporter.js';
import { NodeState } from '../../agent/state/node-state.js';
import { NodeConfigReference } from '../../agent/sync/node-config-reference.js';
import { makeDocument } from '../../agent/validate/make-document.js';
import { nodes } from '../../kube/resource-type.js';
import type { Log } from '../../log.js';
import { rfc3339 } from '../../time.js';
import { SimulatedDisk } from './disk.js';
import { Fence, fencedClock, fencedDriver, fencedFiles, fencedLog } from './fence.js';
import { kubeletFlags, localPath, simulatedValidator, type ValidationMemo } from './host-validator.js';
import type { Network } from './network.js';
import type { SeededRandom } from './seeded-random.js';
import { type ClientParts, clientAs, nodeUser } from './server.js';
import type { VirtualClock } from './virtual-clock.js';

export interface NodeListener {
  /** A kubelet starts with this text, as it reads it from the disk. */
  onKubeletStart(node: string, text: string, source: StartedConfig['source']): void;
  onKubeletExit(node: string, exit: Exit): void;
  onAgentStart(node: string): void;
  onAgentDown(node: string): void;
}

export interface SimulatedNodeOptions {
  name: string;
  clock: VirtualClock;
  network: Network;
  random: SeededRandom;
  /** Of the controller manager, which notices Nodes that are silent. */
  admin: ClientParts;
  memo: ValidationMemo;
  flow: FlowOptions;
  /** Text of its local config. */
  local: string;
  kubeletVersion: string;
  /** How its kubelet behaves with a config. */
  behaviour(node: string, text: string): Behaviour;
  /** How long the kubelet takes to be asked about a config. */
  probeMs(random: SeededRandom): number;
  /** From a crash of the agent to its next start. */
  restartMs(random: SeededRandom): number;
  log(node: string): Log;
  listener: NodeListener;
}

const dir = '/relet';
/** As a kubelet retries, and as the controller manager waits before it calls a Node unknown. */
const statusRetryMs = 10_000;
const nodeMonitorGraceMs = 40_000;

export class SimulatedNode {
  readonly name: string;
  readonly machine: FakeMachine;
  readonly disk: SimulatedDisk;
  readonly #options: SimulatedNodeOptions;
  /** Of the machine: its kubelet posts nothing once the power is gone. */
  #power = new Fence();
  agent = new Fence();
  /** The kubelet answers nobody. */
  isHanging = false;
  #starts = 0;
  #boots = 0;
  #isReady: boolean | undefined;
  #isLosingPower = false;

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
    const { name, clock, network, listener, flow, local, memo } = this.#options;
    const fence = new Fence(() => this.#onAgentDown());
    this.agent = fence;
    this.#boots++;
    listener.onAgentStart(name);
    const random = this.#options.random.stream(`agent ${this.#boots}`);
    const own = fencedClock(clock, fence);
    const log = fencedLog(this.#options.log(name), fence);
    const state = new NodeState(dir, log, fencedFiles(this.disk, fence));
    const client = clientAs(nodeUser(name), { transport: network.transport(name, fence), clock: own, random });
    const agent = new Agent({
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
      ),
      commandLine: { args: (file) => [`--config=${file ?? localPath}`], shown: kubeletFlags },
      driver: fencedDriver(new FakeDriver({ machine: this.machine }), fence),
      hostFiles: { contentOf: () => 'there', hasEntries: async () => false },
      probe: () => fence.guard(this.#probe()),
      reporter: new Reporter({ state, clock: own, log, initConfig: false }),
      counters: newCounters(),
      connect: async () => ({
        client,
        nodeName: name,
        reference: new NodeConfigReference({ client, name, clock: own, log, version: '0.0.0' }),
      }),
      certificateExpired: async () => false,
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

  /** Where another process has the port, it answers, and takes its time. */
  async #probe(): Promise<boolean> {
    const { running } = this.machine;
    if (running?.behaviour.portsTakenBy === undefined) return this.machine.isHealthy && !this.isHanging;
    await this.#options.clock.sleep(20);
    return true;
  }

  #onAgentDown(): void {
    const { name, clock, random, restartMs, listener } = this.#options;
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

  #start(config: StartedConfig): Behaviour {
    const { local, behaviour, listener, clock } = this.#options;
    const text = config.file === undefined ? local : this.disk.read(config.file).toString('utf8');
    const now = behaviour(this.name, text);
    const start = ++this.#starts;
    listener.onKubeletStart(this.name, text, config.source);
    // The machine has the new kubelet when this call returns.
    queueMicrotask(() => {
      const { running } = this.machine;
      if (running === undefined) return;
      void running.exited.then((exit) => this.#exited(start, exit));
      const { healthyAfterMs = 0 } = now;
      if (Number.isFinite(healthyAfterMs))
        void this.#power.guard(clock.sleep(healthyAfterMs)).then(() => this.#postReady(start));
    });
    return now;
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
    const now = rfc3339(this.#options.clock.now());
    const condition = { type: 'Ready', status, lastHeartbeatTime: now, lastTransitionTime: now };
    const patch = { status: { conditions: [{ ...condition, reason: 'Kubelet', message: '' }] } };
    await client.patch(nodes, { name: this.name, subresource: 'status' }, patch, { as: 'strategic' });
  }
}
