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
import { formatRef } from '../api/config-ref.js';
import type { RejectedPods } from '../api/rejected-pods.js';
import { type Clock, rfc3339, withinMs } from '../clock.js';
import type { Deadline } from '../kube/requester.js';
import type { Log } from '../log.js';
import type { Choice } from './choose.js';
import type { Exit, KubeletDriver } from './drivers/driver.js';
import type { NodeState } from './state/node-state.js';
import { explainExit, keepKubeletLog, lastExitRecord } from './trial/exit.js';
import { type Baseline, checkHealth, type HealthzProbe, NodeCheck, type NodeView, PortCheck } from './trial/health.js';
import { type Checked, healthLoop, type Next } from './trial/health-loop.js';
import { PodCheck, rejectedPodsRecord } from './trial/rejected-pods.js';
import { type Health, resultOf, type Trial, type TrialEnd, type TrialLimits, withError } from './trial/trial.js';
import { TrialCount } from './trial/trial-count.js';

export interface RunListener {
  /** The kubelet runs with this config. */
  onStarted(run: KubeletRun): void;
  /** The kubelet has answered, so its config is active; or there are new warnings. */
  onChange(): void;
  /** Healthy for the first time. */
  onHealthy(run: KubeletRun): void;
  /** The trial is over; the kubelet may continue to run. */
  onTrialEnd(run: KubeletRun, end: TrialEnd): Promise<void>;
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
  listener: RunListener;
  clock: Clock;
  log: Log;
}

