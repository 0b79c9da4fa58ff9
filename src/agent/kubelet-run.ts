/**
 * The lifetime of one kubelet process with one config, from its start to its exit:
 *
 * started ─► alive (first answer: active) ─► healthy ─► trial passed, or not on trial
 *     └──────────────┴──────────────────────────┴─────► trial failed ─► stopped by the listener
 *     └──────────────┴──────────────────────────┴─────► exited: a crash (counted) or not
 *
 * Crashes and time without health are counted for every config but local, also for a last known good: where its trial is over, a
 * minute of health is enough, and failures that reach the limits of a trial make the node fall back to local.
 */

import { aborted } from '../aborted.js';
import { type ExactRef, formatRef, sameConfig } from '../api/config-ref.js';
import type { RejectedPods } from '../api/rejected-pods.js';
import { type Clock, rfc3339, withinMs } from '../clock.js';
import type { Deadline } from '../kube/requester.js';
import type { Log } from '../log.js';
import { type Choice, needsTrial } from './choose.js';
import type { Exit, KubeletDriver } from './drivers/driver.js';
import type { NodeState } from './state/node-state.js';
import { explainExit, keepKubeletLog, lastExitRecord } from './trial/exit.js';
import { type Baseline, checkHealth, type HealthzProbe, NodeCheck, type NodeView, PortCheck } from './trial/health.js';
import { type Checked, healthLoop, type Next } from './trial/health-loop.js';
import { PodCheck, rejectedPodsRecord } from './trial/rejected-pods.js';
import {
  afterCheck,
  afterCrash,
  beginOrResume,
  type Health,
  type NodeBefore,
  resultOf,
  type Trial,
  type TrialEnd,
  type TrialLimits,
  trialRecord,
  unhealthyBefore,
  withError,
} from './trial/trial.js';

export interface RunListener {
  /** The kubelet runs with this config. */
  onStarted(): void;
  /** The kubelet has answered, so its config is active; or there are new warnings. */
  onChange(): void;
  /** Healthy for the first time. */
  onHealthy(): void;
  /** The trial is over; the kubelet may continue to run. */
  onTrialEnd(end: TrialEnd): Promise<void>;
}

export interface KubeletRunOptions {
  choice: Choice;
  baseline: Baseline;
  limits: TrialLimits;
  state: NodeState;
  driver: KubeletDriver;
  probe: HealthzProbe;
  /** Undefined until there is a kubeconfig. */
  view(): NodeView | undefined;
  /** True when the node's client certificate has expired. */
  certificateExpired(): Promise<boolean>;
  clock: Clock;
  log: Log;
}

/** A restart of relet costs a trial at most this much of its healthy time: each save waits for the disk. */
const saveHealthyMs = 60_000;
const logPatienceMs = 2000;
const podsTimeoutMs = 1000;
const nothingBefore: NodeBefore = { nodeReady: false, apiAnswered: false, staticPods: false };

/** The host's deadline ended the trial, because the agent was too slow. The config is not started again. */
const overdue: TrialEnd = {
  kind: 'failed',
  reason: 'NotHealthy',
  cause: 'the kubelet was not healthy before the deadline on the host',
};

export class KubeletRun {
  choice: Choice;
  /** The next choice, once a restart is decided. From then on the status shows its error, not the one of `choice`. */
  next: Choice | undefined;
  /** Counts of the trial. Undefined when no other config could run, or the trial is over. */
  trial: Trial | undefined;
  /** The trial failed: the config needs another kubelet start to run again. */
  hasFailed = false;
  /** The kubelet has answered and is running. */
  alive = false;
  healthy = false;
  /** Description of the crash. */
  crash: string | undefined;
  /** Warnings collected while it ran. */
  warnings: string[] = [];
  /** Pods that ran before the trial of this config began and did not survive its first start. */
  rejectedPods: RejectedPods | undefined;
  readonly #options: KubeletRunOptions;
  #needsTrial: boolean;
  readonly #rebooted: boolean;
  readonly #countsPods: boolean;
  readonly #ports: PortCheck;
  readonly #node: NodeCheck;
  #pods: PodCheck | undefined;
  #startedMs = 0;
  #checkedMs = 0;
  /** Healthy time of the trial in its record. */
  #savedHealthyMs = 0;
  /** Fires when a trial begins while no health is checked. */
  #trialBegins = new AbortController();

