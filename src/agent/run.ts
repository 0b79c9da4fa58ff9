/**
 * One life of a kubelet under one config, from its start to its end:
 *
 * started ─► alive (first answer: active) ─► healthy ─► trial ends well, or there is nothing to prove
 *     └──────────────┴──────────────────────────┴─────► trial fails ─► stopped by whoever listens
 *     └──────────────┴──────────────────────────┴─────► died: by itself (counted) or not (no blame)
 *
 * Crashes and time without health are counted for every config but local, also for a last known good: where its trial is
 * over, a minute of health is enough, and failures that reach the limits of a trial make the node fall back to local.
 */
import { formatRef } from '../api/config-ref.js';
import type { AgentParts } from './agent-parts.js';
import { type Choice, needsTrial } from './choose.js';
import type { Exit } from './drivers/driver.js';
import { resultsRecord } from './results.js';
import { explain } from './trial/death.js';
import { type Baseline, checkHealth } from './trial/health.js';
import { lookAgainMs } from './trial/look-again.js';
import type { NodeView } from './trial/node-view.js';
import { ownsPorts } from './trial/ports.js';
import { watchRejectedPods } from './trial/rejected-pods.js';
import {
  afterDeath,
  afterLook,
  beginOrResume,
  counts,
  type Health,
  isHealthy,
  type NodeBefore,
  type Trial,
  type TrialEnd,
  trialRecord,
  unhealthyBefore,
} from './trial/trial.js';

export interface RunListener {
  /** The first answer: this config is active. */
  onAlive(): void;
  /** The first time all is well. */
  onHealthy(): void;
  onWarnings(): void;
  /** The trial is over; the run itself may go on. */
  onTrialEnd(end: TrialEnd): Promise<void>;
}

export interface RunOptions {
  parts: AgentParts;
  choice: Choice;
  /** How the node was before this config. */
  before: Baseline;
  /** Undefined until there is a kubeconfig. */
  view(): NodeView | undefined;
}

/** To find out who has a port, every process is looked at. */
const portsEveryMs = 5000;
const nothingBefore: NodeBefore = { nodeReady: false, apiAnswered: false, staticPods: false };

export class Run {
  choice: Choice;
  /** What will run instead, where that is decided: its fault counts from then on, not that of a choice that is history. */
  instead: Choice | undefined;
  /** What is counted. Undefined when nothing could run instead, or nothing more is to be found out. */
  trial: Trial | undefined;
  /** While its process lives. */
  alive = false;
  healthy = false;
  /** How it ended by itself, where its config may be blamed. */
  crash: string | undefined;
  /** What was noticed while it ran. */
  warnings: string[] = [];
  readonly #options: RunOptions;
  readonly #needsTrial: boolean;
  readonly #rebooted: boolean;
  #startedMs = 0;
  /** When it, or somebody in its place, first answered. */
  #answeredMs: number | undefined;
  #taken: Health['taken'];
  #portsAgainMs = 0;

  constructor(options: RunOptions) {
    this.#options = options;
    this.choice = options.choice;
    const { state, driver } = options.parts;
    const { rejectedPods: _pods, ...nodeBefore } = options.before;
    this.#needsTrial = needsTrial(options.choice, state);
    const before = this.#needsTrial ? nodeBefore : nothingBefore;
    const fresh = { key: options.choice.key, before, bootId: driver.bootId() };
    const isCounted = this.#needsTrial || options.choice.source !== undefined;
    this.trial = isCounted ? beginOrResume(state.read(trialRecord), fresh) : undefined;
    this.#rebooted = this.trial !== undefined && this.trial.bootId !== fresh.bootId;
  }

