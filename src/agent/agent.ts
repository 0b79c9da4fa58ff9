/**
 * The agent of one node: its whole reconcile flow.
 *
 *     watch ─► resolve ─► checkpoint ─► validate ─► assign ─► restart       sync: needs the API
 *                                          └─ rejected ─► report, run last known good
 *                                                    │
 *                                               node state on disk          the only thing that survives a restart
 *                                                    ▼
 *             load ─► validate ─► start ─► healthy? ─► report ─► trial passed   boot: needs nothing but disk
 *                        └─ rejected ─┴─ not ─► last known good ─► local
 *
 * Every kubelet start is a boot: the config is chosen from disk. So sync, a rollback and a request on the host all do the same: change the
 * records, then restart the kubelet if another config should run. create-agent.ts wires the parts.
 */
import { type ExactRef, formatRef, sameConfig } from '../api/config-ref.js';
import type { Clock } from '../clock.js';
import { backoffMs } from '../kube/backoff.js';
import type { Log } from '../log.js';
import type { Random } from '../random.js';
import type { Choice, ChooseOptions } from './choose.js';
import type { CurrentRun, Prepared } from './current-run.js';
import type { Detach } from './detach.js';
import { exitCode, type KubeletDriver } from './drivers/driver.js';
import type { KubeletBoot } from './kubelet-boot.js';
import type { LastKnownGood } from './last-known-good.js';
import type { OwedActions } from './owed.js';
import * as events from './report/events.js';
import type { NodeReport } from './report/node-report.js';
import { holdRecord, requestRecord, takeRequest } from './requests.js';
import type { RunPart } from './run-part.js';
import { type NodeState, sourceOf } from './state/node-state.js';
import type { ApiSide } from './sync/api-side.js';
import type { ChangePace } from './sync/change-pace.js';
import type { SyncPass, SyncResult } from './sync/sync-loop.js';
import { assign, checkpoint, isAnotherAssignment, recordsAfterAssign } from './transitions.js';
import { forgetFailures } from './trial/trial.js';
import type { UnitFlow } from './unit-flow.js';

export interface FlowParts {
  options: { onChange: 'restart' | 'exit'; crashDelayMs: number };
  state: NodeState;
  driver: KubeletDriver;
  api: ApiSide;
  /** Answers requests of analyses until the signal fires. */
  observe(signal: AbortSignal): Promise<void> | undefined;
  parts: readonly RunPart[];
  choose(signal: AbortSignal, options: ChooseOptions): Promise<Choice>;
  boot: KubeletBoot;
  current: CurrentRun;
  lastKnownGood: LastKnownGood;
  pace: ChangePace;
  owed: OwedActions;
  /** Set if the kubelet has a unit of its own. */
  unit: UnitFlow | undefined;
  detach: Detach | undefined;
  report: NodeReport;
  clock: Clock;
  random: Random;
  log: Log;
}

/** As long as a timer can wait. */
const idleMs = 2 ** 31 - 1;
const crashBackoff = { maxMs: 60_000, jitter: 0.1 };

export class Agent {
  readonly #parts: FlowParts;
  /** The event about the assigned config was sent when it was assigned. */
  #isReported = false;

  constructor(parts: FlowParts) {
    this.#parts = parts;
  }

  /** Runs until the signal fires; its reason may name the signal to stop the kubelet with. Returns the exit code. */
  async run(signal: AbortSignal): Promise<number> {
    const { state, driver, api, parts, report } = this.#parts;
    state.sync();
    // Requests that were left on the host while relet was not running.
    if (state.read(requestRecord) !== undefined) takeRequest(this.#parts);
    await driver.recover();
    await report.readHost();
    const over = new AbortController();
    const syncing = Promise.all([api.run(this, over.signal), this.#parts.observe(over.signal)]);
    const onStop = () => void driver.shutdown(signal.reason === 'SIGINT' ? 'SIGINT' : 'SIGTERM');
    signal.addEventListener('abort', onStop);
    try {
      return await this.#runLoop(signal);
    } finally {
      signal.removeEventListener('abort', onStop);
      // If relet exits for a config change, the status is written first. A stop does not wait for that.
      if (!signal.aborted) await api.flush();
      over.abort();
      for (const part of parts) part.stop?.();
      await syncing;
    }
  }

  // ── boot: load, validate, start, healthy?, report, trial passed ──

  /** Runs one kubelet after the other. */
  async #runLoop(signal: AbortSignal): Promise<number> {
    const { options, boot, current, pace, detach, report, random } = this.#parts;
    for (let crashes = 0; ; ) {
      if (detach?.exitCode !== undefined) return detach.exitCode;
      if (detach?.isDone) await this.#untilAttached(signal);
      const { changes } = current;
      const choice = await boot.choose(signal);
      // No await between here and the start: a stop that came before found no kubelet to stop.
      if (signal.aborted) return 0;
      if (choice === undefined || changes !== current.changes) continue;
      pace.settled();
      const { run, exit } = await boot.run(choice, signal);
      // A kubelet that had not installed its signal handler yet was killed by the signal, which is not a failure.
      if (signal.aborted) return exit.signal === signal.reason ? 0 : exitCode(exit);
      if (detach?.exitCode !== undefined) return detach.exitCode;
      if (exit.requested && options.onChange === 'exit') return 0;
      if (exit.requested) {
        // Another config follows: no backoff for the crashes of the previous one.
        crashes = 0;
        continue;
      }
      await boot.exited(run, exit, signal);
      if (signal.aborted || exit.last || options.onChange === 'exit') return exitCode(exit);
      report.publish();
      crashes = run.healthy ? 1 : crashes + 1;
      const delayMs = backoffMs(crashes, { initialMs: options.crashDelayMs, ...crashBackoff }, random);
      if (changes === current.changes) await current.pause(delayMs, signal);
      // Another config, also after a rollback: no backoff for the crashes of the previous one.
      if (changes !== current.changes) crashes = 0;
    }
  }

  /** Waits until another config is assigned, or a person on the host releases the node. */
  async #untilAttached(signal: AbortSignal): Promise<void> {
    const { current, detach, report } = this.#parts;
    report.update();
    report.publish();
    while (detach?.isDone && !signal.aborted) await current.pause(idleMs, signal);
  }

  // ── sync: watch, resolve, checkpoint, validate, assign, restart ──

  /** The next config replaces one that was rolled back, which is not delayed. */
  get #isCorrection(): boolean {
    return this.#parts.current.run?.choice.error?.outcome === 'rolled back';
  }

