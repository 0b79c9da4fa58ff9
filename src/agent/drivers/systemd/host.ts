/**
 * The host as the driver changes it, one whole operation a method. A switch and a promotion are one daemon-reload each: on some
 * hosts a reload takes devices away from running containers. Every order of writes is such that a crash in between leaves a unit
 * that starts, and a trial that ends.
 */
import type { Clock } from '../../../clock.js';
import type { Log } from '../../../log.js';
import { quietly } from '../../../proc.js';
import type { RunCommand } from '../command.js';
import type { StartedConfig } from '../driver.js';
import { digestIn, type HostLayout, unitNames } from './host-layout.js';
import { deadlineTimer } from './host-scripts.js';
import { type HostView, keptConfig, nextConfig } from './next-step.js';
import type { OwnFiles } from './own-files.js';
import { isNoSuchUnit, type Systemd, type UnitState } from './systemd.js';
import {
  type BaseCommand,
  baseCommand,
  type DropInKind,
  isOwn,
  local,
  overridingDropIn,
  renderDropIn,
  type UnitFile,
  wrapperIn,
} from './unit-text.js';

export interface UnitHostOptions {
  systemd: Systemd;
  own: OwnFiles;
  /** Runs programs on the host. */
  run: RunCommand;
  /** When systemd started, CLOCK_MONOTONIC. */
  systemdStartedUs: number;
  trial: { failedStarts: number; healthDeadlineMs: number };
  clock: Clock;
  log: Log;
}

/** The agent decides first; the deadline on the host is for the case that there is none. */
const hostPatience = 1.5;
/** A run of this length shows that the config starts. */
const longRunSeconds = 60;
const commandTimeoutMs = 10_000;

export class UnitHost {
  readonly #options: UnitHostOptions;
  readonly #layout: HostLayout;
  /** Command of the main process: it does not change while that lives. */
  #running: { process: string; words: string[] } | undefined;
  /** The host's command line has --config-dir, as far as has been seen. */
  hasConfigDir = false;

  constructor(options: UnitHostOptions) {
    this.#options = options;
    this.#layout = options.own.layout;
  }

  /** Throws when the unit is not that of a kubelet. */
  async view(): Promise<HostView> {
    const { systemd, own } = this.#options;
    const { unit: name } = this.#layout;
    const unit = await systemd.unit(name);
    if (unit.loadState === 'not-found') throw new Error(`${name} is not a unit of this host`);
    const running = await this.#runningConfig(unit);
    const present = own.dropIns();
    const files = unit.loadState === 'masked' ? [] : await this.#unitFiles(unit);
    const base = files.length === 0 ? undefined : baseCommand(files);
    return { unit, own: present, base, running, obstacle: base && obstacleIn(base, files) };
  }

