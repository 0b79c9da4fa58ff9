/**
 * One node: the whole flow.
 *
 *     watch ─► resolve ─► checkpoint ─► validate ─► assign ─► restart       sync: needs the API
 *                                          └─ rejected ─► report, run last known good
 *                                                    │
 *                                               node state on disk          the only thing that survives a restart
 *                                                    ▼
 *             load ─► validate ─► start ─► healthy? ─► report ─► trial passed   boot: needs nothing but disk
 *                        └─ rejected ─┴─ not ─► last known good ─► local
 *
 * Every start is a boot: it chooses from disk. So sync, a rollback and a request on the host all do the same: they change the
 * records, and then the kubelet is restarted if another config should run.
 */

import { ConfigError } from '../api/config-error.js';
import { type ExactRef, formatRef, sameConfig } from '../api/config-ref.js';
import { betaError } from '../api/upstream-words.js';
import { rfc3339, withinMs } from '../clock.js';
import { backoffMs } from '../kube/backoff.js';
import type { AgentOptions } from './agent-options.js';
import { type Choice, choose, hasBytesOfLastKnownGood } from './choose.js';
import { CurrentRun, type TakenBaseline } from './current-run.js';
import { type Exit, exitCode } from './drivers/driver.js';
import { FailureRetry } from './failure-retry.js';
import { KubeletRun } from './kubelet-run.js';
import { OwedActions, StateFiles } from './owed.js';
import * as events from './report/events.js';
import { shownLocalConfig } from './report/local-config.js';
import type { UpgradeReport } from './report/report.js';
import { updateReport } from './report/update-report.js';
import { holdRecord, requestRecord, takeRequest } from './requests.js';
import { Rollback } from './rollback.js';
import { type ApiSide, runApiSide } from './sync/api-side.js';
import { ChangePace } from './sync/change-pace.js';
import type { SyncPass, SyncResult } from './sync/sync-loop.js';
import {
  assign,
  checkpoint,
  failTrial,
  garbageCollect,
  isAnotherAssignment,
  keepAsLastKnownGood,
  passTrial,
  recordsAfterAssign,
  sourceOf,
} from './transitions.js';
import { noteFailed, noteHealthy } from './trial/boot-crash.js';
import { environmentOf, pathsIn } from './trial/retry.js';
import { forgetFailures, type TrialEnd, type TrialFailure, trialRecord } from './trial/trial.js';
import { Detach, UnitFlow } from './unit-flow.js';
import { UpgradeRisk } from './upgrade-risk.js';

/** As long as a timer can wait. */
const idleMs = 2 ** 31 - 1;
const watchersMs = 1000;
const crashBackoff = { maxMs: 60_000, jitter: 0.1 };

/** A config that was just assigned. */
interface Assigned {
  /** The config that runs from now on, or its fallback. */
  choice: Choice;
  baseline: TakenBaseline;
  isReported: boolean;
}