  /** A last known good has a record only while something counts against it. */
  #save(): void {
    const { state } = this.#options.parts;
    const isSpotless = this.trial?.deaths === 0 && !this.trial.unhealthy?.ms;
    if (this.trial === undefined || (!this.#needsTrial && isSpotless)) state.remove(trialRecord);
    else state.write(trialRecord, this.trial);
  }

  /** Starts the kubelet and watches over it until it ends. */
  async keep(listener: RunListener): Promise<Exit> {
    const { driver, clock, counters } = this.#options.parts;
    const { source, accepted } = this.choice;
    const over = new AbortController();
    this.#startedMs = clock.monotonic();
    counters.kubeletStarts++;
    const ended = driver.start({ source, file: accepted.configFile });
    // After the start, since the disk takes its time: until the first crash there is nothing to lose.
    this.#save();
    const watched = this.#watch(listener, over.signal);
    const exit = await ended;
    this.alive = false;
    over.abort();
    await watched;
    return exit;
  }

  /** The same bytes, wherever they come from; and local is local, even if its file was edited meanwhile. */
  isRunning(choice: Choice): boolean {
    const { source, digest } = this.choice;
    if (source === undefined || choice.source === undefined) return source === choice.source;
    return digest === choice.digest;
  }

  /** Other records name the bytes that run; the kubelet does not notice. */
  moveTo({ rank, source, fault, passedOver }: Choice): void {
    const { fault: _fault, passedOver: _passedOver, ...rest } = this.choice;
    this.choice = { ...rest, rank, source, ...(fault && { fault }), ...(passedOver && { passedOver }) };
    this.instead = undefined;
  }

  /** What runs is what is assigned, and needs no further proof. */
  hasProven(): boolean {
    const { rank, source, key } = this.choice;
    if (rank !== 'assigned' || this.onTrial || !this.healthy) return false;
    return source === undefined || this.#options.parts.state.read(resultsRecord)?.[key]?.kind === 'passed';
  }

  get onTrial(): boolean {
    return this.#needsTrial && this.trial !== undefined;
  }

  /** It is started once more although it failed. */
  get isRetry(): boolean {
    return this.trial?.isRetry === true;
  }

  /** Judges a death, after a moment: a machine going down ends everything at once. `end` when it was one too many. */
  async died(exit: Exit, signal: AbortSignal): Promise<{ blamed: boolean; end?: TrialEnd }> {
    const { clock, driver, log, options, certificateExpired, counters } = this.#options.parts;
    counters.kubeletDeaths++;
    await clock.sleep(options.settleMs, signal).catch(() => {});
    const stopping = signal.aborted || (await driver.isHostStopping());
    const death = explain(exit, { stopping, certificateExpired: await certificateExpired() });
    log.warn('kubelet exited', { why: death.why, blame: death.blame });
    const blamed = death.blame === 'config';
    if (blamed) this.crash = death.why;
    if (this.trial === undefined || !blamed) return { blamed };
    const { trial, step } = afterDeath(this.trial, death.why, options.trial);
    this.trial = trial;
    this.#save();
    return step.kind === 'go-on' ? { blamed } : { blamed, end: step };
  }

  get startedAgoMs(): number {
    return this.#options.parts.clock.monotonic() - this.#startedMs;
  }

  /** Looks until the kubelet ends, or all there is to learn is known. */
  async #watch(listener: RunListener, signal: AbortSignal): Promise<void> {
    const { clock, options, driver } = this.#options.parts;
    const bootId = driver.bootId();
    const since = {
      healthyMs: this.#startedMs - unhealthyBefore(this.trial, bootId),
      apiMs: this.#startedMs,
      countedMs: undefined as number | undefined,
    };
    for (;;) {
      const health = await this.#look(listener, signal);
      if (signal.aborted) return;
      const now = clock.monotonic();
      const before = this.trial?.before ?? nothingBefore;
      const isWell = isHealthy(health, before);
      if (health.apiAnswers) since.apiMs = now;
      if (isWell) since.healthyMs = now;
      if (isWell && !this.healthy) void this.#watchPods(listener, signal);
      // Where nothing else could run, what runs is active in the end, also if it never answers.
      const isOverdue = this.trial === undefined && now - this.#startedMs >= options.trial.healthDeadlineMs;
      this.#becomes(listener, { alive: health.alive || isOverdue, healthy: isWell });
      if (this.trial === undefined && this.healthy) return;
      if (this.trial !== undefined) {
        const mayCount = counts(health, before);
        const counted = mayCount ? now - (since.countedMs ?? now) : 0;
        since.countedMs = mayCount ? now : undefined;
        const silence = { unhealthyMs: now - since.healthyMs, apiSilentMs: now - since.apiMs };
        // In whole seconds, since each change is a write that waits for the disk.
        const ms = Math.floor(silence.unhealthyMs / 1000) * 1000;
        const trial = this.#count(this.trial, { healthyMs: counted, unhealthy: { ms, bootId } });
        const step = afterLook({ trial, health, rebooted: this.#rebooted, ...silence }, this.#limits());
        if (step.kind === 'failed' && (await this.#hasExcuse())) Object.assign(since, { healthyMs: now, apiMs: now });
        else if (step.kind !== 'go-on' && (await this.#conclude(listener, step))) return;
      }
      const silent = !health.alive && this.choice.accepted.healthz !== undefined;
      const trialLeftMs = this.trial ? this.#limits().durationMs - this.trial.healthyMs : 0;
      const sinceStartMs = now - this.#startedMs;
      await clock.sleep(lookAgainMs({ silent, isWell, sinceStartMs, trialLeftMs }), signal).catch(() => {});
    }
  }

  #watchPods(listener: RunListener, signal: AbortSignal): Promise<void> {
    const { parts, before, view } = this.#options;
    return watchRejectedPods({
      view,
      since: () => ({ before: before.rejectedPods, startedAt: this.#startedAt() }),
      onTrial: () => this.onTrial,
      onFound: (warnings) => {
        this.warnings = warnings;
        listener.onWarnings();
      },
      clock: parts.clock,
      signal,
    });
  }

  #count(trial: Trial, { healthyMs, unhealthy }: Required<Pick<Trial, 'healthyMs' | 'unhealthy'>>): Trial {
    this.trial = { ...trial, healthyMs: trial.healthyMs + healthyMs, unhealthy };
    this.#save();
    return this.trial;
  }

  /** Local has nothing to become: being well once is all that is asked of it. */
  #limits() {
    const { trial } = this.#options.parts.options;
    if (this.choice.source === undefined) return { ...trial, durationMs: 0 };
    return this.#needsTrial ? trial : { ...trial, durationMs: Math.min(trial.durationMs, trial.healthDeadlineMs) };
  }

  async #look(listener: RunListener, signal: AbortSignal): Promise<Health> {
    const { healthz } = this.choice.accepted;
    // The API is asked where its answer counts: in a trial, and where a Lease is the only sign of life.
    const view = this.onTrial || healthz === undefined ? this.#options.view() : undefined;
    const isKubelets = () => this.#isAlive(listener);
    const { probe, clock } = this.#options.parts;
    const startedAt = this.#startedAt();
    const health = await checkHealth({ healthz, probe, startedAt, view, clock, signal, isKubelets });
    return health.alive || this.#taken === undefined ? health : { ...health, taken: this.#taken };
  }

  /** A sign of life is the kubelet's if its process lives and has its ports. It is reported before the API is asked. */
  #isAlive(listener: RunListener): boolean {
    const { clock, log } = this.#options.parts;
    const now = clock.monotonic();
    this.#answeredMs ??= now;
    if (!this.alive && now >= this.#portsAgainMs) {
      const { isAlive, taken } = ownsPorts(this.#options.parts.driver, this.choice.accepted, now - this.#answeredMs);
      if (taken && this.#taken === undefined) log.warn('another process has a port of the kubelet', { ...taken });
      if (taken) this.#portsAgainMs = now + portsEveryMs;
      this.#taken = taken;
      if (isAlive) this.#becomes(listener, { alive: true, healthy: false });
    }
    return this.alive;
  }

  /** Counted back from now: the wall clock may have jumped since the start. */
  #startedAt(): number {
    const { clock } = this.#options.parts;
    return clock.now() - (clock.monotonic() - this.#startedMs);
  }

  /** A kubelet whose certificate has ended waits for another one, or exits: that says nothing about its config. */
  async #hasExcuse(): Promise<boolean> {
    const { certificateExpired, log } = this.#options.parts;
    if (!(await certificateExpired())) return false;
    log.warn('the client certificate of the node has expired, the config is not blamed');
    return true;
  }

  /** False when it could not be done, as with a full disk: then it is tried again after the next look. */
  async #conclude(listener: RunListener, end: TrialEnd): Promise<boolean> {
    try {
      await listener.onTrialEnd(end);
      return true;
    } catch (error) {
      this.#options.parts.log.error('the end of the trial cannot be recorded', { error });
      return false;
    }
  }

  #becomes(listener: RunListener, { alive, healthy }: { alive: boolean; healthy: boolean }): void {
    if (alive && !this.alive) {
      this.alive = true;
      listener.onAlive();
    }
    if (healthy && !this.healthy) {
      this.healthy = true;
      this.#options.parts.log.info('kubelet is healthy', {
        config: formatRef(this.choice.source, 'log'),
        onTrial: this.onTrial,
      });
      listener.onHealthy();
    }
  }
}
