/** A node with real files, a child process in front of the agent, and a clock that flows and can be moved ahead. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AgentOptions, FlowOptions } from '../../src/agent/create-agent.js';
import { commandRunner, type RunCommand } from '../../src/agent/drivers/command.js';
import type { KubeletDriver } from '../../src/agent/drivers/driver.js';
import { ProcessDriver } from '../../src/agent/drivers/process.js';
import { systemHostFiles } from '../../src/agent/host-files.js';
import { configOk, statusConfig } from '../../src/agent/report/report.js';
import { openDirectory } from '../../src/agent/state/directory.js';
import type { Connected } from '../../src/agent/sync/api-side.js';
import { type ConnectOptions, NodeConnection } from '../../src/agent/sync/connect.js';
import { followedRecord } from '../../src/agent/sync/reference.js';
import { probeHealthz } from '../../src/agent/trial/health.js';
import { defaultTrialLimits, trialRecord } from '../../src/agent/trial/trial.js';
import type { Validator } from '../../src/agent/validate/validate.js';
import type { ExactRef } from '../../src/api/config-ref.js';
import { systemFileReader } from '../../src/kube/kubeconfig.js';
import { silentLog } from '../../src/log.js';
import { systemProcesses } from '../../src/proc.js';
import { systemRandom } from '../../src/random.js';
import { eventually } from '../eventually.js';
import { FlowingClock } from '../flowing-clock.js';
import { freePort } from '../free-port.js';
import { temporaryDir } from '../temporary-dir.js';
import { simpleValidator, sourceOf, TestNode } from './node.js';

export interface RigOptions {
  dir?: string;
  options?: Partial<FlowOptions>;
  /** Replaces methods of the driver. */
  driver?(driver: KubeletDriver): Partial<KubeletDriver>;
  /** How short commands such as `kubelet --version` are run. */
  run?(run: RunCommand): RunCommand;
  validator?: Validator;
  initConfig?: boolean;
  connect?: AgentOptions['connect'];
  kubeletVersion?: string;
  clock?: FlowingClock;
  stopGraceMs?: number;
  staticPodPath?: string;
  /** Default: one that is free. */
  healthzPort?: number;
  /** As with `healthzPort: 0`: there is nobody to ask but the API. */
  noHealthz?: boolean;
  certificateExpired?: AgentOptions['certificateExpired'];
}

export interface Start {
  pid: number;
  args: string[];
  configFile?: string;
  config: string;
}

/** More than the agent waits for a permission that may not be in effect yet. */
const permissionPatienceMs = 6000;

/** How often the checks of health are counted without a new one before the clock moves on all the same. */
const jumpAfter = 200;

export class Rig extends TestNode {
  readonly dir: string;
  readonly clock: FlowingClock;
  /** How many lines the log had when the agent was booted last. */
  #bootedAt = 0;
  /** Checks of health that got their answers. */
  #checks = 0;
  readonly healthzPort: number;
  readonly #options: RigOptions;
  readonly #startsFile: string;
  localFile: string | undefined;

  constructor(options: RigOptions, dir: string, healthzPort: number) {
    super();
    this.#options = options;
    this.dir = dir;
    this.healthzPort = healthzPort;
    this.clock = options.clock ?? new FlowingClock();
    this.#startsFile = join(dir, '..', 'starts');
  }