export class Agent {
  readonly #options: AgentOptions;
  readonly #current: CurrentRun;
  readonly #pace: ChangePace;
  readonly #retry: FailureRetry;
  readonly #owed: OwedActions;
  readonly #upgrade: UpgradeRisk;
  /** Set if the kubelet has a unit of its own. */
  readonly #unit: UnitFlow | undefined;
  readonly #detach: Detach | undefined;
  readonly #stateFiles: StateFiles;
  readonly #rollback: Rollback;
  #api: ApiSide | undefined;
  /** The event about the assigned config was sent when it was assigned. */
  #isReported = false;
  /** Its checkpoint is saved, and no record names it before it is validated. */
  #arriving: ExactRef | undefined;
  /** The exit code, once it is decided. */
  #ends: number | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#pace = new ChangePace(options);
    this.#stateFiles = new StateFiles(options);
    const view = () => this.#api?.view;
    this.#current = new CurrentRun({
      ...options,
      view,
      onMoved: (run) => {
        this.#retry.choiceChanged();
        this.#keepRecords(run);
      },
      onRestart: (run, next, { isReported }) => {
        this.#updateReport(run);
        if (!isReported) this.#api?.events.send(events.changed(next.source));
      },
    });
    this.#retry = new FailureRetry(options, () => this.#current.applyChoice());
    this.#owed = new OwedActions({ ...options, view, onDone: () => this.#updateReport() });
    this.#upgrade = new UpgradeRisk({
      ...options,
      view,
      choose: (signal) => choose(options, signal),
      onChange: (report) => this.#reportUpgrade(report),
    });
    const { unit } = options.driver;
    this.#rollback = new Rollback({
      ...options,
      unit,
      onChange: () => this.#updateReport(),
      onDone: ({ source, error, cause }) => this.#api?.events.send(events.rolledBack(source, error, cause)),
    });
    this.#detach = unit && new Detach({ ...options, unit });
    this.#unit =
      unit &&
      new UnitFlow({
        ...options,
        unit,
        choose: (signal, records) => choose(options, signal, records),
        onChange: () => this.#updateReport(),
        restart: (run, next) => this.#current.restart(run, next),
      });
  }

  /** Until the signal fires; its reason may name the signal to stop the kubelet with. Returns the exit code. */
  async run(signal: AbortSignal): Promise<number> {
    const { driver, state } = this.#options;
    state.sync();
    // Left on the host while no relet ran.
    if (state.read(requestRecord) !== undefined) takeRequest(this.#options);
    await driver.recover();
    await this.#reportHost();
    const over = new AbortController();
    const apiSide = runApiSide({
      ...this.#options,
      onConnected: (api) => (this.#api = api),
      sync: { readWaitMs: () => this.#readWaitMs(), sync: (pass, until) => this.#sync(pass, until) },
      signal: over.signal,
    });
    const onStop = () => void driver.shutdown(signal.reason === 'SIGINT' ? 'SIGINT' : 'SIGTERM');
    signal.addEventListener('abort', onStop);
    try {
      return await this.#runLoop(signal);
    } finally {
      signal.removeEventListener('abort', onStop);
      // After a change that ends relet, the API should know why; a stop does not wait.
      if (!signal.aborted) await this.#api?.flush();
      over.abort();
      this.#owed.stop();
      this.#rollback.stop();
      await apiSide;
    }
  }

  /** The host may run another config than the one that was reported last: a power cut in a trial boots the last known good one. */
  async #reportHost(): Promise<void> {
    const { driver, reporter, log } = this.#options;
    const running = await driver.unit?.running().catch((error) => void log.warn('the unit cannot be read', { error }));
    if (running === undefined || sameConfig(running.source, reporter.latest.active, 'version')) return;
    reporter.update({ active: running.source });
    this.#reportLocal();
    this.#updateReport();
    reporter.publish();
  }

  // ── boot: load, validate, start, healthy?, report, trial passed ──

  /** One kubelet after another. */
  async #runLoop(signal: AbortSignal): Promise<number> {
    const { options, reporter, random } = this.#options;
    for (let crashes = 0; ; ) {
      if (this.#detach?.isDone && options.detach) return 0;
      if (this.#detach?.isDone) await this.#untilAttached(signal);
      const { changes } = this.#current;
      const choice = await this.#choose(changes, signal);
      // Nothing is awaited between here and the start: a stop that came before found no kubelet to stop.
      if (signal.aborted) return 0;
      if (choice === undefined || changes !== this.#current.changes) continue;
      const { run, exit } = await this.#runKubelet(choice, signal);
      // A kubelet that was too young to handle it was killed by the signal, and that is not a failure.
      if (signal.aborted) return exit.signal === signal.reason ? 0 : exitCode(exit);
      if (this.#ends !== undefined) return this.#ends;
      if (exit.requested && options.onChange === 'exit') return 0;
      if (exit.requested) {
        // The next config is another one: it does not wait for the crashes of the one before.
        crashes = 0;
        continue;
      }
      await this.#countExit(run, exit, signal);
      if (signal.aborted || exit.last || options.onChange === 'exit') return exitCode(exit);
      reporter.publish();
      crashes = run.healthy ? 1 : crashes + 1;
      const delayMs = backoffMs(crashes, { initialMs: options.crashDelayMs, ...crashBackoff }, random);
      if (changes === this.#current.changes) await this.#current.pause(delayMs, signal);
      // Another config does not wait for the crashes of the one before, after a rollback either.
      if (changes !== this.#current.changes) crashes = 0;
    }
  }

  /** Config to start next. Undefined if it has to be chosen again. */
  async #choose(changes: number, signal: AbortSignal): Promise<Choice | undefined> {
    const { isRollback } = this.#current;
    const chosen = await this.#current.choose(signal);
    if (chosen === undefined) return undefined;
    if (!isRollback) await this.#upgrade.beforeStart(chosen, signal);
    const choice = this.#unit ? await this.#unit.beforeStart(chosen, signal) : chosen;
    if (choice === undefined || changes !== this.#current.changes) return undefined;
    await this.#stateFiles.beforeStart(choice);
    return choice;
  }

  /** From its start to its exit. */
  async #runKubelet(choice: Choice, signal: AbortSignal): Promise<{ run: KubeletRun; exit: Exit }> {
    const { options, counters, clock } = this.#options;
    const { baseline } = this.#current;
    const view = () => this.#api?.view;
    const report = () => this.#updateReport();
    const run = new KubeletRun({ ...this.#options, limits: options.trial, choice, baseline, view });
    const over = new AbortController();
    this.#current.begin(run, AbortSignal.any([signal, over.signal]));
    this.#pace.settled();
    this.#reportLocal();
    report();
    counters.kubeletStarts++;
    const watching = [
      this.#retry.watchFiles(run, over.signal),
      this.#upgrade.watchBinary(over.signal),
      this.#unit?.watchMerge(run, over.signal),
    ];
    const exit = await run.untilExit({
      onStarted: () => this.#rollback.started(choice.source),
      onAlive: report,
      onWarnings: report,
      onHealthy: () => {
        void this.#unit?.confirmHealthy(over.signal);
        this.#keepRecords(run);
        this.#retry.onHealthy(run);
        void this.#upgrade.onHealthy(over.signal);
        if (options.detach && run.choice.source !== undefined) this.#endWith(1);
      },
      onTrialEnd: (end) => this.#endTrial(run, end),
    });
    this.#current.end();
    over.abort();
    // One of them may wait for a program on the host, and the next kubelet does not wait for that.
    await withinMs(clock, watchersMs, Promise.all(watching));
    return { run, exit };
  }

  /** Nobody asked for it: it may be a crash, and one too many. */
  async #countExit(run: KubeletRun, exit: Exit, signal: AbortSignal): Promise<void> {
    const { options, clock, driver, counters } = this.#options;
    counters.kubeletExits++;
    // A machine that shuts down ends everything at once; a moment later that can be seen.
    await clock.sleep(options.settleMs, signal).catch(() => {});
    const isStopping = signal.aborted || (await driver.isHostStopping());
    const { crashed, end } = await run.exited(exit, { isStopping });
    if (end) await this.#endTrial(run, end);
    else this.#updateReport(run);
    if (!end && crashed && this.#retry.onCrash(run)) this.#current.changed();
  }

  /** Until another config is assigned, or a person on the host releases the node. */
  async #untilAttached(signal: AbortSignal): Promise<void> {
    this.#updateReport();
    this.#options.reporter.publish();
    while (this.#detach?.isDone && !signal.aborted) await this.#current.pause(idleMs, signal);
  }

  #endWith(code: number): void {
    this.#ends = code;
    void this.#options.driver.stop();
  }

  async #endTrial(run: KubeletRun, end: TrialEnd): Promise<void> {
    if (end.kind === 'failed') return this.#rollBack(run, end);
    const { state, driver, counters, log } = this.#options;
    const { source, rank, document, error } = run.choice;
    if (error === undefined) noteHealthy(state, document.digest, driver.bootId());
    if (run.onTrial) {
      passTrial(state, run.choice);
      // Before anything is awaited: another config may take its place, on a trial of its own.
      run.trial = undefined;
      await this.#stateFiles.trialPassed({ source });
      counters.passedTrials++;
      log.info('trial passed', { config: formatRef(source, 'log'), rank });
      if (source && rank === 'assigned') this.#api?.events.send(events.trialPassed(source));
    } else {
      state.remove(trialRecord);
      run.trial = undefined;
    }
    this.#updateReport();
    await this.#keep(run);
  }

  async #rollBack(run: KubeletRun, failure: TrialFailure): Promise<void> {
    const { state, documents, driver, clock, counters } = this.#options;
    const { source, document } = run.choice;
    const named = source ? pathsIn(document.text) : [];
    const merged = document.mergedDigest === undefined ? [] : documents.localFiles().map(({ path }) => path);
    const environment = environmentOf(this.#options, [...named, ...merged]);
    const { reason, cause } = failure;
    if (hasBytesOfLastKnownGood(state, run.choice))
      noteFailed(state, document.digest, driver.bootId(), { at: rfc3339(clock.now()), cause });
    failTrial(state, run.choice, failure, { at: new Date(clock.now()), environment });
    run.trial = undefined;
    run.hasFailed = true;
    counters.rollbacks++;
    await this.#rollback.begin({ source, error: betaError(new ConfigError(reason, cause)), cause });
    await this.#current.rollBack(run);
  }

  // ── sync: watch, resolve, checkpoint, validate, assign, restart ──

  /** Something may have changed. Idempotent. Throws a ConfigError when the reference cannot be followed. */
  async #sync(pass: SyncPass, signal: AbortSignal): Promise<SyncResult> {
    const { instruction, resolve } = pass;
    const { state, log } = this.#options;
    const isCorrection = this.#isCorrection();
    const { changes } = this.#current;
    if (instruction.kind === 'none')
      log.info('no assignment found, keeping the current config', { why: instruction.why });
    if (instruction.kind === 'none' || state.read(holdRecord)) return { kind: 'followed' };
    if (this.#detach?.note(instruction)) this.#current.wake();
    const wanted = await resolve();
    const assigned = state.assigned();
    const isNew = 'broken' in assigned || !sameConfig(assigned.source, wanted?.source, 'version');
    const jitterMs = this.#pace.jitterMs(sourceOf(assigned), wanted?.source);
    if (jitterMs > 0) return { kind: 'waits', afterMs: jitterMs };
    this.#arriving = wanted?.source;
    const saved = wanted !== undefined && checkpoint(state, wanted);
    const next = isNew ? await this.#assign(wanted?.source, { changes, pass, signal }) : undefined;
    this.#arriving = undefined;
    if (isNew && next === undefined) return { kind: 'waits', afterMs: 0 };
    this.#owed.note(instruction.owed);
    if (next !== undefined) this.#pace.followed();
    const isDue = isNew || saved || this.#pace.isRestartWaiting;
    const againMs = isDue ? await this.#apply(next, { isCorrection }) : undefined;
    if (!isNew) this.#updateReport();
    if (!isNew && this.#current.run) await this.#detach?.leave(this.#current.run);
    return { kind: 'followed', ...(againMs !== undefined && { againMs }) };
  }

  /** The next config replaces one that was rolled back: that is not delayed. */
  #isCorrection(): boolean {
    return this.#current.run?.choice.error?.outcome === 'rolled back';
  }

  #readWaitMs(): number {
    return this.#isCorrection() ? 0 : this.#pace.readWaitMs;
  }

  /** Restarts the kubelet where that is needed, now or after the time that is returned. */
  async #apply(next: Assigned | undefined, { isCorrection }: { isCorrection: boolean }): Promise<number | undefined> {
    const wasReported = this.#pace.isRestartWaiting && this.#isReported;
    const { choice, baseline, isReported = wasReported } = next ?? {};
    this.#isReported = isReported;
    const waitMs = (chosen: Choice) => (isCorrection ? 0 : this.#pace.restartWaitMs(chosen));
    const applied = await this.#current.applyChoice({ next: choice, baseline, isReported, waitMs });
    if (applied.kind === 'waits') {
      this.#pace.waits(applied.ms);
      this.#updateReport();
      return applied.ms;
    }
    if (applied.kind === 'restarts') this.#pace.restarted();
    else {
      this.#pace.settled();
      if (choice !== undefined && choice.error === undefined) this.#api?.events.send(events.unchanged(choice.source));
    }
    return undefined;
  }

  /**
   * Validated before anything is stopped. A rejected config is assigned all the same, and reported; it is only never started. Undefined
   * where something else was decided since `changes`, such as by a person on the host, who may want local and a hold, and where the
   * reference was taken back meanwhile: the kubelet keeps running.
   */
  async #assign(
    source: ExactRef | undefined,
    { changes, pass, signal }: { changes: number; pass: SyncPass; signal: AbortSignal },
  ): Promise<Assigned | undefined> {
    const { state, log, counters } = this.#options;
    this.#reportLocal();
    const isAnother = isAnotherAssignment(state, source);
    const run = this.#current.latest;
    // Asked again once the config is validated: the kubelet may have answered meanwhile.
    const replaces = () => (run?.wasActive ? run.choice.source : undefined);
    const records = recordsAfterAssign(state, source, replaces());
    // The API answers while the config is validated.
    const baseline = this.#current.takeBaseline();
    const choice = await choose(this.#options, signal, { ...records, ignoresFailures: isAnother });
    if (isAnother) await this.#unit?.forgetRemoval();
    if (changes !== this.#current.changes || pass.isTakenBack(sourceOf(state.assigned()))) return undefined;
    if (isAnother) forgetFailures(state);
    if (choice.error !== undefined) counters.rejections++;
    assign(state, source, replaces());
    log.info('config assigned', { config: formatRef(source, 'log'), key: source?.kubeletConfigKey });
    // As upstream: for each source that a Node is assigned, whatever follows.
    const isReported = pass.instruction.isNodes === true;
    if (isReported) this.#api?.events.send(events.changed(source));
    return { choice, baseline, isReported };
  }

  /** The assigned config that runs and has passed its trial is last known good; and unused checkpoints can be deleted. */
  #keepRecords(run: KubeletRun): void {
    const { state, log } = this.#options;
    if (run.isLastKnownGood()) keepAsLastKnownGood(state, run.choice.source, log);
    garbageCollect(state, log, this.#arriving);
    this.#updateReport();
    void this.#keep(run);
  }

  async #keep(run: KubeletRun): Promise<void> {
    if (run.isLastKnownGood()) await this.#unit?.keep(run);
    await this.#detach?.leave(run);
  }

  #reportLocal(): void {
    const { documents, commandLine, reporter } = this.#options;
    reporter.update({ localConfig: shownLocalConfig(documents.localFiles()), kubeletFlags: commandLine.shown });
  }

  #updateReport(run = this.#current.run): void {
    const owed = this.#owed.update(run);
    const upgrade = this.#upgrade.report;
    const notices = [...this.#rollback.notices(), ...(this.#unit?.notices() ?? [])];
    const unit = { notices: this.#unit ? notices : [], nextStart: this.#unit?.nextStart(run) };
    updateReport({ ...this.#options, limits: this.#options.options.trial, owed, upgrade, unit }, run);
  }

  #reportUpgrade(report: UpgradeReport | undefined): void {
    this.#updateReport();
    if (report === undefined) return;
    const { log } = this.#options;
    log.warn('kubelet replaced', { ...report, details: report.details.join('; ') });
    if (report.risk !== 'none') this.#api?.events.send(events.upgradeRisk(report));
  }

  /** An operator on the host asked for something. */
  async handleHostRequest(): Promise<void> {
    const request = takeRequest(this.#options);
    if (request?.verb === 'retry' || request?.verb === 'release') await this.#unit?.forgetRemoval();
    this.#pace.reset();
    await this.#current.applyChoice();
    this.#api?.syncLoop.soon();
  }
}