  async #unitFiles({ fragmentPath, dropInPaths }: UnitState): Promise<UnitFile[]> {
    const paths = [fragmentPath, ...dropInPaths].filter((path) => path !== '' && !isOwn(path));
    return Promise.all(paths.map(async (path) => ({ path, text: await this.#readUnitFile(path) })));
  }

  /** A pod sees only some directories of the host, and files that are not behind a symbolic link. */
  async #readUnitFile(path: string): Promise<string> {
    const { own, run } = this.#options;
    const text = quietly(() => own.unitFile(path));
    if (text !== undefined) return text;
    const { code, stdout, stderr } = await run(['/bin/cat', '--', path], commandTimeoutMs);
    if (code !== 0) throw new Error(`read ${path} on the host: ${stderr.trim()}`);
    return stdout;
  }

  async #runningConfig({ mainPid, invocationId }: UnitState): Promise<string | undefined> {
    if (mainPid === 0) return undefined;
    const process = `${mainPid} ${invocationId}`;
    if (this.#running?.process !== process) {
      const { code, stdout } = await this.#options.run(['/bin/cat', `/proc/${mainPid}/cmdline`], commandTimeoutMs);
      const words = stdout.split('\0').slice(0, -1);
      // It has just exited, or is still systemd's own before it becomes the kubelet.
      if (code !== 0 || words.length === 0) return undefined;
      this.#running = { process, words };
    }
    const { words } = this.#running;
    this.hasConfigDir = words.some((word) => word === '--config-dir' || word.startsWith('--config-dir='));
    return configIn(this.#layout, words);
  }

  /** From now on the next start is a trial of it. `isNow` where it follows at once: then the deadline counts from now. */
  async installTrial(view: HostView, config: string, { isNow }: { isNow: boolean }): Promise<void> {
    const { systemd, own, log } = this.#options;
    const fresh = view.unit.needDaemonReload ? await this.#reloaded() : view;
    const base = fresh.base ?? fail('the unit is masked');
    await this.#stopTimer();
    own.writeScript();
    own.writeTool();
    own.writeUnit('rollback');
    own.setMark('before', fresh.unit.invocationId || undefined);
    // The limits that were noted stay: they are those of the kept config, also where one trial follows another.
    for (const mark of ['confirmed', 'rolled-back', 'why', 'count', 'limits-after'] as const)
      own.setMark(mark, undefined);
    for (const exit of own.exits()) if (exit.config === config) own.removeExit(exit.invocation);
    if (isNow) own.writeTimer(deadlineTimer(this.#deadlineMs()));
    own.writeDropIn('trial', this.#render('trial', base, config, { arms: !isNow }));
    try {
      await systemd.reload();
      await this.#verify('trial', config);
      const armed = isNow ? await systemd.start(unitNames.deadline) : 'done';
      if (armed !== 'done') throw new Error(`start ${unitNames.deadline}: ${armed}`);
    } catch (error) {
      await this.#withdraw();
      throw error;
    }
    log.info('trial drop-in installed', { config, base: base.digest, isNow });
  }

  async restart(): Promise<void> {
    const { systemd } = this.#options;
    const { unit } = this.#layout;
    const { needDaemonReload } = await systemd.unit(unit);
    if (needDaemonReload) await systemd.reload();
    await systemd.resetFailed(unit);
    await systemd.restart(unit);
  }

  /** By the unit that does it without an agent too, so that the two never do it at once. */
  async rollBack(): Promise<void> {
    const { systemd, own } = this.#options;
    if (own.dropIn('trial') !== undefined) own.setMark('why', 'agent');
    const result = await systemd.start(unitNames.rollback);
    if (result !== 'done') throw new Error(`start ${unitNames.rollback}: ${result}`);
  }

  /** As rollBack, without waiting for its end. */
  async handOverRollback(): Promise<void> {
    const { systemd, own } = this.#options;
    own.setMark('why', 'agent');
    await systemd.startNow(unitNames.rollback);
  }

  /** Every boot starts it from now on. Throws when /etc does not take it. */
  async keep(view: HostView, config: string): Promise<void> {
    const { systemd, own, log } = this.#options;
    const { trial, fallback, good } = view.own;
    const base = view.base ?? fail('the unit is masked');
    const isKept = config === local ? good === undefined : good?.config === config && good.base === base.digest;
    if (isKept && trial === undefined && fallback === undefined) return;
    if (config !== local) this.#writeGood(base, config);
    await this.disarm();
    for (const kind of ['trial', 'fallback'] as const) own.removeDropIn(kind);
    if (config === local) {
      own.removeDropIn('good');
      for (const unit of ['fallback', 'returnToGood'] as const) own.removeUnit(unit);
    }
    for (const mark of ['before', 'confirmed', 'count', 'fell-back', 'rolled-back', 'limits'] as const)
      own.setMark(mark, undefined);
    await systemd.reload();
    await this.#verify(config === local ? undefined : 'good', config);
    log.info('kept for the next start', { config });
  }

  #writeGood(base: BaseCommand, config: string): void {
    const { own } = this.#options;
    own.writeScript();
    own.writeFallback(this.#render('fallback', base, local));
    own.writeUnit('fallback');
    own.writeUnit('returnToGood');
    own.writeDropIn('good', this.#render('good', base, config));
  }

  /** The trial has answered: from here on only exits count against it. */
  async disarm(): Promise<void> {
    await this.#stopTimer();
    this.#options.own.removeUnit('deadline');
  }

  async #stopTimer(): Promise<void> {
    await this.#options.systemd.stop(unitNames.deadline).catch((error) => {
      if (!isNoSuchUnit(error)) throw error;
    });
  }

  #deadlineMs(): number {
    const { clock, systemdStartedUs, trial } = this.#options;
    return Math.ceil(clock.monotonic() - systemdStartedUs / 1000 + trial.healthDeadlineMs * hostPatience);
  }

  #render(kind: DropInKind, base: BaseCommand, config: string, { arms = false } = {}): string {
    const { trial } = this.#options;
    const { script, configsDir } = this.#layout;
    const counter = { script, limit: trial.failedStarts, longRunSeconds };
    const stored = config === local ? undefined : { digest: config, file: `${configsDir}/${config}/kubelet.yaml` };
    const seconds = Math.ceil((trial.healthDeadlineMs * hostPatience) / 1000);
    const { hasConfigDir } = this;
    return renderDropIn({
      kind,
      base,
      config: stored,
      hasConfigDir,
      counter,
      ...(arms && { deadlineSeconds: seconds }),
    });
  }

  /** Checks that systemd has loaded what was written: a file that nobody saw may have overruled it. */
  async #verify(kind: DropInKind | undefined, config: string): Promise<void> {
    const { dropIn } = this.#layout;
    const { dropInPaths, execStart } = await this.#options.systemd.unit(this.#layout.unit);
    const [words = []] = execStart;
    const isThere = kind === undefined || dropInPaths.includes(dropIn[kind]);
    if (!isThere || execStart.length !== 1 || configIn(this.#layout, words) !== config)
      throw new Error(`systemd does not use ${kind ? dropIn[kind] : 'the unit'}: its command is ${words.join(' ')}`);
  }

  async #withdraw(): Promise<void> {
    const { own, systemd, log } = this.#options;
    try {
      own.removeDropIn('trial');
      await this.disarm();
      await systemd.reload();
    } catch (error) {
      log.error('trial drop-in cannot be withdrawn', { error });
    }
  }

  async #reloaded(): Promise<HostView> {
    await this.#options.systemd.reload();
    return this.view();
  }

