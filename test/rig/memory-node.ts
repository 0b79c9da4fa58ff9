/**
 * One node in memory: the whole agent on the fake driver, files in memory, the API server in memory, and a clock that the test
 * moves. No process, no socket, no disk, no real time. A comment in a config is how the kubelet behaves with it.
 */
import { onTestFinished } from 'vitest';
import type { FlowOptions } from '../../src/agent/create-agent.js';
import type { Exit, KubeletDriver, KubeletUnit, StartedConfig } from '../../src/agent/drivers/driver.js';
import { type Behaviour, FakeDriver, FakeMachine } from '../../src/agent/drivers/fake.js';
import type { StateFileHost } from '../../src/agent/owed.js';
import { NodeState } from '../../src/agent/state/node-state.js';
import { defaultRestartLimit } from '../../src/agent/sync/change-pace.js';
import { NodeConfigReference } from '../../src/agent/sync/node-config-reference.js';
import { NodeReference } from '../../src/agent/sync/node-reference.js';
import type { Reference } from '../../src/agent/sync/reference.js';
import { defaultTrialLimits } from '../../src/agent/trial/trial.js';
import type { TrustSource } from '../../src/agent/validate/trust-file.js';
import type { Validator } from '../../src/agent/validate/validate.js';
import type { NodeConfigStatus } from '../../src/api/config-ref.js';
import { configLabel, nodeConfigs } from '../../src/api/node-config.js';
import type { KubeObject } from '../../src/api/object.js';
import type { KubeClient } from '../../src/kube/client.js';
import { configMaps, events, nodes } from '../../src/kube/resource-type.js';
import { silentLog } from '../../src/log.js';
import { SimulatedDisk } from '../../src/rehearsal/simulation/disk.js';
import { seededRandom } from '../../src/rehearsal/simulation/seeded-random.js';
import { define } from '../definitions.js';
import { startInMemoryServer } from '../in-memory-server.js';
import type { ManualClock } from '../manual-clock.js';
import { simpleValidator, TestNode } from './node.js';

const dir = '/dynamic-config';
export const nodeName = 'node-a';
const namespace = 'kube-system';

/** The first line of a config that is not YAML for the kubelet. */
export const behaviours = {
  '# crashes': { exits: { afterMs: 10, code: 1 }, log: ['panic: crashes', 'goroutine 1 [running]:'] },
  '# never healthy': { healthyAfterMs: Number.POSITIVE_INFINITY },
  '# port taken': { portsTakenBy: 'pid 9' },
  '# ignores a stop': { ignoresStop: true },
  '# is stopped': { healthyAfterMs: Number.POSITIVE_INFINITY, exits: { afterMs: 30_000, code: 0 } },
  '# hangs': { healthyAfterMs: Number.POSITIVE_INFINITY, ignoresStop: true },
} as const satisfies Record<string, Behaviour>;

/** Unit of a host on which only the agent acts. */
export const quietUnit: KubeletUnit = {
  running: async () => undefined,
  confirmHealthy: async () => {},
  keep: async () => {},
  stage: async () => {},
  rollBack: async () => false,
  notices: () => [],
  nextStart: () => undefined,
  onChange() {},
  forgetRemoval: async () => {},
  detach: async () => {},
};

interface NodeObject extends KubeObject {
  status?: {
    config?: NodeConfigStatus;
    conditions?: { type: string; status: string; reason: string; message: string }[];
  };
}

export class FlowRig extends TestNode {
  readonly clock: ManualClock;
  readonly client: KubeClient;
  readonly files = new SimulatedDisk();
  readonly machine: FakeMachine;
  readonly #startedDocuments: string[] = [];

  /** Type of the object that has the reference. */
  readonly type: typeof nodes;

