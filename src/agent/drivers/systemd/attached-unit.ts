/**
 * The kubelet's unit between two switches: the config that its next start will use, and changes that others made. Each check compares
 * the host with relet's record. Changes by others are reported and not undone, with one exception: when ExecStart= of the unit has
 * changed, relet's drop-in is written again with the new command.
 */
import { isDeepStrictEqual } from 'node:util';
import { type ExactRef, sameConfig } from '../../../api/config-ref.js';
import { withCauses } from '../../../error-causes.js';
import type { Log } from '../../../log.js';
import type { NodeState } from '../../state/node-state.js';
import type { KubeletUnit, Notice, StartedConfig } from '../driver.js';
import { detach } from './detach.js';
import type { UnitHost } from './host.js';
import { type HostView, isMasked, isStale, keptConfig, nextConfig } from './next-step.js';
import type { OwnFiles } from './own-files.js';
import type { Systemd } from './systemd.js';
import {
  isStaged,
  noticesOf,
  removedDropIn,
  type Seen,
  startedConfig,
  type UnitRecord,
  unitRecord,
} from './unit-record.js';
import { local } from './unit-text.js';

export interface AttachedUnitOptions {
  systemd: Systemd;
  own: OwnFiles;
  host: UnitHost;
  state: NodeState;
  bootId: string;
  log: Log;
}

/** Limit: the configs that records can name at once, and a few more. */
const mostConfigs = 8;

export class AttachedUnit implements KubeletUnit {
  readonly #options: AttachedUnitOptions;
  readonly #listeners = new Set<() => void>();
  #seen: { notices: Notice[]; next: string } | undefined;
  /** Why the config that should run cannot be started now. */
  #obstacle: Notice | undefined;
  #notKept: Notice | undefined;
  #noAgent: Notice | undefined;
  #willLook = false;
  #isHandedOver = false;
  /** Changes of cgroup limits by the rollback, once they were logged. */
  #limits = '';
  #working: Promise<unknown> = Promise.resolve();

  constructor(options: AttachedUnitOptions) {
    this.#options = options;
    options.host.hasConfigDir = this.#record.hasConfigDir;
  }

