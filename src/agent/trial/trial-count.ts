/**
 * The trial of the config of one KubeletRun: what counts for it and against it, recorded so that it continues after a restart of relet
 * or of the machine. A config that is not on trial is counted as well, unless it is local. trial.ts decides.
 */
import { type ExactRef, sameConfig } from '../../api/config-ref.js';
import { type Choice, needsTrial } from '../choose.js';
import type { KubeletDriver } from '../drivers/driver.js';
import type { NodeState } from '../state/node-state.js';
import type { Checked } from './health-loop.js';
import {
  afterCheck,
  afterCrash,
  beginOrResume,
  type Crash,
  type NodeBefore,
  type Trial,
  type TrialLimits,
  type TrialStep,
  trialRecord,
  unhealthyBefore,
} from './trial.js';

export interface TrialCountOptions {
  choice: Choice;
  baseline: NodeBefore;
  limits: TrialLimits;
  state: NodeState;
  driver: Pick<KubeletDriver, 'bootId'>;
}

/** A restart of relet costs a trial at most this much of its healthy time: each save waits for the disk. */
const saveHealthyMs = 60_000;
const nothingBefore: NodeBefore = { nodeReady: false, apiAnswered: false, staticPods: false };

export class TrialCount {
  readonly #options: TrialCountOptions;
  #trial: Trial | undefined;
  #needsTrial: boolean;
  /** The machine was rebooted since the trial began. */
  readonly #rebooted: boolean;
  /** After a boot, pods are rejected because devices and plugins are not there yet. */
  readonly countsPods: boolean;
  /** Healthy time of the trial in its record. */
  #savedHealthyMs = 0;

  constructor(options: TrialCountOptions) {
    this.#options = options;
    const { choice, state, driver, baseline } = options;
    this.#needsTrial = needsTrial(choice, state);
    const before = this.#needsTrial ? nodeBefore(baseline) : nothingBefore;
    const fresh = { key: choice.key, source: choice.source, before, bootId: driver.bootId() };
    const isCounted = this.#needsTrial || choice.source !== undefined;
    this.#trial = isCounted ? beginOrResume(state.read(trialRecord), fresh) : undefined;
    this.#rebooted = this.#trial !== undefined && this.#trial.bootId !== fresh.bootId;
    this.countsPods = this.#needsTrial && !this.#rebooted;
  }

  /** Undefined when no other config could run, or the trial is over. */
  get trial(): Trial | undefined {
    return this.#trial;
  }

  get onTrial(): boolean {
    return this.#needsTrial && this.#trial !== undefined;
  }

  get before(): NodeBefore {
    return this.#trial?.before ?? nothingBefore;
  }

  get unhealthyBeforeMs(): number {
    return unhealthyBefore(this.#trial, this.#options.driver.bootId());
  }

  /** Healthy time that is missing; 0 without a trial. */
  get leftMs(): number {
    return this.#trial ? this.#limits.durationMs - this.#trial.healthyMs : 0;
  }

  /** Local must only be healthy once: it cannot become last known good. */
  get #limits(): TrialLimits {
    const { limits, choice } = this.#options;
    if (choice.source === undefined) return { ...limits, durationMs: 0 };
    return this.#needsTrial ? limits : { ...limits, durationMs: Math.min(limits.durationMs, limits.healthDeadlineMs) };
  }

  /** The same bytes under another identity. True if they are on trial from now on. */
  moveTo(
    choice: Choice,
    { alive, baseline }: { alive: boolean; baseline: Promise<NodeBefore | undefined> | undefined },
  ) {
    const { state, driver } = this.#options;
    const { key, source } = choice;
    const wasOnTrial = this.onTrial;
    this.#needsTrial = needsTrial(choice, state);
    if (!this.#needsTrial) return false;
    const trial = beginOrResume(this.#trial, { key, source, before: nothingBefore, bootId: driver.bootId() });
    this.#trial = { ...trial, ...(alive && { wasActive: true }) };
    // A last known good that was not on trial has no baseline yet.
    if (!wasOnTrial) void baseline?.then((taken) => this.#compareWith(taken, source));
    return true;
  }

  #compareWith(baseline: NodeBefore | undefined, source: ExactRef | undefined): void {
    if (baseline === undefined || !this.#trial || !sameConfig(this.#trial.source, source, 'version')) return;
    this.#set({ ...this.#trial, before: nodeBefore(baseline) });
  }

  /** Called before the config is reported as active: after a reset, a later agent may fall back to it. */
  becameActive(): void {
    if (this.#trial !== undefined && !this.#trial.wasActive) this.#set({ ...this.#trial, wasActive: true });
  }

  checked(checked: Checked): TrialStep {
    if (this.#trial === undefined) return { kind: 'continue' };
    // In whole seconds, since each change is written to disk.
    const unhealthy = { ms: Math.floor(checked.unhealthyMs / 1000) * 1000, bootId: this.#options.driver.bootId() };
    const healthyMs = this.#trial.healthyMs + checked.countedMs;
    const isWorthSaving =
      unhealthy.ms !== this.#trial.unhealthy?.ms || healthyMs - this.#savedHealthyMs >= saveHealthyMs;
    const trial = { ...this.#trial, healthyMs, unhealthy };
    this.#trial = trial;
    if (isWorthSaving) this.save();
    return afterCheck({ trial, rebooted: this.#rebooted, ...checked }, this.#limits);
  }

  /** If the host has counted more crashes than relet has seen, its count decides. */
  crashed(crash: Crash, { rolledBack }: { rolledBack: boolean }): TrialStep {
    if (this.#trial === undefined) return { kind: 'continue' };
    const { limits } = this.#options;
    const { trial, step } = afterCrash(this.#trial, crash, rolledBack ? { ...limits, failedStarts: 1 } : limits);
    this.#set(trial);
    return step;
  }

  /** The time without a valid certificate does not count against the config, also not at the next start. */
  restartDeadline(): void {
    if (this.#trial === undefined) return;
    const { unhealthy: _, ...trial } = this.#trial;
    this.#set(trial);
  }

  end(): void {
    this.#trial = undefined;
  }

  #set(trial: Trial): void {
    this.#trial = trial;
    this.save();
  }

  /** A last known good has a record only while something counts against it. */
  save(): void {
    const { state } = this.#options;
    const isSpotless = this.#trial?.deaths === 0 && !this.#trial.unhealthy?.ms;
    if (this.#trial === undefined || (!this.#needsTrial && isSpotless)) state.remove(trialRecord);
    else state.write(trialRecord, this.#trial);
    this.#savedHealthyMs = this.#trial?.healthyMs ?? 0;
  }
}

/** A baseline has more than is recorded. */
function nodeBefore({ nodeReady, apiAnswered, staticPods }: NodeBefore): NodeBefore {
  return { nodeReady, apiAnswered, staticPods };
}
