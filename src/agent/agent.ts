/**
 * One node, whole: what runs, why, and what happens next.
 *
 *     watch ─► resolve ─► checkpoint ─► judge ─► assign ─► restart       sync: needs the API
 *                                         └─ refused ─► report, run last known good
 *                                                   │
 *                                                 disk                   the only thing that crosses a restart
 *                                                   ▼
 *             load ─► judge ─► start ─► healthy? ─► report ─► graduate   boot: needs nothing but disk
 *                       └─ refused ─┴─ not ─► last known good ─► local
 *
 * Every start is a boot: it chooses from disk. So sync, a rollback and a person on the host all do the same: they change
 * what is remembered, and then let the kubelet be restarted if another config should run.
 */

import { ConfigError } from '../api/config-error.js';
import { type ExactRef, formatRef, sameConfig } from '../api/config-ref.js';
import { backoffMs } from '../kube/backoff.js';
import type { ReconcileResult } from '../kube/work-queue.js';
import { rfc3339 } from '../time.js';
import type { AgentParts } from './agent-parts.js';
import { type Choice, choose, chooseOrWait, consider, failuresOf, isOutdated } from './choose.js';
import { exitCode } from './drivers/driver.js';
import { Pause } from './pause.js';
import { announce } from './report/announce.js';
import * as events from './report/events.js';
import { holdRecord, takeRequest } from './requests.js';
import { forgetFailures } from './results.js';
import { Run } from './run.js';
import { type ApiSide, talkToApi } from './sync/api-side.js';
import { EditJitter } from './sync/edit-jitter.js';
import { RestartLimit } from './sync/restart-limit.js';
import {
  assign,
  checkpoint,
  garbageCollect,
  isAnotherAssignment,
  keepAsLastKnownGood,
  retry,
  sourceOf,
} from './transitions.js';
import { Doubt } from './trial/doubt.js';
import { type Baseline, takeBaseline } from './trial/health.js';
import { retriesOnce } from './trial/retry.js';
import type { TrialEnd } from './trial/trial.js';
import { concludeTrial } from './trial/trial-end.js';
import { RememberedJudge } from './validate/remembered-judge.js';

/** How often the files are looked at that a failed config names. */
const retryCheckMs = 30_000;
const crashBackoff = { initialMs: 1000, maxMs: 60_000, jitter: 0.1 };

export class Agent {
  readonly #parts: AgentParts;
  readonly #judge: RememberedJudge;
  readonly #jitter: EditJitter;
  readonly #limit: RestartLimit;
  #api: ApiSide | undefined;
  #run: Run | undefined;
  /** Counts what may alter the choice, so that a boot under way notices. */
  #changes = 0;
  readonly #pause: Pause;
  readonly #doubt: Doubt;
  /** Its checkpoint is saved, and while it is judged no record names it yet. */
  #arriving: ExactRef | undefined;
  #before: Baseline = { nodeReady: false, apiAnswered: false, staticPods: false };

  constructor(parts: AgentParts) {
    this.#judge = new RememberedJudge(parts.judge);
    this.#parts = { ...parts, judge: this.#judge };
    this.#jitter = new EditJitter(parts.clock, parts.options.inPlaceJitterMs, parts.random);
    this.#limit = new RestartLimit(parts.clock, parts.options.maxRestartDelayMs);
    this.#pause = new Pause(parts.clock);
    this.#doubt = new Doubt(parts.options.trial.failedStarts);
  }

  /** Until the signal fires; its reason may name the signal to end the kubelet with. Returns the exit code. */
  async run(signal: AbortSignal): Promise<number> {
    const { driver } = this.#parts;
    await driver.recover();
    const talking = new AbortController();
    const talk = talkToApi(this.#parts, {
      onConnected: (api) => (this.#api = api),
      pass: (api) => this.#pass(api, talking.signal),
      signal: talking.signal,
    });
    const onStop = () => void driver.shutdown(signal.reason === 'SIGINT' ? 'SIGINT' : 'SIGTERM');
    signal.addEventListener('abort', onStop);
    try {
      return await this.#live(signal);
    } finally {
      signal.removeEventListener('abort', onStop);
      // After a change that ends relet, the API should know why; a stop does not wait.
      if (!signal.aborted) await this.#api?.flush();
      talking.abort();
      await talk;
    }
  }

  // ── boot: load, judge, start, healthy?, report, graduate ──