  constructor(clock: ManualClock, client: KubeClient, type: typeof nodes) {
    super();
    this.clock = clock;
    this.client = client;
    this.type = type;
    for (const path of [dir, `${dir}/meta`, `${dir}/checkpoints`]) this.files.makeDir(path, 0o700);
    this.machine = new FakeMachine({ clock, behaviour: ({ file }) => this.#behaviour(file) });
  }

  /** Unit of the kubelet, on a host that has one. */
  unit: KubeletUnit | undefined;
  /** State files of the kubelet, on a host that has them. */
  stateFiles: StateFileHost | undefined;
  /** Fields that the host adds to every exit that was not requested: that it was one too many. Set before boot(). */
  exitsAre: Pick<Exit, 'rolledBack' | 'overdue'> | undefined;
  /** Trust file of the host. */
  trustFile: TrustSource | undefined;
  /** API server as the agent sees it; the true one unless a test puts another in between. */
  seen: KubeClient | undefined;
  /** The local files: path → text. */
  local: Record<string, string> = {};
  /** Files that a kubelet needs: without them it crashes. */
  readonly missing = new Set<string>();

  /** Duration of the validation of any config but local. */
  validationMs = 0;

  /** Aborted: programs on the host and its service manager answer. Else they do when it is. */
  #strangled = AbortSignal.abort();
  #free = new AbortController();

  /** From now on programs on the host and its service manager give no answer, until it is freed or stopped. */
  strangle(): void {
    this.#free = new AbortController();
    this.#strangled = this.#free.signal;
  }

  free(): void {
    this.#free.abort();
  }

  async #untilFree(): Promise<void> {
    const signal = this.#strangled;
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }

  /** Behaviour of a kubelet with the local config. */
  localBehaviour: Behaviour | undefined;

  #behaviour(file: string | undefined): Behaviour {
    if (file === undefined && this.localBehaviour) return this.localBehaviour;
    const config = file === undefined ? '' : this.files.read(file).toString();
    this.#startedDocuments.push(config);
    // A merged document has no comments.
    if (/^clusterDomain: crashes$/m.test(config)) return behaviours['# crashes'];
    const needed = /^# needs (.*)$/m.exec(config)?.[1];
    if (needed !== undefined && this.missing.has(needed)) return behaviours['# crashes'];
    return Object.entries<Behaviour>(behaviours).find(([line]) => config.includes(line))?.[1] ?? {};
  }

  /** As a new process on the same disk. */
  boot(options: Partial<FlowOptions> = {}): void {
    const { clock, machine } = this;
    const client = this.seen ?? this.client;
    this.start({
      options: { restartLimit: defaultRestartLimit, settleMs: 500, crashDelayMs: 1000, ...options },
      state: new NodeState(dir, this.agentLog, this.files),
      local: () => this.local,
      validator: this.#validator(),
      commandLine: { args: () => [] },
      driver: this.#driver(),
      hostFiles: {
        contentOf: (path) => (this.missing.has(path) ? 'ENOENT' : (this.local[path] ?? 'there')),
        hasEntries: async () => false,
      },
      ...(this.stateFiles && { stateFiles: this.stateFiles }),
      ...(this.trustFile && { trustFile: this.trustFile }),
      probe: async () => machine.isHealthy,
      connect: async () => ({ client, nodeName, reference: this.#reference() }),
      certificateExpired: async () => false,
      clock,
      random: seededRandom('agent'),
    });
  }

  #reference(): Reference {
    const { client, clock } = this;
    const options = { client, name: nodeName, clock, log: silentLog, version: '0.0.0' };
    return this.type === nodes ? new NodeReference(options) : new NodeConfigReference(options);
  }

  #validator(): Validator {
    const simple = simpleValidator(10248);
    return {
      ...simple,
      validate: async (candidate, how) => {
        if (how.steps !== 'no-probe-no-forecast') await this.#untilFree();
        if (candidate.checkpoint !== undefined && this.validationMs > 0) await this.clock.sleep(this.validationMs);
        return simple.validate(candidate, how);
      },
    };
  }