  /** Configs that a drop-in names, or that are about to be used, stay. */
  pruneConfigs(view: HostView, ...inUse: (string | undefined)[]): void {
    const named = [view.own.trial, view.own.fallback, view.own.good].map((header) => header?.config);
    const keep = [...named, ...inUse, view.running, nextConfig(view), keptConfig(view)];
    this.#options.own.pruneConfigs(keep.filter((config) => config !== undefined));
  }

  store(config: StartedConfig): string {
    return this.#options.own.store(config);
  }
}

/** The last --config counts, for the kubelet too. `local` unless it is one of relet's. */
export function configIn(layout: HostLayout, words: readonly string[]): string {
  const at = words.findLastIndex((word) => word === '--config' || word.startsWith('--config='));
  const word = words[at];
  const file = word === '--config' ? words[at + 1] : word?.slice('--config='.length);
  return (file && digestIn(layout, file)) || local;
}

function obstacleIn(base: BaseCommand, files: readonly UnitFile[]): string | undefined {
  const wrapper = wrapperIn(base);
  if (wrapper !== undefined) return `ExecStart= starts ${wrapper}, not the kubelet: ${base.text}`;
  const overriding = overridingDropIn(files);
  return overriding && `${overriding} sets ExecStart= after relet's drop-ins`;
}

function fail(why: string): never {
  throw new Error(why);
}