  async running(): Promise<StartedConfig | undefined> {
    const { running } = await this.#options.host.view();
    return running === undefined ? undefined : startedConfig(this.#record, running);
  }

  confirmHealthy(): Promise<void> {
    return this.exclusive(async () => {
      const { host, own } = this.#options;
      this.#noAgent = undefined;
      const onTrial = own.dropIn('trial')?.config;
      if (onTrial === undefined || own.mark('confirmed') === onTrial) return;
      await host.disarm();
      own.setMark('confirmed', onTrial);
    });
  }

  keep(config: StartedConfig): Promise<void> {
    return this.exclusive(async () => {
      const { host, log } = this.#options;
      try {
        const view = await host.view();
        const digest = this.store(config);
        // The next start is a trial of something else: what the kubelet runs is kept when that is over.
        if (isStaged(view, this.#present())) return;
        host.prepareKeep(view, digest);
        // Before the trial is removed: an agent that ends in between does not report that others removed it.
        this.#put(digest === local ? {} : { good: digest });
        await host.keep(view, digest);
        this.#notKept = undefined;
      } catch (error) {
        log.error('cannot keep config for the next boot', { error });
        this.#notKept = { reason: 'NextStartNotKept', message: withCauses(error) };
      }
      await this.look();
    });
  }

  stage(config: StartedConfig): Promise<void> {
    return this.exclusive(async () => {
      const view = await this.#options.host.view();
      const digest = this.store(config);
      if (nextConfig(view) !== digest || isStale(view)) await this.installTrial(view, digest, { isNow: false });
      await this.look();
    });
  }

  /** Not within exclusive(): work that waits for the host must not hold it up. The unit on the host never runs twice at once. */
  async rollBack(to: ExactRef | undefined): Promise<boolean> {
    const { own, host } = this.#options;
    const dropIns = own.dropIns();
    if (dropIns.trial === undefined) return false;
    const kept = startedConfig(this.#record, keptConfig({ own: dropIns }));
    if (kept === undefined || !sameConfig(kept.source, to, 'document')) return false;
    this.#isHandedOver = true;
    await host.handOverRollback();
    return true;
  }

  /** True once after a rollback was handed over: its end is to be waited for before the unit is changed again. */
  takeHandedOver(): boolean {
    const wasHandedOver = this.#isHandedOver;
    this.#isHandedOver = false;
    return wasHandedOver;
  }

  forgetRemoval(): Promise<void> {
    return this.exclusive(async () => {
      const { own } = this.#options;
      const { trial, good } = this.#record;
      this.#put({
        ...(trial && own.dropIn('trial') && { trial }),
        ...(good && own.dropIn('good') && { good }),
      });
      await this.look();
    });
  }

  detach(): Promise<void> {
    return this.exclusive(async () => {
      const { systemd, own, state } = this.#options;
      await detach(systemd, own);
      state.remove(unitRecord);
      await this.look();
    });
  }

  notices(): Notice[] {
    const all = [...(this.#seen?.notices ?? []), this.#obstacle, this.#notKept, this.#noAgent];
    const present = all.filter((notice) => notice !== undefined);
    return present.filter(({ reason }, at) => present.findIndex((other) => other.reason === reason) === at);
  }

  nextStart(): StartedConfig | undefined {
    return this.#seen && startedConfig(this.#record, this.#seen.next);
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  // ── for the driver ──

  /** One change of the host at a time. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#working.then(work);
    this.#working = result.catch(() => {});
    return result;
  }

  async installTrial(view: HostView, digest: string, { isNow }: { isNow: boolean }): Promise<void> {
    const { host, own } = this.#options;
    if (own.mark('rolled-back') === `${digest} deadline`)
      this.#noAgent = { reason: 'NoAgent', message: 'the deadline on the host passed before the kubelet was healthy' };
    await host.installTrial(view, digest, { isNow });
    this.#put({ trial: digest, good: view.own.good?.config });
    host.pruneConfigs(view, digest);
  }

  setObstacle(notice: Notice | undefined): void {
    const isSame = isDeepStrictEqual(notice, this.#obstacle);
    this.#obstacle = notice;
    if (!isSame) this.#notifyListeners();
  }

  /** Copies the config to the host. */
  store(config: StartedConfig): string {
    const { state, host } = this.#options;
    const digest = host.store(config);
    const { source, file } = config;
    if (digest === local || source === undefined || file === undefined) return digest;
    const record = this.#record;
    const others = Object.entries(record.configs).filter(([other]) => other !== digest);
    const configs = Object.fromEntries([...others.slice(1 - mostConfigs), [digest, { source, file }]]);
    state.write(unitRecord, { ...record, configs });
    return digest;
  }

  /** Soon, and once for many changes. */
  lookSoon(): void {
    if (this.#willLook) return;
    this.#willLook = true;
    const look = () => {
      this.#willLook = false;
      return this.look();
    };
    this.exclusive(look).catch((error) => this.#options.log.warn('cannot read kubelet unit', { error }));
  }

  /** Only one at a time: within exclusive(). */
  async look(): Promise<void> {
    this.#forgetRolledBack();
    let view = await this.#options.host.view();
    const isOurs = removedDropIn(view, this.#present()) === undefined;
    if (isStale(view) && isOurs && view.obstacle === undefined && !isMasked(view.unit)) {
      await this.installTrial(view, nextConfig(view), { isNow: false });
      view = await this.#options.host.view();
    }
    this.see(view);
  }

  see(view: HostView): void {
    const before = this.#seen;
    this.#seen = { notices: noticesOf(view, this.#present()), next: nextConfig(view) };
    if (!isDeepStrictEqual(before, this.#seen)) this.#notifyListeners();
  }

  /** The host returned from the trial: that its drop-in is gone is not the work of others. */
  #forgetRolledBack(): void {
    const { own } = this.#options;
    const { trial, good } = this.#record;
    // Each trial removes the mark. An agent that ended in between has recorded the trial before this one.
    const isRolledBack = trial !== undefined && own.mark('rolled-back') !== undefined;
    if (isRolledBack && own.dropIn('trial') === undefined) this.#put({ good });
    const limits = own.mark('limits-after') ?? '';
    if (limits !== this.#limits && limits !== '')
      this.#options.log.warn('cgroup limits of the kubelet removed', {
        limits: limits.split('\n').join('; '),
      });
    this.#limits = limits;
  }

  #notifyListeners(): void {
    for (const listener of this.#listeners) listener();
  }

  #present(): Seen {
    const { own, bootId } = this.#options;
    const marks = {
      before: own.mark('before'),
      fellBack: own.mark('fell-back'),
      limits: own.mark('limits-after'),
    };
    return { record: this.#record, bootId, hasFallbackUnit: own.hasUnit('fallback'), ...marks };
  }

  get #record(): UnitRecord {
    const { state, bootId } = this.#options;
    return state.read(unitRecord) ?? { bootId, hasConfigDir: false, configs: {} };
  }

  #put({ trial, good }: { trial?: string; good?: string | undefined }): void {
    const { state, host, bootId } = this.#options;
    const { hasConfigDir } = host;
    const { configs } = this.#record;
    state.write(unitRecord, { ...(trial && { trial }), ...(good && { good }), bootId, hasConfigDir, configs });
  }
}