  #driver(): KubeletDriver {
    const driver = new FakeDriver({ machine: this.machine });
    const start = driver.start.bind(driver);
    const asHost = async (config: StartedConfig, onRunning?: () => void) => {
      const exit = await start(config, onRunning);
      return exit.requested ? exit : { ...exit, ...this.exitsAre };
    };
    const { version, isHostStopping, kubeletLog } = driver;
    const whenFree = async <T>(answer: () => Promise<T>): Promise<T> => {
      await this.#untilFree();
      return answer.call(driver);
    };
    return Object.assign(
      driver,
      this.unit && { unit: this.unit },
      { start: asHost },
      {
        version: () => whenFree(version),
        isHostStopping: () => whenFree(isHostStopping),
        kubeletLog: () => whenFree(kubeletLog),
      },
    );
  }

  override async stop(): Promise<number> {
    this.free();
    const ended = super.stop();
    await this.clock.advance(60_000);
    return ended;
  }

  /** The machine is booted again: nothing that ran is left, and relet starts. */
  async reboot(): Promise<void> {
    this.machine.isStopping = true;
    this.machine.reboot();
    await this.stop();
    this.boot();
  }

  /** Creates a ConfigMap and assigns it. */
  async assign(name: string, ...lines: string[]): Promise<void> {
    await this.createConfigMap(name, ...lines);
    await this.point(sourceNamed(name));
  }

  /** Assigns a new ConfigMap, and waits until it is active. */
  async activate(name: string, ...lines: string[]): Promise<void> {
    await this.assign(name, ...lines);
    await this.untilStatus({ assigned: name, active: name });
  }

  /** And until its trial has passed. */
  async makeLastKnownGood(name: string, ...lines: string[]): Promise<void> {
    await this.activate(name, ...lines);
    await this.passTrial();
  }

  createConfigMap(name: string, ...lines: string[]): Promise<KubeObject> {
    return this.#create(name, 'apiVersion: kubelet.config.k8s.io/v1beta1', 'kind: KubeletConfiguration', ...lines);
  }

  async assignOverlay(name: string, ...lines: string[]): Promise<void> {
    await this.#create(name, 'apiVersion: relet.dev/v1alpha1', 'kind: KubeletConfigurationOverlay', ...lines);
    await this.point(sourceNamed(name));
  }

  #create(name: string, ...lines: string[]): Promise<KubeObject> {
    return this.createPayload(name, lines.map((line) => `${line}\n`).join(''));
  }

  createPayload(name: string, kubelet: string): Promise<KubeObject> {
    const data = { kubelet };
    // Only a NodeConfig requires the label.
    const metadata = { name, namespace, labels: { [configLabel]: 'true' } };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
    return this.client.create(configMaps, { namespace }, object);
  }

  /** A new version of the ConfigMap with the same data. */
  async annotate(name: string): Promise<void> {
    const patch = { metadata: { annotations: { note: `${this.clock.now()}` } } };
    await this.client.patch(configMaps, { name, namespace }, patch, { as: 'merge' });
  }

  /** The document of each start, as the kubelet read it. */
  get startedDocuments(): string[] {
    return this.#startedDocuments;
  }

  /** Null resets the Node to its local config. */
  async point(configSource: object | null, annotations: Record<string, string | null> = {}): Promise<void> {
    const patch = { metadata: { annotations }, spec: { configSource } };
    await this.client.patch(this.type, { name: nodeName }, patch, { as: 'merge' });
  }

  /** Returns the status in the API, by names of ConfigMaps. */
  async status() {
    const { status } = await this.client.get<NodeObject>(this.type, { name: nodeName });
    const { assigned, active, lastKnownGood, error } = status?.config ?? {};
    const names = { assigned, active, lastKnownGood };
    return {
      ...Object.fromEntries(Object.entries(names).map(([name, source]) => [name, source?.configMap?.name])),
      error,
    } as Record<'assigned' | 'active' | 'lastKnownGood' | 'error', string | undefined>;
  }

  async condition(name = 'ConfigOK') {
    const { status } = await this.client.get<NodeObject>(this.type, { name: nodeName });
    return status?.conditions?.find(({ type }) => type === name);
  }

  async events(): Promise<{ reason: string; message: string }[]> {
    const list = await this.client.list<KubeObject & { reason: string; message: string }>(events, {
      namespace: 'default',
    });
    return list.items;
  }

  /** The ConfigMap of each start; local without one. */
  get starts(): string[] {
    return this.machine.started.map(({ source }) => source?.name ?? 'local');
  }

  /** Moves the clock in small steps until this is so. */
  async until(what: string, satisfied: () => boolean | Promise<boolean>, stepMs = 100): Promise<void> {
    for (let step = 0; step < 2000; step++) {
      if (await satisfied()) return;
      await this.clock.advance(stepMs);
    }
    throw new Error(`never: ${what}\n${JSON.stringify(await this.status())}\n${this.log()}`);
  }

  /** The status as the API server shows it has these values. */
  async untilStatus(expected: Partial<Awaited<ReturnType<FlowRig['status']>>>): Promise<void> {
    await this.until(JSON.stringify(expected), async () => {
      const status = await this.status();
      return Object.entries(expected).every(([name, value]) => status[name as keyof typeof status] === value);
    });
  }

  async passTrial(): Promise<void> {
    await this.clock.advance(defaultTrialLimits.durationMs + 30_000);
  }
}

export const sourceNamed = (name: string) => ({ configMap: { name, namespace, kubeletConfigKey: 'kubelet' } });

/** `through`: the object that has the reference. A NodeConfig is unset at first. */
export async function createFlowRig(through: 'Node' | 'NodeConfig' = 'Node'): Promise<FlowRig> {
  const { clock, plane, transport, clientOver } = await startInMemoryServer('cluster');
  const client = clientOver(transport);
  await client.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } });
  if (through === 'NodeConfig') {
    await define(client, 'nodeconfigs');
    const object = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig', metadata: { name: nodeName }, spec: {} };
    await client.create(nodeConfigs, {}, object);
  }
  const rig = new FlowRig(clock, client, through === 'Node' ? nodes : nodeConfigs);
  onTestFinished(async () => {
    await rig.stop();
    client.close();
    await plane.close();
  });
  return rig;
}

export async function bootFlowRig(through?: 'Node' | 'NodeConfig'): Promise<FlowRig> {
  const rig = await createFlowRig(through);
  rig.boot();
  return rig;
}