  /** One kubelet after another. Each start chooses anew, from disk. */
  async #live(signal: AbortSignal): Promise<number> {
    const { state, log, options, reporter } = this.#parts;
    const tell = () => announce(this.#parts, this.#run);
    for (let crashes = 0; ; ) {
      const changes = this.#changes;
      const choice = await chooseOrWait(this.#parts, signal);
      if (choice === undefined) return 0;
      if (changes !== this.#changes) continue;
      const run = new Run({ parts: this.#parts, choice, before: this.#before, view: () => this.#api?.view });
      this.#run = run;
      tell();
      const over = new AbortController();
      const retrying = this.#retryAfterChange(run, over.signal);
      const exit = await run.keep({
        onAlive: tell,
        onWarnings: tell,
        onHealthy: () => {
          this.#keepRecords(run);
          this.#retryOnce(run);
        },
        onTrialEnd: (end) => this.#endTrial(run, end),
      });
      this.#run = undefined;
      over.abort();
      await retrying;
      // One that was too young to hear it died of the signal, and that is no failure.
      if (signal.aborted) return exit.signal === signal.reason ? 0 : exitCode(exit);
      if (exit.requested && options.onChange === 'exit') return 0;
      if (exit.requested) {
        // What runs next is another config: it does not wait for the deaths of the one before.
        crashes = 0;
        continue;
      }
      const { blamed, end } = await run.died(exit, signal);
      if (end) await this.#endTrial(run, end);
      else announce(this.#parts, run);
      if (!end && blamed && this.#doubt.lifts(run, state, log)) this.#changes++;
      if (signal.aborted || exit.last || options.onChange === 'exit') return exitCode(exit);
      reporter.publish();
      crashes = run.healthy ? 1 : crashes + 1;
      if (changes === this.#changes)
        await this.#pause.sleep(backoffMs(crashes, crashBackoff, this.#parts.random), signal);
    }
  }

  async #endTrial(run: Run, end: TrialEnd): Promise<void> {
    concludeTrial(this.#parts, this.#api, run, end);
    if (end.kind === 'failed') await this.#settle();
    else announce(this.#parts, this.#run);
  }

  /** Its fallback is healthy: a config that was last known good is started once more, in case something else was broken. */
  #retryOnce(run: Run): void {
    const { state, options, driver, log } = this.#parts;
    if (run.choice.rank !== 'local') return;
    const tookLong = run.startedAgoMs >= options.trial.healthDeadlineMs;
    const failed = failuresOf(run.choice).find(({ failure }) => retriesOnce(failure, { tookLong }));
    if (failed === undefined) return;
    const { key, failure } = failed;
    const deaths = options.trial.failedStarts - 1;
    retry(state, failed, { key, deaths, bootId: driver.bootId() });
    log.info('the fallback is healthy, the last known good is started once more', { cause: failure.cause });
    void this.#settle().catch((error) => log.error('retry failed', { error }));
  }

  /** Nobody reports that a file has changed which a failed config names. Returns when the signal fires. */
  async #retryAfterChange(run: Run, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts;
    for (;;) {
      await clock.sleep(retryCheckMs, signal).catch(() => {});
      if (signal.aborted) return;
      if (!failuresOf(run.choice).some(({ failure }) => isOutdated(this.#parts, failure))) continue;
      this.#judge.forget();
      await this.#settle().catch((error) => log.error('retry failed', { error }));
    }
  }

  // ── sync: watch, resolve, checkpoint, judge, assign, restart ──

  /** Something may have changed. Run twice, it does nothing the second time. Throws a ConfigError when it cannot be followed. */
  async #pass(api: ApiSide, signal: AbortSignal): Promise<ReconcileResult> {
    const { state, log } = this.#parts;
    // Read again only when its time has come: each edit of a flood would otherwise cost three requests.
    const delayMs = this.#hasFailedTrial ? 0 : this.#limit.remainingMs;
    if (delayMs > 0) return { kind: 'requeue', afterMs: delayMs };
    const instruction = await api.instruction(signal);
    if (instruction.kind === 'none') log.info('no instruction, nothing changes', { why: instruction.why });
    if (instruction.kind === 'none' || state.read(holdRecord)) return { kind: 'done' };
    const wanted = instruction.kind === 'source' ? await api.resolve(instruction.target, signal) : undefined;
    const assigned = state.assigned();
    const isNew = 'broken' in assigned || !sameConfig(assigned.source, wanted?.source, 'version');
    const waitMs = this.#delay(isNew) || this.#jitter.waitMs(sourceOf(assigned), wanted?.source);
    if (waitMs > 0) return { kind: 'requeue', afterMs: waitMs };
    this.#arriving = wanted?.source;
    const saved = wanted !== undefined && checkpoint(state, wanted);
    // The API answers while the config is judged.
    const before = isNew ? this.#takeBaseline() : undefined;
    if (isNew) await this.#assign(wanted?.source, signal);
    this.#arriving = undefined;
    if ((isNew || saved) && (await this.#settle(before))) this.#limit.restarted();
    else this.#limit.settled();
    return { kind: 'done' };
  }

  /** How long a change must wait because others came shortly before it. Whoever replaces a config that failed does not. */
  #delay(isNew: boolean): number {
    const { clock, counters, log, reporter } = this.#parts;
    const waitMs = isNew && !this.#hasFailedTrial ? this.#limit.waitMs() : 0;
    const until = waitMs > 0 ? rfc3339(clock.now() + waitMs + 999) : undefined;
    if (until !== undefined) {
      counters.delayedChanges++;
      log.warn('config keeps changing, kubelet restart delayed', { until });
    }
    reporter.update({ restartDelayedUntil: until });
    return waitMs;
  }

  get #hasFailedTrial(): boolean {
    return this.#run?.choice.fault?.outcome === 'rolled back';
  }

  /** Judged before anything is stopped. What is refused is assigned all the same, and reported; it only never runs. */
  async #assign(source: ExactRef | undefined, signal: AbortSignal): Promise<void> {
    const { state, log, counters } = this.#parts;
    if (isAnotherAssignment(state, source)) forgetFailures(state);
    this.#judge.forget();
    await consider(this.#parts, 'assigned', { source }, signal).catch((error) => {
      if (!(error instanceof ConfigError)) throw error;
      counters.refusals++;
    });
    assign(state, source, this.#run?.healthy ? this.#run.choice.source : undefined);
    log.info('config assigned', { config: formatRef(source, 'log'), key: source?.kubeletConfigKey });
  }

  /** Lets run what should run. The same bytes are not restarted: only the records move. True when another config starts. */
  async #settle(before?: Promise<Baseline | undefined>): Promise<boolean> {
    const run = this.#run;
    this.#changes++;
    this.#pause.wake();
    if (run === undefined) return true;
    const next = await choose(this.#parts, new AbortController().signal);
    if (run !== this.#run) return true;
    if (!run.isRunning(next)) {
      await this.#restart(run, next, before);
      return true;
    }
    run.moveTo(next);
    this.#keepRecords(run);
    return false;
  }

  /** The one place that restarts. The kubelet's end lets #live choose again. */
  async #restart(run: Run, next: Choice, asked = this.#takeBaseline()): Promise<void> {
    const { driver, log } = this.#parts;
    const [isStopping, before] = await Promise.all([driver.isHostStopping(), asked]);
    if (isStopping) return log.info('the machine is going down, the kubelet is not restarted');
    run.instead = next;
    announce(this.#parts, run);
    if (before) this.#before = before;
    this.#api?.tell(events.changed(next.source));
    log.info('kubelet restarts', { config: formatRef(next.source, 'log'), rank: next.rank });
    await driver.stop();
  }

  async #takeBaseline(): Promise<Baseline | undefined> {
    const { hostFiles, clock } = this.#parts;
    const { staticPodPath } = this.#run?.choice.accepted ?? {};
    return this.#run && takeBaseline({ view: this.#api?.view, hostFiles, staticPodPath, clock });
  }

  /** What is assigned, runs, and has proven itself is last known good; and what nothing names any more can go. */
  #keepRecords(run: Run): void {
    const { state, log } = this.#parts;
    if (run.hasProven()) keepAsLastKnownGood(state, run.choice.source, log);
    if (!this.#judge.isJudging)
      garbageCollect(state, log, { source: this.#arriving, converted: this.#judge.configFiles });
    announce(this.#parts, this.#run);
  }

  /** A person on the host asked for something. */
  async heed(): Promise<void> {
    takeRequest(this.#parts);
    this.#judge.forget();
    this.#limit.reset();
    await this.#settle();
    this.#api?.syncSoon();
  }
}
