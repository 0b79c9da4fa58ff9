/**
 * The systemd driver: the kubelet stays the main process of its own unit, and relet runs beside it. A start makes the unit run a
 * config, or adopts the kubelet that runs it; ending the agent changes nothing on the host. next-step.ts decides, host.ts acts.
 */
import type { Files } from '../../../atomic-file.js';
import type { Clock } from '../../../clock.js';
import type { Log } from '../../../log.js';
import { bootId } from '../../../proc.js';
import type { NodeState } from '../../state/node-state.js';
import type { TrialLimits } from '../../trial/trial.js';
import type { RunCommand } from '../command.js';
import type { DriverName, Exit, KubeletDriver, Port, PortOwner, StartedConfig } from '../driver.js';
import { type KubeletLog, summarizeLog } from '../kubelet-error.js';
import { askVersion, kubeletRecord } from '../kubelet-version.js';
import type { AgentLock } from './agent-lock.js';
import { AttachedUnit } from './attached-unit.js';
import { exitOf, lastExit } from './exits.js';
import { UnitHost } from './host.js';
import { type HostOptions, hostLayout, kubeletLogFile } from './host-layout.js';
import { hasExited, nextStep, type Step } from './next-step.js';
import { OwnFiles } from './own-files.js';
import { portOwnersOnHost } from './port-owners.js';
import type { Systemd, UnitState } from './systemd.js';
import { wrapperIn } from './unit-text.js';

export interface SystemdDriverOptions extends HostOptions {
  systemd: Systemd;
  /** Lock of this host, taken by the caller; close() releases it. */
  lock: AgentLock;
  /** The kubelet's executable and what leads to it. */
  command: string[];
  /** Runs programs on the host: hostCommand() in a pod. */
  run: RunCommand;
  /** In front of paths of the host. Default none: a pod has the host's directories at their own paths. */
  root?: string;
  /** Fingerprint of the kubelet's executable, at once. Default: it is read on the host, before each start. */
  fingerprint?(program: string): string;
  trial: TrialLimits;
  state: NodeState;
  files?: Files;
  clock: Clock;
  log: Log;
}

interface Run {
  config: string;
  onRunning?: (() => void) | undefined;
  /** The kubelet's invocation, once it runs with the config. */
  started?: { invocation: string; pid: number };
  /** stop or shutdown was called. */
  stopped: AbortController;
}

/** Signals may be lost with a connection; then this is how late an exit is noticed. */
const lookEveryMs = 30_000;
const commandTimeoutMs = 10_000;

/** Rejects when the unit is not there, or something else than the kubelet is its main process. Changes nothing on the host. */
export async function createSystemdDriver(options: SystemdDriverOptions): Promise<SystemdDriver> {
  const { systemd, root = '', unit } = options;
  const own = new OwnFiles(hostLayout(options), root, options.files);
  const { startedUs, startedAtUs } = await systemd.manager();
  const host = new UnitHost({ ...options, own, systemdStartedUs: startedUs });
  const { base } = await host.view();
  const wrapper = base && wrapperIn(base);
  if (wrapper !== undefined)
    throw new Error(
      `${unit}: ExecStart= starts ${wrapper}, not the kubelet (${base!.text}): relet agent needs the kubelet itself in the unit`,
    );
  // A container keeps its boot id when it is booted again.
  return new SystemdDriver(options, { own, host, bootId: `${bootId()} ${startedAtUs}` });
}

/** As createSystemdDriver, and looks at what happened while no agent was there. */
export async function openSystemdDriver(options: SystemdDriverOptions): Promise<SystemdDriver> {
  const driver = await createSystemdDriver(options);
  await driver.unit.look();
  return driver;
}

interface DriverParts {
  own: OwnFiles;
  host: UnitHost;
  bootId: string;
}

export class SystemdDriver implements KubeletDriver {
  readonly name: DriverName;
  readonly unit: AttachedUnit;
  readonly #options: SystemdDriverOptions;
  readonly #parts: DriverParts;
  readonly #unwatch: () => void;
  #run: Run | undefined;
  /** The exit that was reported. It is deleted with the next start, when the agent has recorded it. */
  #reported: string | undefined;
  /** Invocation of the kubelet that was started last. */
  #lastInvocation: string | undefined;
  #fingerprint = '';
  /** Fires when the host may have changed, and is then replaced. */
  #change = new AbortController();

