/**
 * The driver's changes to the host: install a trial, keep a config, roll back, remove. Each method is one whole operation. Its writes
 * are ordered so that after a crash between any two of them the unit still starts and the trial still ends.
 */
import type { StartedConfig } from '../driver.js';
import { ByCommandLine } from './command-line.js';
import { ByConfigDir } from './config-dir.js';
import type { Delivery, UnitHostOptions } from './delivery.js';
import { type HostLayout, unitNames } from './host-layout.js';
import { type HostView, keptConfig, nextConfig } from './next-step.js';
import { isNoSuchUnit } from './systemd.js';
import { type BaseCommand, local } from './unit-text.js';

export class UnitHost {
  readonly #options: UnitHostOptions;
  readonly #layout: HostLayout;
  readonly #delivery: Delivery;

  constructor(options: UnitHostOptions) {
    this.#options = options;
    this.#layout = options.own.layout;
    const { embedded } = this.#layout;
    this.#delivery = embedded === undefined ? new ByCommandLine(options) : new ByConfigDir(options, embedded);
  }

  /** The kubelet's command line has --config-dir, as far as has been seen. */
  get hasConfigDir(): boolean {
    return this.#delivery.hasConfigDir;
  }

  set hasConfigDir(has: boolean) {
    this.#delivery.hasConfigDir = has;
  }

  /** Throws when the unit is not that of a kubelet. */
  async view(): Promise<HostView> {
    const { systemd, own } = this.#options;
    const { unit: name } = this.#layout;
    const unit = await systemd.unit(name);
    if (unit.loadState === 'not-found') throw new Error(`${name} is not a unit of this host`);
    const { base, running, obstacle } = await this.#delivery.look(unit);
    return { unit, own: own.dropIns(), base, running, obstacle };
  }

  /** Makes the next start a trial of the config. `isNow`: the restart follows at once, so the deadline counts from now. */
  async installTrial(view: HostView, config: string, { isNow }: { isNow: boolean }): Promise<void> {
    const { own, log } = this.#options;
    const fresh = view.unit.needDaemonReload ? await this.#reloaded() : view;
    const base = baseOf(fresh);
    await this.#stopTimer();
    own.writeScript();
    own.writeTool();
    own.writeUnit('rollback');
    own.setMark('before', fresh.unit.invocationId || undefined);
    // The saved limits stay: they are those of the kept config, even if one trial follows another.
    for (const mark of ['confirmed', 'rolled-back', 'why', 'count', 'limits-after'] as const)
      own.setMark(mark, undefined);
    for (const exit of own.exits()) if (exit.config === config) own.removeExit(exit.invocation);
    this.#delivery.writeTrial(base, config, { isNow });
    try {
      await this.#delivery.loadTrial(config, { isNow });
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

  /** Starts the rollback unit, which also works without an agent, so that rollbacks never run concurrently. */
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

  /** Writes what keep() makes effective. Throws if /etc cannot be written. */
  prepareKeep(view: HostView, config: string): void {
    if (!isKept(view, config) && config !== local) this.#delivery.writeGood(baseOf(view), config);
  }

  /** Makes every boot start the config, after prepareKeep(). Throws if /etc cannot be written. */
  async keep(view: HostView, config: string): Promise<void> {
    const { own, log } = this.#options;
    const { trial, fallback } = view.own;
    if (isKept(view, config) && trial === undefined && fallback === undefined) return;
    await this.disarm();
    for (const kind of ['trial', 'fallback'] as const) own.removeDropIn(kind);
    if (config === local) this.#delivery.removeGood();
    for (const mark of ['before', 'confirmed', 'count', 'fell-back', 'rolled-back', 'limits'] as const)
      own.setMark(mark, undefined);
    await this.#delivery.loadKept(config);
    log.info('kept for the next start', { config });
  }

  /** Removes the deadline of the trial, whose kubelet has answered: from here on only exits count against it. */
  async disarm(): Promise<void> {
    await this.#stopTimer();
    await this.#delivery.disarm();
  }

  async #stopTimer(): Promise<void> {
    await this.#options.systemd.stop(unitNames.deadline).catch((error) => {
      if (!isNoSuchUnit(error)) throw error;
    });
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

function baseOf({ base }: HostView): BaseCommand {
  if (base === undefined) throw new Error('the unit is masked');
  return base;
}

function isKept(view: HostView, config: string): boolean {
  const { good } = view.own;
  const base = baseOf(view);
  return config === local ? good === undefined : good?.config === config && good.base === base.digest;
}