  constructor(options: KubeletRunOptions) {
    this.#options = options;
    const { choice, state, driver, baseline } = options;
    this.choice = choice;
    this.#ports = new PortCheck(options, choice.accepted);
    this.#node = new NodeCheck(options);
    const { rejectedPods: _pods, ...nodeBefore } = baseline;
    this.#needsTrial = needsTrial(choice, state);
    const before = this.#needsTrial ? nodeBefore : nothingBefore;
    const fresh = { key: choice.key, source: choice.source, before, bootId: driver.bootId() };
    const isCounted = this.#needsTrial || choice.source !== undefined;
    this.trial = isCounted ? beginOrResume(state.read(trialRecord), fresh) : undefined;
    this.#rebooted = this.trial !== undefined && this.trial.bootId !== fresh.bootId;
    // After a boot, pods are rejected because devices and plugins are not there yet.
    this.#countsPods = this.#needsTrial && !this.#rebooted;
    const kept = state.read(rejectedPodsRecord);
    this.rejectedPods = kept?.key === choice.key ? kept.found : undefined;
  }

  /** Starts the kubelet and checks its health until it exits. */
  async untilExit(listener: RunListener): Promise<Exit> {
    const { driver, clock } = this.#options;
    const { source, document } = this.choice;
    const over = new AbortController();
    this.#startedMs = clock.monotonic();
    const exited = driver.start({ source, file: document.file }, listener.onStarted);
    // After the start, since a write waits for the disk: until the first crash the record has nothing new.
    this.saveTrial();
    if (this.rejectedPods === undefined) this.#options.state.remove(rejectedPodsRecord);
    const checked = this.#checkHealth(listener, over.signal);
    const exit = await exited;
    this.alive = false;
    over.abort();
    await checked;
    this.#node.unwatch();
    return exit;
  }

  /**
   * The same document, wherever it comes from. An edit of the local file takes effect at the next start, also under an
   * overlay: it is not a reason to restart.
   */
  isRunning(choice: Choice): boolean {
    const { source, document, payloadDigest, rank } = this.choice;
    if (this.hasFailed) return false;
    if (source === undefined || choice.source === undefined) return source === choice.source;
    if (document.digest === choice.document.digest) return true;
    return payloadDigest === choice.payloadDigest && rank === 'assigned' && choice.rank === 'assigned';
  }

  /** Other records name the bytes that run; the kubelet is not restarted. Another identity is on trial from now on. */
  moveTo({ rank, source: next, error, passedOver }: Choice, baseline?: Promise<Baseline | undefined>): void {
    const { error: _error, passedOver: _passedOver, ...rest } = this.choice;
    const { mergedDigest } = this.choice.document;
    const source = next && { ...next, ...(mergedDigest !== undefined && { mergedDigest }) };
    this.choice = { ...rest, rank, source, ...(error && { error }), ...(passedOver && { passedOver }) };
    this.next = undefined;
    if (source !== undefined) this.#moveTrial(baseline);
  }

  #moveTrial(baseline: Promise<Baseline | undefined> | undefined): void {
    const { state, driver } = this.#options;
    const { key, source } = this.choice;
    const wasOnTrial = this.onTrial;
    this.#needsTrial = needsTrial(this.choice, state);
    if (!this.#needsTrial) return;
    const trial = beginOrResume(this.trial, { key, source, before: nothingBefore, bootId: driver.bootId() });
    this.trial = { ...trial, ...(this.alive && { wasActive: true }) };
    this.#trialBegins.abort();
    // A last known good that was not on trial has no baseline yet.
    if (!wasOnTrial) void baseline?.then((taken) => this.#compareWith(taken, source));
  }

  #compareWith(baseline: Baseline | undefined, source: ExactRef | undefined): void {
    if (baseline === undefined || !this.trial || !sameConfig(this.trial.source, source, 'version')) return;
    const { rejectedPods: _pods, ...before } = baseline;
    this.trial = { ...this.trial, before };
    this.saveTrial();
  }

