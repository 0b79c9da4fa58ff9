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
import { backoffMs } from '../kube/backoff.js';
import type { ReconcileResult } from '../kube/work-queue.js';
import type { AgentOptions } from './agent-options.js';
import { type Choice, choose } from './choose.js';
import { CurrentRun } from './current-run.js';
import { type Exit, exitCode } from './drivers/driver.js';
import { FailureRetry } from './failure-retry.js';
import { KubeletRun } from './kubelet-run.js';
import { OwedActions, StateFiles } from './owed.js';
import * as events from './report/events.js';
import { shownLocalConfig } from './report/local-config.js';
import type { UpgradeReport } from './report/report.js';
import { updateReport } from './report/update-report.js';
import { holdRecord, requestRecord, takeRequest } from './requests.js';
import { type ApiSide, runApiSide } from './sync/api-side.js';
import { ChangePace } from './sync/change-pace.js';
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
import { environmentOf, pathsIn } from './trial/retry.js';
import { forgetFailures, type TrialEnd, type TrialFailure, trialRecord } from './trial/trial.js';
import { Detach, UnitFlow } from './unit-flow.js';
import { UpgradeRisk } from './upgrade-risk.js';

/** As long as a timer can wait. */
const idleMs = 2 ** 31 - 1;
const crashBackoff = { maxMs: 60_000, jitter: 0.1 };