  /** Boots the agent; like a new process on the same disk. */
  boot(change: Partial<RigOptions> = {}): void {
    const options = { ...this.#options, ...change };
    this.#bootedAt = this.logLines.length;
    const { clock, agentLog: log } = this;
    const { state, lock } = openDirectory({ dir: this.dir, host: systemProcesses, log });
    const fake = join(import.meta.dirname, '../fake-kubelet.mjs');
    const args = (file = this.localFile) => [
      ...(file === undefined ? [] : [`--config=${file}`]),
      `--healthz-port=${this.healthzPort}`,
    ];
    const env = { ...process.env, FAKE_KUBELET_LOG: this.#startsFile, FAKE_KUBELET_VERSION: options.kubeletVersion };
    const run = commandRunner(env);
    const driver = new ProcessDriver({
      command: [fake],
      args,
      env,
      run: options.run?.(run) ?? run,
      state,
      clock,
      random: systemRandom,
      log,
      stopGraceMs: options.stopGraceMs ?? 5000,
    });
    const bootId = driver.bootId.bind(driver);
    // Every check of health ends with this question.
    const counting = {
      bootId: () => {
        this.#checks++;
        return bootId();
      },
    };
    this.start({
      options: {
        // Tests change configs faster than people do.
        restartLimit: { burst: 1, intervalMs: 0 },
        settleMs: 20,
        crashDelayMs: 20,
        ...options.options,
      },
      state,
      validator:
        options.validator ?? simpleValidator(options.noHealthz ? undefined : this.healthzPort, options.staticPodPath),
      commandLine: { args },
      driver: Object.assign(driver, counting, options.driver?.(driver)),
      hostFiles: systemHostFiles,
      probe: probeHealthz,
      connect: options.connect ?? noApi,
      certificateExpired: options.certificateExpired ?? (async () => false),
      clock,
      random: systemRandom,
      initConfig: options.initConfig ?? false,
      onEnd: () => lock.release(),
    });
  }

  /** From now on the local config is one with these orders. */
  breakLocal(...orders: string[]): void {
    this.localFile = join(this.dir, '..', 'local');
    writeFileSync(this.localFile, this.config(...orders));
  }

  starts(): Start[] {
    if (!existsSync(this.#startsFile)) return [];
    // A line without its end is still being written.
    const lines = readFileSync(this.#startsFile, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line)).filter((line) => line.args !== undefined);
  }

  status() {
    const { report } = this.reporter;
    return report && { ...statusConfig(report), condition: configOk(report) };
  }

  /** Resolves when the node's report satisfies this; asked again whenever the report changes. */
  until(what: string, satisfied: (rig: this) => boolean): Promise<boolean> {
    return eventually(what, () => satisfied(this), {
      seen: () => `${JSON.stringify(this.status())}\n${this.log()}`,
      changes: (changed) => this.reporter.listen(changed),
    });
  }

  /** Resolves when the kubelet that runs is healthy: from then on time counts in its trial. Active it is a moment earlier. */
  untilHealthy(): Promise<boolean> {
    const last = (text: string) => this.logLines.slice(this.#bootedAt).findLastIndex((line) => line.includes(text));
    return this.until('healthy', () => last('kubelet is healthy') > last('kubelet started'));
  }

  /** Moves the clock ahead, by half a minute after every check of health, until this is so. */
  async advanceUntil(what: string, satisfied: () => boolean, stepMs = 30_000): Promise<void> {
    let before: number | undefined;
    let asked = 0;
    await this.until(what, () => {
      if (satisfied()) return true;
      // Requests under way end with the jump: one jump after the other would let none be answered.
      if (this.#checks === before && ++asked < jumpAfter) return false;
      before = this.#checks;
      asked = 0;
      this.clock.advance(stepMs);
      return false;
    });
  }

  /** Does what makes the server deny a permission, and lets the time pass until that is an error. */
  async denied(act: () => Promise<unknown>, logged = 'waiting for permission'): Promise<void> {
    const before = this.logLines.length;
    await act();
    await this.until(logged, () => this.logLines.slice(before).some((line) => line.includes(logged)));
    this.clock.advance(permissionPatienceMs);
  }

  /** Lets the whole trial of the assigned config pass. */
  async passTrial(): Promise<void> {
    await this.until('active', () => canonical(this.status()?.active) === canonical(this.status()?.assigned));
    await this.untilHealthy();
    const { durationMs } = this.#options.options?.trial ?? defaultTrialLimits;
    // A check that is under way counts from where the clock was before it, so one jump may not be enough.
    await this.advanceUntil('trial over', () => this.state.read(trialRecord) === undefined, durationMs);
  }

  /** Puts a checkpoint on disk and has a record name it, as an earlier relet would have. */
  remember(record: 'assigned' | 'last-known-good', resourceVersion: string, config: string): ExactRef {
    const { state, lock } = openDirectory({
      dir: this.dir,
      host: systemProcesses,
      log: silentLog,
    });
    const source = sourceOf(resourceVersion);
    state.checkpoints.save(source, {
      files: new Map([['kubelet', Buffer.from(config)]]),
      annotations: {},
      binaryKeys: [],
    });
    if (record === 'assigned') state.assign(source);
    else state.setLastKnownGood(source);
    lock.release();
    return source;
  }

  /** A config the fake kubelet runs well with; orders for it may follow. */
  config(...orders: string[]): string {
    const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
    return `${header}healthzPort: ${this.healthzPort}\n${orders.map((order) => `${order}\n`).join('')}`;
  }
}

export async function createRig(options: RigOptions = {}): Promise<Rig> {
  const root = temporaryDir();
  const rig = new Rig(options, options.dir ?? join(root, 'dynamic-config'), options.healthzPort ?? (await freePort()));
  onTestFinished(async () => {
    await rig.stop().catch(() => {});
  });
  return rig;
}

/** An API that is never there: the kubeconfig is waited for as long as the agent runs. */
export const noApi = (signal: AbortSignal): Promise<Connected> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

const canonical = (source: object | undefined) => JSON.stringify(source ?? null);

export function corrupt(path: string): void {
  writeFileSync(path, '{"torn": ');
}

/** Connects the agent of a rig as relet does, with the kubeconfig of its node. */
export const connectionOf = (
  rig: Rig,
  options: Pick<ConnectOptions, 'kubeconfig' | 'hostname' | 'hostnameOverride' | 'askAgainMs'>,
): NodeConnection =>
  new NodeConnection({
    ...options,
    userAgent: 'relet-test',
    version: '0.0.0-test',
    followed: () => rig.state.record(followedRecord),
    env: {},
    files: systemFileReader,
    random: systemRandom,
    clock: rig.clock,
    log: rig.agentLog,
  });