  constructor(options: SystemdDriverOptions, parts: DriverParts) {
    this.#options = options;
    this.#parts = parts;
    this.name = nameOf(options);
    this.unit = new AttachedUnit({ ...options, ...parts });
    this.#unwatch = options.systemd.watch(options.unit, () => this.#changed());
  }

  bootId(): string {
    return this.#parts.bootId;
  }

  async isHostStopping(): Promise<boolean> {
    const { systemState } = await this.#options.systemd.manager().catch(() => ({ systemState: '' }));
    return systemState === 'stopping';
  }

  async version(): Promise<string> {
    const { run, state, fingerprint, command } = this.#options;
    if (fingerprint === undefined) {
      const stat = ['/usr/bin/stat', '-L', '-c', '%d:%i:%s:%Y:%Z', command[0]!];
      const { code, stdout } = await run(stat, commandTimeoutMs);
      this.#fingerprint = code === 0 ? stdout.trim() : '';
    }
    return askVersion({ command, fingerprint: this.fingerprint(), run, record: state.record(kubeletRecord) });
  }

  fingerprint(): string {
    return this.#options.fingerprint?.(this.#options.command[0]!) ?? this.#fingerprint;
  }

  /** The first start adopts a running kubelet. */
  async recover(): Promise<void> {}

  start(config: StartedConfig, onRunning?: () => void): Promise<Exit> {
    if (this.#run !== undefined) throw new Error('start the kubelet: one is running');
    this.#options.lock.check();
    const run: Run = { config: '', onRunning, stopped: new AbortController() };
    this.#run = run;
    return this.#untilExit(run, config).finally(() => (this.#run = undefined));
  }

  async stop(): Promise<void> {
    this.#run?.stopped.abort();
  }

  shutdown(): Promise<void> {
    return this.stop();
  }

  /** Called when the agent ends. Changes nothing on the host. */
  async close(): Promise<void> {
    await this.stop();
    this.#unwatch();
    await this.#options.lock.release();
  }

  /** First step of a start with this config. */
  async plan(config: StartedConfig): Promise<Step> {
    const { own, host } = this.#parts;
    return nextStep(await host.view(), own.digestOf(config));
  }

  async portOwners(ports: readonly Port[]): Promise<PortOwner[] | undefined> {
    const pid = this.#run?.started?.pid;
    if (pid === undefined || this.#run?.stopped.signal.aborted) return undefined;
    return portOwnersOnHost(ports, pid, this.#options.run);
  }

  async kubeletLog(): Promise<KubeletLog | undefined> {
    const invocation = this.#lastInvocation;
    if (invocation === undefined) return undefined;
    const kept = this.#parts.own.logOf(invocation);
    if (kept !== undefined) return summarizeLog(kept.split('\n'));
    const logFile = this.#options.embedding && kubeletLogFile(this.#options.embedding);
    if (logFile !== undefined) return this.#summaryOf(['/usr/bin/tail', '-n', '3000', logFile]);
    // Only lines that the kubelet wrote itself: systemd logs about the same start too.
    const matches = [`_SYSTEMD_INVOCATION_ID=${invocation}`, '_TRANSPORT=stdout'];
    return this.#summaryOf(['/usr/bin/journalctl', '-q', '--no-pager', '--all', '-o', 'cat', '-n', '3000', ...matches]);
  }

  async #summaryOf(command: string[]): Promise<KubeletLog | undefined> {
    const { code, stdout } = await this.#options
      .run(command, commandTimeoutMs)
      .catch(() => ({ code: null, stdout: '' }));
    return code === 0 ? summarizeLog(stdout.split('\n')) : undefined;
  }

  // ── one run of the kubelet with one config ──

  async #untilExit(run: Run, config: StartedConfig): Promise<Exit> {
    try {
      run.config = this.unit.store(config);
      const missed = await this.#apply(run);
      if (missed !== undefined) return missed;
      if (run.started !== undefined) run.onRunning?.();
      return run.started === undefined ? requested : await this.#watch(run, run.started.invocation);
    } catch (error) {
      this.#options.log.error('cannot change kubelet unit', { config: run.config, error });
      return { code: null, signal: null, error: error as Error, requested: run.stopped.signal.aborted };
    } finally {
      this.unit.setObstacle(undefined);
    }
  }

  /** Returns when the unit runs the config, with `run.started`; or with an unreported exit; or when it is stopped. */
  async #apply(run: Run): Promise<Exit | undefined> {
    while (!run.stopped.signal.aborted) {
      const change = this.#change.signal;
      const missed = await this.unit.exclusive(() => this.#step(run));
      if (missed !== undefined || run.started !== undefined) return missed;
      await this.#untilChange(change, run);
    }
    return undefined;
  }

  async #step(run: Run): Promise<Exit | undefined> {
    const { host } = this.#parts;
    if (this.unit.takeHandedOver()) await host.rollBack();
    const view = await host.view();
    // Read after the view: the exits of a trial that is no longer in the view have been written before.
    const missed = this.#takeMissed(run.config);
    if (missed !== undefined || run.stopped.signal.aborted) return missed;
    const step = nextStep(view, run.config);
    this.unit.setObstacle(step.kind === 'wait' ? step.notice : undefined);
    if (step.kind === 'adopt') {
      run.started = { invocation: step.invocation, pid: view.unit.mainPid };
      this.#lastInvocation = step.invocation;
      this.#options.log.info('kubelet runs', { config: run.config, pid: view.unit.mainPid });
    } else if (step.kind === 'switch') {
      await this.unit.installTrial(view, run.config, { isNow: true });
      await host.restart();
    } else if (step.kind === 'restart') await host.restart();
    else if (step.kind === 'roll back') await host.rollBack();
    else this.unit.see(view);
    return undefined;
  }