export class Agent {
  readonly #options: AgentOptions;
  readonly #current: CurrentRun;
  readonly #pace: ChangePace;
  readonly #retry: FailureRetry;
  readonly #owed: OwedActions;
  readonly #upgrade: UpgradeRisk;
  /** Where the kubelet has a unit of its own. */
  readonly #unit: UnitFlow | undefined;
  readonly #detach: Detach | undefined;
  readonly #stateFiles: StateFiles;
  #api: ApiSide | undefined;
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
      onRestart: (run, next) => {
        this.#updateReport(run);
        this.#api?.sendEvent(events.changed(next.source));
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
    const over = new AbortController();
    const apiSide = runApiSide({
      ...this.#options,
      onConnected: (api) => (this.#api = api),
      sync: (api) => this.#sync(api, over.signal),
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
      await apiSide;
    }
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

  /** What to start next. Undefined where that has to be chosen again. */
  async #choose(changes: number, signal: AbortSignal): Promise<Choice | undefined> {
    const chosen = await this.#current.choose(signal);
    if (chosen === undefined) return undefined;
    await this.#upgrade.beforeStart(chosen, signal);
    const choice = this.#unit ? await this.#unit.beforeStart(chosen, signal) : chosen;
    if (choice === undefined || changes !== this.#current.changes) return undefined;
    await this.#stateFiles.beforeStart(choice);
    return choice;
  }

  /** From its start to its exit. */
  async #runKubelet(choice: Choice, signal: AbortSignal): Promise<{ run: KubeletRun; exit: Exit }> {
    const { options, counters } = this.#options;
    const { baseline } = this.#current;
    const view = () => this.#api?.view;
    const report = () => this.#updateReport();
    const run = new KubeletRun({ ...this.#options, limits: options.trial, choice, baseline, view });
    const over = new AbortController();
    this.#current.begin(run, AbortSignal.any([signal, over.signal]));
    this.#reportLocal();
    report();
    counters.kubeletStarts++;
    const watching = [
      this.#retry.watchFiles(run, over.signal),
      this.#upgrade.watchBinary(over.signal),
      this.#unit?.watchMerge(run, over.signal),
    ];
    const exit = await run.untilExit({
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
    await Promise.all(watching);
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
    const { state, counters, log } = this.#options;
    const { source, rank } = run.choice;
    if (run.onTrial) {
      passTrial(state, run.choice);
      await this.#stateFiles.trialPassed(run.choice);
      counters.passedTrials++;
      log.info('trial passed', { config: formatRef(source, 'log'), rank });
      if (source && rank === 'assigned') this.#api?.sendEvent(events.trialPassed(source));
    } else state.remove(trialRecord);
    run.trial = undefined;
    this.#updateReport();
    await this.#keep(run);
  }

  async #rollBack(run: KubeletRun, failure: TrialFailure): Promise<void> {
    const { state, documents, clock, counters, log } = this.#options;
    const { source, document } = run.choice;
    const named = source ? pathsIn(document.text) : [];
    const merged = document.mergedDigest === undefined ? [] : documents.localFiles().map(({ path }) => path);
    const environment = environmentOf(this.#options, [...named, ...merged]);
    failTrial(state, run.choice, failure, { at: new Date(clock.now()), environment });
    run.trial = undefined;
    run.hasFailed = true;
    counters.rollbacks++;
    const { reason, cause } = failure;
    const error = betaError(new ConfigError(reason, cause));
    log.error('config rolled back', { config: formatRef(source, 'log'), error, cause });
    this.#api?.sendEvent(events.rolledBack(source, error, cause));
    await this.#current.applyChoice();
  }

  // ── sync: watch, resolve, checkpoint, validate, assign, restart ──

  /** Something may have changed. Idempotent. Throws a ConfigError when the reference cannot be followed. */
  async #sync(api: ApiSide, signal: AbortSignal): Promise<ReconcileResult> {
    const { state, log } = this.#options;
    const isReplacement = this.#current.run?.choice.error?.outcome === 'rolled back';
    // Read again only when its time has come: each edit of a flood would otherwise cost three requests.
    const delayMs = isReplacement ? 0 : this.#pace.remainingMs;
    if (delayMs > 0) return { kind: 'requeue', afterMs: delayMs };
    const { changes } = this.#current;
    const instruction = await api.instruction(signal);
    if (instruction.kind === 'none') log.info('no instruction, nothing changes', { why: instruction.why });
    if (instruction.kind === 'none' || state.read(holdRecord)) return { kind: 'done' };
    if (this.#detach?.note(instruction)) this.#current.wake();
    const wanted = instruction.kind === 'source' ? await api.resolve(instruction.target, signal) : undefined;
    const assigned = state.assigned();
    const isNew = 'broken' in assigned || !sameConfig(assigned.source, wanted?.source, 'version');
    const waitMs = this.#pace.waitMs({ isNew, isReplacement, assigned: sourceOf(assigned), wanted: wanted?.source });
    if (waitMs > 0) return { kind: 'requeue', afterMs: waitMs };
    this.#arriving = wanted?.source;
    const saved = wanted !== undefined && checkpoint(state, wanted);
    // The API answers while the config is validated.
    const baseline = isNew ? this.#current.takeBaseline() : undefined;
    const next = isNew ? await this.#assign(wanted?.source, changes, signal) : undefined;
    this.#arriving = undefined;
    if (isNew && next === undefined) return { kind: 'requeue', afterMs: 0 };
    this.#owed.note(instruction.owed);
    if ((isNew || saved) && (await this.#current.applyChoice({ next, baseline }))) this.#pace.restarted();
    else this.#pace.settled();
    if (!isNew) this.#updateReport();
    if (!isNew && this.#current.run) await this.#detach?.leave(this.#current.run);
    return { kind: 'done' };
  }

  /**
   * Validated before anything is stopped. A rejected config is assigned all the same, and reported; it is only never started. Undefined
   * where something else was decided since `changes`, such as by a person on the host, who may want local and a hold.
   */
  async #assign(source: ExactRef | undefined, changes: number, signal: AbortSignal): Promise<Choice | undefined> {
    const { state, log, counters } = this.#options;
    this.#reportLocal();
    const isAnother = isAnotherAssignment(state, source);
    const run = this.#current.latest;
    // Asked again once the config is validated: the kubelet may have answered meanwhile.
    const replaces = () => (run?.wasActive ? run.choice.source : undefined);
    const records = recordsAfterAssign(state, source, replaces());
    const next = await choose(this.#options, signal, { ...records, ignoresFailures: isAnother });
    if (isAnother) await this.#unit?.forgetRemoval();
    if (changes !== this.#current.changes) return undefined;
    if (isAnother) forgetFailures(state);
    if (next.error !== undefined) counters.rejections++;
    assign(state, source, replaces());
    log.info('config assigned', { config: formatRef(source, 'log'), key: source?.kubeletConfigKey });
    return next;
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
    const unit = { notices: this.#unit?.notices() ?? [], nextStart: this.#unit?.nextStart(run) };
    updateReport({ ...this.#options, limits: this.#options.options.trial, owed, upgrade, unit }, run);
  }

  #reportUpgrade(report: UpgradeReport | undefined): void {
    this.#updateReport();
    if (report === undefined) return;
    const { log } = this.#options;
    log.warn('kubelet replaced', { ...report, details: report.details.join('; ') });
    if (report.risk !== 'none') this.#api?.sendEvent(events.upgradeRisk(report));
  }

  /** An operator on the host asked for something. */
  async handleHostRequest(): Promise<void> {
    const request = takeRequest(this.#options);
    if (request?.verb === 'retry' || request?.verb === 'release') await this.#unit?.forgetRemoval();
    this.#pace.reset();
    await this.#current.applyChoice();
    this.#api?.syncSoon();
  }
}
