/**
 * The fake driver: a machine and its kubelet in memory, on an injected clock. The whole flow of the agent runs on it in tests
 * and simulations. Behaviours are scripted by config.
 */
import type { Clock } from '../../clock.js';
import type { Exit, ExitStatus, KubeletDriver, Port, PortOwner, StartedConfig } from './driver.js';
import { type KubeletLog, summarizeLog } from './kubelet-error.js';

/** How a kubelet behaves with one config. Without any of these it is healthy at once and runs until it is stopped. */
export interface Behaviour {
  /** From its start to its first healthy answer. Default 0; Infinity for never. */
  healthyAfterMs?: number;
  /** Makes the kubelet exit by itself. */
  exits?: { afterMs: number; code?: number; signal?: NodeJS.Signals };
  /** It does not react to a stop and is killed after the grace period. */
  ignoresStop?: true;
  /** Lines that it logs. */
  log?: string[];
  /** Another process has its ports. */
  portsTakenBy?: string;
}

const missing = new Error('spawn kubelet ENOENT');

interface RunningKubelet {
  config: StartedConfig;
  behaviour: Behaviour;
  startedMs: number;
  exited: Promise<Exit>;
  exit(status: ExitStatus): void;
  requested: boolean;
}

export interface FakeMachineOptions {
  clock: Clock;
  /** Called at each start, with the number of starts before it. */
  behaviour?(config: StartedConfig, starts: number): Behaviour;
  version?: string;
}

/** The machine outlives the agent: the kubelet, the binary, the boot. Drivers come and go. */
export class FakeMachine {
  readonly clock: Clock;
  behaviour: (config: StartedConfig, starts: number) => Behaviour;
  version: string;
  /** Configs of every start. */
  readonly started: StartedConfig[] = [];
  isStopping = false;
  #boots = 1;
  /** Undefined when there is none. */
  #binary: number | undefined = 1;
  #binaries = 1;
  #kubelet: RunningKubelet | undefined;
  /** Log of the last kubelet that was started. */
  log: string[] | undefined;

  constructor({ clock, behaviour = () => ({}), version = 'v1.32.1' }: FakeMachineOptions) {
    this.clock = clock;
    this.behaviour = behaviour;
    this.version = version;
  }

  get bootId(): string {
    return `boot-${this.#boots}`;
  }

  get fingerprint(): string {
    return this.#binary === undefined ? '' : `binary-${this.#binary}`;
  }

  get running(): RunningKubelet | undefined {
    return this.#kubelet;
  }

  /** Present answer of /healthz. */
  get isHealthy(): boolean {
    const { behaviour, startedMs } = this.#kubelet ?? {};
    if (behaviour === undefined || startedMs === undefined) return false;
    return this.clock.monotonic() - startedMs >= (behaviour.healthyAfterMs ?? 0);
  }