  async #watch(run: Run, invocation: string): Promise<Exit> {
    const { systemd, unit: name, log } = this.#options;
    for (;;) {
      const change = this.#change.signal;
      const unit = await systemd.unit(name).catch((error) => void log.warn('cannot read kubelet unit', { error }));
      if (run.stopped.signal.aborted) return requested;
      if (unit && hasExited(unit, invocation)) return this.#reportExit(invocation) ?? this.#unrecorded(run, unit);
      await this.#untilChange(change, run);
    }
  }

  #unrecorded({ config, started }: Run, unit: UnitState): Exit {
    // k3s and RKE2 end for other reasons than their kubelet too: only what the script counted is an exit of that.
    const isKnown = this.#options.embedding === undefined;
    const last = isKnown ? lastExit(unit, started!.invocation) : { code: 0, signal: null, requested: false };
    const isOverdue = this.#parts.own.mark('rolled-back') === `${config} deadline`;
    return { ...last, ...(isOverdue && { overdue: true }) };
  }

  /** An exit of this config that no start has returned yet. */
  #takeMissed(config: string): Exit | undefined {
    const { own } = this.#parts;
    // The agent has recorded it.
    if (this.#reported !== undefined) own.removeExit(this.#reported);
    const missed = own.exits().find((exit) => exit.config === config);
    return missed && this.#reportExit(missed.invocation);
  }

  #reportExit(invocation: string): Exit | undefined {
    const record = this.#parts.own.exits().find((exit) => exit.invocation === invocation);
    if (record === undefined) return undefined;
    this.#reported = invocation;
    this.#lastInvocation = invocation;
    return exitOf(record);
  }

  async #untilChange(change: AbortSignal, run: Run): Promise<void> {
    const signal = AbortSignal.any([change, run.stopped.signal]);
    if (!signal.aborted) await this.#options.clock.sleep(lookEveryMs, signal).catch(() => {});
  }

  #changed(): void {
    const change = this.#change;
    this.#change = new AbortController();
    change.abort();
    this.unit.lookSoon();
  }
}

function nameOf({ unit, embedding }: HostOptions): DriverName {
  if (embedding === undefined) return 'systemd';
  return `${embedding.program}-${unit.includes('-agent') ? 'agent' : 'server'}`;
}

const requested: Exit = { code: 0, signal: null, requested: true };
