/**
 * Delivers a config to the kubelet of k3s or RKE2, which reads a directory of config drop-ins. A constant drop-in of the unit runs
 * relet's script before each start. The script copies one file into that directory, so that a switch needs no daemon-reload:
 *
 *     /run/relet/trial, else /run/relet/fallback, else DIR/good, else none ──► agent/etc/kubelet.conf.d/zz-relet.conf
 */
import { embeddedDropIn } from '../../embedded-drop-in.js';
import type { Delivery, UnitHostOptions } from './delivery.js';
import type { HostLayout } from './host-layout.js';
import { repeatingTimer } from './host-scripts.js';
import type { HostView } from './next-step.js';
import type { UnitState } from './systemd.js';
import { type BaseCommand, hostPatience, local, longRunSeconds, safePath } from './unit-text.js';

/** Nothing of the unit's command is repeated, so that it cannot be out of date. */
const noBase: BaseCommand = { text: '', digest: '0'.repeat(16) };

export class ByConfigDir implements Delivery {
  readonly #options: UnitHostOptions;
  readonly #layout: HostLayout & Required<Pick<HostLayout, 'embedded'>>;
  hasConfigDir = false;

  constructor(options: UnitHostOptions, embedded: NonNullable<HostLayout['embedded']>) {
    this.#options = options;
    this.#layout = { ...options.own.layout, embedded };
  }

  async look(unit: UnitState): Promise<Pick<HostView, 'base' | 'running' | 'obstacle'>> {
    const { own } = this.#options;
    const base = unit.loadState === 'masked' ? undefined : noBase;
    const [kind, config = '', invocation] = own.mark('started')?.split(' ') ?? [];
    const isThisStart = invocation === unit.invocationId;
    const running = isThisStart ? (kind === 'failed' ? local : config) : (own.installed()?.config ?? local);
    const isFailed = isThisStart && kind === 'failed';
    return {
      base,
      running: unit.mainPid === 0 ? undefined : running,
      obstacle: isFailed ? `${this.#layout.embedded.installed} could not be written at the last start` : this.#later(),
    };
  }

  /** A drop-in of somebody else that the kubelet reads after relet's. */
  #later(): string | undefined {
    const { configDir } = this.#layout.embedded;
    const later = this.#options.own.namesIn(configDir).find((name) => name > embeddedDropIn && name.endsWith('.conf'));
    return later && `${configDir}/${later} is read after ${embeddedDropIn}`;
  }

  writeTrial(_base: BaseCommand, config: string): void {
    const { own } = this.#options;
    own.writeUnit('fallback');
    own.writeUnit('returnToGood');
    own.writeTimer(repeatingTimer);
    own.writeUnitDropIn(this.#unitDropIn());
    own.writeDropIn('trial', this.#header(config));
  }

  writeGood(_base: BaseCommand, config: string): void {
    const { own } = this.#options;
    own.writeScript();
    own.writeFallback(this.#header(local));
    own.writeDropIn('good', this.#header(config));
  }

  removeGood(): void {
    this.#options.own.removeDropIn('good');
  }

  /** The script arms the deadline, at the start of the trial. */
  async loadTrial(): Promise<void> {
    const { systemd } = this.#options;
    const { unit, embedded } = this.#layout;
    const isLoaded = async () => {
      const { dropInPaths, needDaemonReload } = await systemd.unit(unit);
      return dropInPaths.includes(embedded.unitDropIn) && !needDaemonReload;
    };
    if (await isLoaded()) return;
    await systemd.reload();
    if (!(await isLoaded())) throw new Error(`systemd does not use ${embedded.unitDropIn}`);
  }

  async loadKept(): Promise<void> {}

  async disarm(): Promise<void> {}

  #header(config: string): string {
    const seconds = Math.ceil((this.#options.trial.healthDeadlineMs * hostPatience) / 1000);
    return `# relet: config=${config} base=${noBase.digest}\n# relet: deadline=${seconds}\n`;
  }

  #unitDropIn(): string {
    const { script, embedded } = this.#layout;
    const { failedStarts } = this.#options.trial;
    const counts = embedded.program === 'k3s';
    return [
      `# relet: before each start, puts ${embedded.installed} in place for the kubelet. 'relet detach' removes it.`,
      '[Unit]',
      'StartLimitIntervalSec=0',
      '[Service]',
      // A command of its own: a host without the script starts with the local config.
      `ExecStartPre=-/bin/rm -f ${safePath(embedded.installed)}`,
      `ExecStartPre=-/bin/sh ${safePath(script)} begin`,
      // RKE2 starts a kubelet that crashed again itself: its own exits are not the kubelet's.
      ...(counts ? [`ExecStopPost=-/bin/sh ${safePath(script)} exited ${failedStarts} ${longRunSeconds}`] : []),
      '',
    ].join('\n');
  }
}