  start(config: StartedConfig): Promise<Exit> {
    const behaviour = this.behaviour(config, this.started.length);
    this.started.push(config);
    this.log = behaviour.log;
    const ended = new AbortController();
    let resolve: (exit: Exit) => void = () => {};
    const kubelet: RunningKubelet = {
      config,
      behaviour,
      startedMs: this.clock.monotonic(),
      exited: new Promise((settle) => (resolve = settle)),
      requested: false,
      exit: (status) => {
        if (this.#kubelet === kubelet) this.#kubelet = undefined;
        ended.abort();
        resolve({ ...status, requested: kubelet.requested });
      },
    };
    this.#kubelet = kubelet;
    const { exits } = behaviour;
    if (this.#binary === undefined) kubelet.exit({ code: null, signal: null, error: missing });
    else if (exits) {
      const { afterMs, signal = null, code = signal === null ? 1 : null } = exits;
      const due = afterMs === 0 ? Promise.resolve() : this.clock.sleep(afterMs, ended.signal);
      due.then(
        () => kubelet.exit({ code, signal }),
        () => {},
      );
    }
    return kubelet.exited;
  }

  /** A signal from outside ends the kubelet. */
  kill(signal: NodeJS.Signals): void {
    this.#kubelet?.exit({ code: null, signal });
  }

  /** Everything that ran is gone; the binary and the disk stay. */
  reboot(): void {
    this.kill('SIGKILL');
    this.#boots++;
    this.isStopping = false;
  }

  replaceBinary(version: string): void {
    this.#binary = ++this.#binaries;
    this.version = version;
  }

  removeBinary(): void {
    this.#binary = undefined;
  }
}

export interface FakeDriverOptions {
  machine: FakeMachine;
  /** From a stop to the kill of a kubelet that ignores it. Default 30 s. */
  stopGraceMs?: number;
  /** As for the process driver. */
  mayStart?(): void;
  /** As for a systemd unit: a kubelet that is already running is adopted, or restarted for another config. Default: it is stopped. */
  adopts?: boolean;
}

export class FakeDriver implements KubeletDriver {
  readonly name = 'fake';
  readonly #machine: FakeMachine;
  readonly #stopGraceMs: number;
  readonly #mayStart: () => void;
  readonly #adopts: boolean;
  /** By an earlier agent, until the first start. */
  #left: RunningKubelet | undefined;

  constructor({ machine, stopGraceMs = 30_000, mayStart = () => {}, adopts = false }: FakeDriverOptions) {
    this.#machine = machine;
    this.#stopGraceMs = stopGraceMs;
    this.#mayStart = mayStart;
    this.#adopts = adopts;
  }

  bootId(): string {
    return this.#machine.bootId;
  }

  async isHostStopping(): Promise<boolean> {
    return this.#machine.isStopping;
  }

  async version(): Promise<string> {
    if (this.#machine.fingerprint === '') throw missing;
    return this.#machine.version;
  }

  fingerprint(): string {
    return this.#machine.fingerprint;
  }

  async recover(): Promise<void> {
    if (this.#adopts) this.#left = this.#machine.running;
    else await this.stop();
  }

  start(config: StartedConfig, onRunning?: () => void): Promise<Exit> {
    const [{ running }, left] = [this.#machine, this.#left];
    this.#left = undefined;
    if (running !== undefined && running !== left) throw new Error('start the kubelet: one is running');
    const isAdopted = running !== undefined && running.config.file === config.file;
    if (!isAdopted) {
      running?.exit({ code: 0, signal: null });
      this.#mayStart();
    }
    const exited = isAdopted ? running.exited : this.#machine.start(config);
    onRunning?.();
    return exited;
  }

  shutdown(): Promise<void> {
    return this.stop();
  }

  async stop(): Promise<void> {
    const kubelet = this.#machine.running;
    if (kubelet === undefined) return;
    if (!kubelet.requested) {
      kubelet.requested = true;
      if (!kubelet.behaviour.ignoresStop) kubelet.exit({ code: 0, signal: null });
      else this.#killOverdue(kubelet);
    }
    await kubelet.exited;
  }

  #killOverdue(kubelet: RunningKubelet): void {
    this.#machine.clock.sleep(this.#stopGraceMs).then(
      () => kubelet.exit({ code: null, signal: 'SIGKILL' }),
      () => {},
    );
  }

  async kubeletLog(): Promise<KubeletLog | undefined> {
    return summarizeLog(this.#machine.log ?? []);
  }

  async portOwners(ports: readonly Port[]): Promise<PortOwner[] | undefined> {
    const kubelet = this.#machine.running;
    if (kubelet === undefined) return undefined;
    const { portsTakenBy } = kubelet.behaviour;
    const owner: PortOwner =
      portsTakenBy !== undefined ? { other: portsTakenBy } : this.#machine.isHealthy ? 'kubelet' : 'nobody';
    return ports.map(() => owner);
  }
}