  /** The assigned config runs, and its trial is passed. */
  isLastKnownGood(): boolean {
    const { rank, source, key } = this.choice;
    if (rank !== 'assigned' || this.onTrial || !this.healthy) return false;
    return source === undefined || resultOf(this.#options.state, key)?.kind === 'passed';
  }

  /** Its kubelet has answered, or an earlier one in the same trial. */
  get wasActive(): boolean {
    return this.alive || this.trial?.wasActive === true;
  }

  get onTrial(): boolean {
    return this.#needsTrial && this.trial !== undefined;
  }

  get sinceStartMs(): number {
    return this.#options.clock.monotonic() - this.#startedMs;
  }

  /** Counts an exit that was not requested, if it is a crash. `end`: the crash reached the limit of the trial. */
  async exited(exit: Exit, { isStopping }: { isStopping: boolean }): Promise<{ crashed: boolean; end?: TrialEnd }> {
    const { clock, log, state, limits, certificateExpired } = this.#options;
    const isExpired = await certificateExpired();
    const cause = explainExit(exit, { stopping: isStopping, certificateExpired: isExpired });
    const crashed = cause.blame === 'config';
    const error = crashed ? await keepKubeletLog(this.#options, this.choice.key) : undefined;
    log.warn('kubelet exited', { why: cause.why, blame: cause.blame, error });
    const count = (state.read(lastExitRecord)?.count ?? 0) + 1;
    state.write(lastExitRecord, { at: rfc3339(clock.now()), ...cause, ...(error && { error }), count });
    if (crashed) this.crash = withError(cause.why, error);
    if (exit.overdue && this.trial !== undefined) return { crashed, end: overdue };
    if (isExpired && this.trial !== undefined) this.#restartDeadline(this.trial);
    if (this.trial === undefined || !crashed) return { crashed };
    // If the host has counted more crashes than relet has seen, its count decides.
    const limit = exit.rolledBack ? { ...limits, failedStarts: 1 } : limits;
    const { trial, step } = afterCrash(this.trial, { why: cause.why, error }, limit);
    this.trial = trial;
    this.saveTrial();
    return step.kind === 'continue' ? { crashed } : { crashed, end: step };
  }

  /** The time without a valid certificate does not count against the config, also not at the next start. */
  #restartDeadline({ unhealthy: _, ...trial }: Trial): void {
    this.trial = trial;
    this.saveTrial();
  }

  /** A last known good has a record only while something counts against it. */
  saveTrial(): void {
    const { state } = this.#options;
    const isSpotless = this.trial?.deaths === 0 && !this.trial.unhealthy?.ms;
    if (this.trial === undefined || (!this.#needsTrial && isSpotless)) state.remove(trialRecord);
    else state.write(trialRecord, this.trial);
    this.#savedHealthyMs = this.trial?.healthyMs ?? 0;
  }

  /** Until its trial is over; and again when the same bytes are on trial under another identity. */
  async #checkHealth(listener: RunListener, signal: AbortSignal): Promise<void> {
    const { clock, driver } = this.#options;
    for (let fromMs = this.#startedMs; !signal.aborted; fromMs = clock.monotonic()) {
      this.#trialBegins = new AbortController();
      await healthLoop({
        clock,
        startedMs: fromMs,
        countsFromMs: this.healthy ? fromMs : undefined,
        unhealthyBeforeMs: unhealthyBefore(this.trial, driver.bootId()),
        check: () => this.#check(listener, signal),
        before: () => this.trial?.before ?? nothingBefore,
        onChecked: (checked) => this.#onChecked(checked, listener, signal),
        signal,
      });
      if (!this.onTrial) this.#node.unwatch();
      if (this.trial === undefined) await aborted(AbortSignal.any([signal, this.#trialBegins.signal]));
    }
  }

  async #onChecked(checked: Checked, listener: RunListener, signal: AbortSignal): Promise<Next> {
    const { health, isHealthy, sinceStartMs, unhealthyMs } = checked;
    this.#checkedMs = this.#options.clock.monotonic();
    if (isHealthy && !this.healthy) this.#checkPods(listener, signal);
    // If no other config could run, this one becomes active after a while even if the kubelet never answers.
    const isOverdue = this.trial === undefined && sinceStartMs >= this.#options.limits.healthDeadlineMs;
    this.#becomes(listener, { alive: health.alive || isOverdue, healthy: isHealthy });
    const silent = !health.alive && this.choice.accepted.healthz !== undefined;
    if (this.trial === undefined) return this.healthy ? { kind: 'done' } : { kind: 'again', silent, trialLeftMs: 0 };
    const limits = this.#limits();
    // In whole seconds, since each change is written to disk.
    const unhealthy = { ms: Math.floor(unhealthyMs / 1000) * 1000, bootId: this.#options.driver.bootId() };
    const healthyMs = this.trial.healthyMs + checked.countedMs;
    const trial = { ...this.trial, healthyMs, unhealthy };
    const isWorthSaving =
      unhealthy.ms !== this.trial.unhealthy?.ms || healthyMs - this.#savedHealthyMs >= saveHealthyMs;
    this.trial = trial;
    if (isWorthSaving) this.saveTrial();
    const step = afterCheck({ trial, rebooted: this.#rebooted, ...checked }, limits);
    const excused = step.kind === 'failed' && (await this.#isCertificateExpired());
    if (excused) this.#restartDeadline(trial);
    if (step.kind === 'failed' && !excused) await this.#keepLog();
    // Before the end of the trial is reported, in one write with it.
    if (step.kind === 'passed' && this.onTrial && this.#pods)
      await withinMs(this.#options.clock, podsTimeoutMs, this.#pods.look(signal));
    if (step.kind !== 'continue' && !excused && (await this.#end(listener, step))) return { kind: 'done' };
    const trialLeftMs = this.trial ? limits.durationMs - this.trial.healthyMs : 0;
    return { kind: 'again', silent, trialLeftMs, excused };
  }

  #checkPods(listener: RunListener, signal: AbortSignal): void {
    const { baseline, view, clock } = this.#options;
    this.#pods = new PodCheck({
      view,
      since: () => ({ before: baseline.rejectedPods, startedAt: this.#startedAt() }),
      onFound: (warnings, ran) => {
        this.warnings = warnings;
        if (ran !== undefined && this.#countsPods) this.#keepRejected(ran);
        listener.onChange();
      },
      clock,
    });
    void this.#pods.afterStart(signal);
  }

  #keepRejected(found: RejectedPods): void {
    const { state } = this.#options;
    this.rejectedPods = found;
    state.write(rejectedPodsRecord, { key: this.choice.key, found });
  }

  /** Local must only be healthy once: it cannot become last known good. */
  #limits(): TrialLimits {
    const { limits } = this.#options;
    if (this.choice.source === undefined) return { ...limits, durationMs: 0 };
    return this.#needsTrial ? limits : { ...limits, durationMs: Math.min(limits.durationMs, limits.healthDeadlineMs) };
  }

  async #check(listener: RunListener, signal: AbortSignal): Promise<Health> {
    const { probe, clock } = this.#options;
    const { healthz } = this.choice.accepted;
    // The API is queried only if its answer counts: in a trial, and if only a Lease shows that the kubelet is alive.
    const asksApi = this.onTrial || healthz === undefined;
    if (this.onTrial) this.#node.watch();
    const isKubelets = async () => {
      // Reported before the API is queried.
      if (!this.alive && (await this.#ports.isKubelets())) this.#becomes(listener, { alive: true, healthy: false });
      return this.alive;
    };
    const nodeCheck = (limit: Deadline, needsLease: boolean) =>
      this.#node.check({ startedAt: this.#startedAt(), now: this.#mustAskNow(), needsLease }, limit);
    const health = await checkHealth({
      healthz,
      probe,
      nodeCheck: asksApi ? nodeCheck : undefined,
      clock,
      signal,
      isKubelets,
    });
    const { taken } = this.#ports;
    return health.alive || taken === undefined ? health : { ...health, taken };
  }

  /** At the end of a trial; and always where the API server itself may run on this node. */
  #mustAskNow(): boolean {
    const { trial } = this;
    const sinceCheckMs = this.#options.clock.monotonic() - this.#checkedMs;
    const isLast = trial !== undefined && trial.healthyMs + sinceCheckMs >= this.#limits().durationMs;
    return isLast || trial?.before.staticPods === true;
  }

  /** Counted back from now: the wall clock may have jumped since the start. */
  #startedAt(): number {
    return this.#options.clock.now() - this.sinceStartMs;
  }

  /** A kubelet whose certificate has expired waits for a new one, or exits, with any config. */
  async #isCertificateExpired(): Promise<boolean> {
    const { certificateExpired, log } = this.#options;
    if (!(await certificateExpired())) return false;
    log.warn('client certificate expired, failure not counted against the config');
    return true;
  }

  /** Keeps the log of a running kubelet that is to be rolled back; does not wait long for the journal. */
  async #keepLog(): Promise<void> {
    const { clock, log } = this.#options;
    const kept = keepKubeletLog(this.#options, this.choice.key).catch((error) =>
      log.warn('cannot save kubelet log', { error }),
    );
    await withinMs(clock, logPatienceMs, kept);
  }

  /** Returns false on failure, such as a full disk: it is retried after the next check. */
  async #end(listener: RunListener, end: TrialEnd): Promise<boolean> {
    try {
      await listener.onTrialEnd(end);
      return true;
    } catch (error) {
      this.#options.log.error('cannot record end of trial', { error });
      return false;
    }
  }

  /** Called before the config is reported as active: after a reset, a later agent may fall back to it. */
  #recordActive(): void {
    if (this.trial === undefined || this.trial.wasActive) return;
    this.trial = { ...this.trial, wasActive: true };
    this.saveTrial();
  }

  #becomes(listener: RunListener, { alive, healthy }: { alive: boolean; healthy: boolean }): void {
    if (alive && !this.alive) {
      this.alive = true;
      this.#recordActive();
      listener.onChange();
    }
    if (healthy && !this.healthy) {
      this.healthy = true;
      const config = formatRef(this.choice.source, 'log');
      this.#options.log.info('kubelet is healthy', { config, onTrial: this.onTrial });
      listener.onHealthy();
    }
  }
}