const logPatienceMs = 2000;
const podsTimeoutMs = 1000;

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
  /** The trial failed: the config needs another kubelet start to run again. */
  #hasFailed = false;
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
  readonly #count: TrialCount;
  readonly #ports: PortCheck;
  readonly #node: NodeCheck;
  readonly #pods: PodCheck;
  /** Fires when the kubelet has exited. */
  readonly #over = new AbortController();
  #startedMs = 0;
  #checkedMs = 0;
  /** Fires when a trial begins while no health is checked. */
  #trialBegins = new AbortController();

  constructor(options: KubeletRunOptions) {
    this.#options = options;
    const { choice, state, baseline, clock, view } = options;
    this.choice = choice;
    this.#count = new TrialCount(options);
    this.#ports = new PortCheck(options, choice.accepted);
    this.#node = new NodeCheck(options);
    this.#pods = new PodCheck({
      view,
      since: () => ({ before: baseline.rejectedPods, startedAt: this.#startedAt() }),
      onFound: (warnings, ran) => this.#onRejected(warnings, ran),
      clock,
    });
    const kept = state.read(rejectedPodsRecord);
    this.rejectedPods = kept?.key === choice.key ? kept.found : undefined;
  }

  /** Starts the kubelet and checks its health until it exits. */
  async untilExit(): Promise<Exit> {
    const { driver, state, clock, listener } = this.#options;
    const { source, document } = this.choice;
    this.#startedMs = clock.monotonic();
    const exited = driver.start({ source, file: document.file }, () => listener.onStarted(this));
    // After the start, since a write waits for the disk: until the first crash the record has nothing new.
    this.saveTrial();
    if (this.rejectedPods === undefined) state.remove(rejectedPodsRecord);
    const checked = this.#checkHealth();
    const exit = await exited;
    this.alive = false;
    this.#over.abort();
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
    if (this.#hasFailed) return false;
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
    const { alive } = this;
    if (source !== undefined && this.#count.moveTo(this.choice, { alive, baseline })) this.#trialBegins.abort();
    this.saveTrial();
  }

  /** The assigned config runs, and its trial is passed. */
  isLastKnownGood(): boolean {
    const { rank, source, key } = this.choice;
    if (rank !== 'assigned' || this.onTrial || !this.healthy) return false;
    return source === undefined || resultOf(this.#options.state, key)?.kind === 'passed';
  }

  get trial(): Trial | undefined {
    return this.#count.trial;
  }

  get onTrial(): boolean {
    return this.#count.onTrial;
  }

  /** Its kubelet has answered, or an earlier one in the same trial. */
  get wasActive(): boolean {
    return this.alive || this.trial?.wasActive === true;
  }

  get sinceStartMs(): number {
    return this.#options.clock.monotonic() - this.#startedMs;
  }

  saveTrial(): void {
    this.#count.save();
  }

  endTrial(end: TrialEnd['kind']): void {
    this.#hasFailed = end === 'failed';
    this.#count.end();
  }

  /** Counts an exit that was not requested, if it is a crash. `end`: the crash reached the limit of the trial. */
  async exited(exit: Exit, { isStopping }: { isStopping: boolean }): Promise<{ crashed: boolean; end?: TrialEnd }> {
    const { clock, log, state, certificateExpired } = this.#options;
    const isExpired = await certificateExpired();
    const cause = explainExit(exit, { stopping: isStopping, certificateExpired: isExpired });
    const crashed = cause.blame === 'config';
    const error = crashed ? await keepKubeletLog(this.#options, this.choice.key) : undefined;
    log.warn('kubelet exited', { why: cause.why, blame: cause.blame, error });
    const count = (state.read(lastExitRecord)?.count ?? 0) + 1;
    state.write(lastExitRecord, { at: rfc3339(clock.now()), ...cause, ...(error && { error }), count });
    if (crashed) this.crash = withError(cause.why, error);
    if (exit.overdue && this.trial !== undefined) return { crashed, end: overdue };
    if (isExpired) this.#count.restartDeadline();
    if (!crashed) return { crashed };
    const step = this.#count.crashed({ why: cause.why, error }, { rolledBack: exit.rolledBack === true });
    return step.kind === 'continue' ? { crashed } : { crashed, end: step };
  }

  /** Until its trial is over; and again when the same bytes are on trial under another identity. */
  async #checkHealth(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#over;
    for (let fromMs = this.#startedMs; !signal.aborted; fromMs = clock.monotonic()) {
      this.#trialBegins = new AbortController();
      await healthLoop({
        clock,
        startedMs: fromMs,
        countsFromMs: this.healthy ? fromMs : undefined,
        unhealthyBeforeMs: this.#count.unhealthyBeforeMs,
        check: () => this.#check(),
        before: () => this.#count.before,
        onChecked: (checked) => this.#onChecked(checked),
        signal,
      });
      if (!this.onTrial) this.#node.unwatch();
      if (this.trial === undefined) await aborted(AbortSignal.any([signal, this.#trialBegins.signal]));
    }
  }

  async #onChecked(checked: Checked): Promise<Next> {
    const { clock, limits } = this.#options;
    const { health, isHealthy, sinceStartMs } = checked;
    this.#checkedMs = clock.monotonic();
    if (isHealthy && !this.healthy) void this.#pods.afterStart(this.#over.signal);
    // If no other config could run, this one becomes active after a while even if the kubelet never answers.
    const isOverdue = this.trial === undefined && sinceStartMs >= limits.healthDeadlineMs;
    this.#becomes({ alive: health.alive || isOverdue, healthy: isHealthy });
    const silent = !health.alive && this.choice.accepted.healthz !== undefined;
    if (this.trial === undefined) return this.healthy ? { kind: 'done' } : { kind: 'again', silent, trialLeftMs: 0 };
    const step = this.#count.checked(checked);
    const excused = step.kind === 'failed' && (await this.#isCertificateExpired());
    if (excused) this.#count.restartDeadline();
    else if (step.kind !== 'continue' && (await this.#end(step))) return { kind: 'done' };
    return { kind: 'again', silent, trialLeftMs: this.#count.leftMs, excused };
  }

  #onRejected(warnings: string[], ran: RejectedPods | undefined): void {
    const { state, listener } = this.#options;
    this.warnings = warnings;
    if (ran !== undefined && this.#count.countsPods) {
      this.rejectedPods = ran;
      state.write(rejectedPodsRecord, { key: this.choice.key, found: ran });
    }
    listener.onChange();
  }

  async #check(): Promise<Health> {
    const { probe, clock } = this.#options;
    const { healthz } = this.choice.accepted;
    // The API is queried only if its answer counts: in a trial, and if only a Lease shows that the kubelet is alive.
    const asksApi = this.onTrial || healthz === undefined;
    if (this.onTrial) this.#node.watch();
    const isKubelets = async () => {
      // Reported before the API is queried.
      if (!this.alive && (await this.#ports.isKubelets())) this.#becomes({ alive: true, healthy: false });
      return this.alive;
    };
    const nodeCheck = (limit: Deadline, needsLease: boolean) =>
      this.#node.check({ startedAt: this.#startedAt(), now: this.#mustAskNow(), needsLease }, limit);
    const health = await checkHealth({
      healthz,
      probe,
      nodeCheck: asksApi ? nodeCheck : undefined,
      clock,
      signal: this.#over.signal,
      isKubelets,
    });
    const { taken } = this.#ports;
    return health.alive || taken === undefined ? health : { ...health, taken };
  }

  /** At the end of a trial; and always where the API server itself may run on this node. */
  #mustAskNow(): boolean {
    const sinceCheckMs = this.#options.clock.monotonic() - this.#checkedMs;
    const isLast = this.trial !== undefined && sinceCheckMs >= this.#count.leftMs;
    return isLast || this.#count.before.staticPods;
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

  /** Returns false on failure, such as a full disk: it is retried after the next check. */
  async #end(end: TrialEnd): Promise<boolean> {
    const { listener, clock, log } = this.#options;
    if (end.kind === 'failed') {
      const kept = keepKubeletLog(this.#options, this.choice.key);
      const late = kept.catch((error) => log.warn('cannot save kubelet log', { error }));
      // Does not wait long for the journal.
      await withinMs(clock, logPatienceMs, late);
    } else if (this.onTrial) {
      // Before the end of the trial is reported, in one write with it.
      await withinMs(clock, podsTimeoutMs, this.#pods.look(this.#over.signal));
    }
    try {
      await listener.onTrialEnd(this, end);
      return true;
    } catch (error) {
      log.error('cannot record end of trial', { error });
      return false;
    }
  }

  #becomes({ alive, healthy }: { alive: boolean; healthy: boolean }): void {
    const { listener, log } = this.#options;
    if (alive && !this.alive) {
      this.alive = true;
      this.#count.becameActive();
      listener.onChange();
    }
    if (healthy && !this.healthy) {
      this.healthy = true;
      log.info('kubelet is healthy', { config: formatRef(this.choice.source, 'log'), onTrial: this.onTrial });
      listener.onHealthy(this);
    }
  }
}