  readWaitMs(): number {
    return this.#isCorrection ? 0 : this.#parts.pace.readWaitMs;
  }

  /** One sync, called whenever something may have changed. Idempotent. Throws a ConfigError if the reference cannot be followed. */
  async sync(pass: SyncPass, signal: AbortSignal): Promise<SyncResult> {
    const { state, current, lastKnownGood, pace, owed, detach, report, log } = this.#parts;
    const { instruction } = pass;
    const { changes } = current;
    const isCorrection = this.#isCorrection;
    if (instruction.kind === 'none')
      log.info('no assignment found, keeping the current config', { why: instruction.why });
    if (instruction.kind === 'none' || state.read(holdRecord)) return { kind: 'followed' };
    if (detach?.note(instruction)) current.wake();
    const wanted = await pass.resolve();
    const assigned = state.assigned();
    const isNew = 'broken' in assigned || !sameConfig(assigned.source, wanted?.source, 'version');
    const jitterMs = pace.jitterMs(sourceOf(assigned), wanted?.source);
    if (jitterMs > 0) return { kind: 'waits', afterMs: jitterMs };
    lastKnownGood.arriving = wanted?.source;
    const saved = wanted !== undefined && checkpoint(state, wanted);
    const next = isNew ? await this.#assign(wanted?.source, { changes, pass, signal }) : undefined;
    lastKnownGood.arriving = undefined;
    if (isNew && next === undefined) return { kind: 'waits', afterMs: 0 };
    owed.note(instruction.owed);
    if (next !== undefined) pace.followed();
    const isDue = isNew || saved || pace.isRestartWaiting;
    const againMs = isDue ? await this.#apply(next, { isCorrection }) : undefined;
    if (!isNew) report.update();
    if (!isNew && current.run) await detach?.kept(current.run);
    return { kind: 'followed', ...(againMs !== undefined && { againMs }) };
  }

  /**
   * Validates a config before anything is stopped, and records it as assigned. A rejected config is assigned and reported too, but never
   * started. Returns undefined if the decision is out of date: the records have changed since `changes`, for example by a request on the
   * host or by a passed trial, or the reference has changed back. The kubelet keeps running then.
   */
  async #assign(
    source: ExactRef | undefined,
    { changes, pass, signal }: { changes: number; pass: SyncPass; signal: AbortSignal },
  ): Promise<Prepared | undefined> {
    const { state, api, current, unit, report, log } = this.#parts;
    report.updateLocal();
    const isAnother = isAnotherAssignment(state, source);
    const run = current.latest;
    // Checked again after validation: the kubelet may have answered meanwhile.
    const replaces = () => (run?.wasActive ? run.choice.source : undefined);
    const records = recordsAfterAssign(state, source, replaces());
    // Concurrent with validation: the API takes its time.
    const baseline = current.takeBaseline();
    const choice = await this.#parts.choose(signal, { ...records, ignoresFailures: isAnother, isArriving: true });
    if (isAnother) await unit?.forgetRemoval();
    if (changes !== current.changes) return undefined;
    if (pass.isTakenBack(sourceOf(state.assigned()))) {
      log.info('change taken back during validation, keeping the current config', { config: formatRef(source, 'log') });
      return undefined;
    }
    if (isAnother) forgetFailures(state);
    if (choice.error !== undefined) report.counters.rejections++;
    assign(state, source, replaces());
    log.info('config assigned', { config: formatRef(source, 'log'), key: source?.kubeletConfigKey });
    // As upstream: an event for each source that a Node is assigned, even if no restart follows.
    const isReported = pass.instruction.isNodes === true;
    if (isReported) api.send(events.changed(source));
    return { next: choice, baseline, isReported };
  }

  /** Restarts the kubelet if needed, now or after the returned time. */
  async #apply(assigned: Prepared = {}, { isCorrection }: { isCorrection: boolean }): Promise<number | undefined> {
    const { api, current, pace, report } = this.#parts;
    const { next, isReported = pace.isRestartWaiting && this.#isReported } = assigned;
    this.#isReported = isReported;
    const waitMs = (chosen: Choice) => (isCorrection ? 0 : pace.restartWaitMs(chosen));
    const applied = await current.applyChoice({ ...assigned, isReported, waitMs });
    if (applied.kind === 'waits') {
      pace.waits(applied.ms);
      report.update();
      return applied.ms;
    }
    if (applied.kind === 'restarts') pace.restarted();
    else {
      pace.settled();
      if (next !== undefined && next.error === undefined) api.send(events.unchanged(next.source));
    }
    return undefined;
  }

  /** Handles a request of an operator on the host. */
  async handleHostRequest(): Promise<void> {
    const { api, current, pace, unit } = this.#parts;
    const request = takeRequest(this.#parts);
    if (request?.verb === 'retry' || request?.verb === 'release') await unit?.forgetRemoval();
    pace.reset();
    await current.applyChoice();
    api.syncSoon();
  }
}
