/**
 * Interface for delivering a config to the kubelet of a systemd unit. command-line.ts uses a drop-in of the unit, config-dir.ts a file
 * in the kubelet's config directory.
 */
import type { Clock } from '../../../clock.js';
import type { Log } from '../../../log.js';
import type { RunCommand } from '../command.js';
import type { HostView } from './next-step.js';
import type { OwnFiles } from './own-files.js';
import type { Systemd, UnitState } from './systemd.js';
import type { BaseCommand } from './unit-text.js';

export interface Delivery {
  /** The kubelet's command line has --config-dir, as far as has been seen. */
  hasConfigDir: boolean;
  /** The unit's own command, what runs, and why a config would not reach the kubelet. Throws when there is no kubelet. */
  look(unit: UnitState): Promise<Pick<HostView, 'base' | 'running' | 'obstacle'>>;
  /** Makes the next start a trial of the config, as soon as loadTrial() has made systemd read it. */
  writeTrial(base: BaseCommand, config: string, options: TrialOptions): void;
  /** Makes every boot start the config, as soon as loadKept() has made systemd read it. */
  writeGood(base: BaseCommand, config: string): void;
  /** Makes every boot start the local config, as soon as loadKept() has made systemd read it. */
  removeGood(): void;
  /** Makes systemd use what was written, and its deadline. Throws if it does not. */
  loadTrial(config: string, options: TrialOptions): Promise<void>;
  loadKept(config: string): Promise<void>;
  /** Before the trial is withdrawn, or after its first healthy answer. */
  disarm(): Promise<void>;
}

export interface TrialOptions {
  /** The restart follows at once: the deadline counts from now. Otherwise from the next start, whenever that is. */
  isNow: boolean;
}

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
