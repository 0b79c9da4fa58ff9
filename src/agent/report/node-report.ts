/**
 * Computes the report from what runs and what is recorded. `active` is the config whose kubelet has answered and runs; while
 * none does, it stays the one that was active last, and so does the error, as long as it is about the assigned config.
 *
 *   kubelet                         active   error
 *   alive                           it       why a more trusted config does not run
 *   alive, and another is chosen    it       why a more trusted config will not run
 *   none yet, or started            last     last
 *   crashed, as a fallback          last     why a more trusted config does not run
 *   crashed, on trial               last     last: the trial counts, and nothing is decided
 *   crashed, else                   last     that it crashes
 */
import { ConfigError } from '../../api/config-error.js';
import { type ExactRef, sameConfig } from '../../api/config-ref.js';
import type { TrialState } from '../../api/node-config.js';
import { type Clock, rfc3339 } from '../../clock.js';
import type { Log } from '../../log.js';
import { type Choice, FailedBefore, type KubeletCommandLine } from '../choose.js';
import type { Documents } from '../documents.js';
import type { KubeletDriver, Notice } from '../drivers/driver.js';
import type { KubeletRun } from '../kubelet-run.js';
import { detachRecord, holdRecord } from '../requests.js';
import { type NodeState, sourceOf } from '../state/node-state.js';
import { bootCrashOf } from '../trial/boot-crash.js';
import { kubeletLogRecord } from '../trial/exit.js';
import { type Trial, type TrialLimits, trialRecord } from '../trial/trial.js';
import { shownLocalConfig } from './local-config.js';
import type { Counters } from './metrics.js';
import type { Report } from './report.js';
import type { Reporter, ReportFields } from './reporter.js';

/** A part of the agent that adds to the report. */
export interface ReportSource {
  /** Fields of the report; undefined clears one. The run is the present one, if there is one. */
  reported?(run: KubeletRun | undefined): Partial<ReportFields>;
  notices?(): Notice[];
}

export interface NodeReportOptions {
  state: NodeState;
  reporter: Reporter;
  driver: Pick<KubeletDriver, 'name' | 'unit'>;
  limits: TrialLimits;
  clock: Clock;
  log: Log;
  documents: Documents;
  commandLine: KubeletCommandLine;
  /** The present run, if there is one. */
  run(): KubeletRun | undefined;
}

export class NodeReport {
  readonly #options: NodeReportOptions;
  #sources: readonly ReportSource[] = [];

  readonly counters: Counters;

  constructor(options: NodeReportOptions) {
    this.#options = options;
    this.counters = options.reporter.counters;
  }

  add(sources: readonly ReportSource[]): void {
    this.#sources = sources;
  }

  update(run = this.#options.run()): void {
    const { state, reporter, driver, limits } = this.#options;
    const assigned = sourceOf(state.assigned());
    const lastKnownGood = sourceOf(state.lastKnownGood());
    const { active, configError } = whatRuns(run, assigned, reporter.latest);
    const notices = this.#sources.flatMap((source) => source.notices?.() ?? []);
    reporter.update({
      assigned,
      lastKnownGood: trusted(lastKnownGood, run, state.read(trialRecord)),
      active,
      configError,
      kubeletLog: kubeletLogOf(state, configError),
      ...(run && {
        warnings: [...run.choice.accepted.warnings, ...run.warnings],
        rejectedPods: run.rejectedPods,
        pinnedByFlags: run.choice.accepted.pinnedByFlags,
      }),
      trial: run && trialState(this.#options, run, reporter.latest.trial?.endsAt),
      held: state.read(holdRecord),
      detached: state.read(detachRecord)?.done === undefined ? undefined : true,
      bootCrash: bootCrashOf(state),
      driver: driver.name,
      trialSeconds: Math.round(limits.durationMs / 1000),
      notices: notices.length > 0 ? notices : undefined,
      ...Object.assign({}, ...this.#sources.map((source) => source.reported?.(run))),
    });
    if (run?.alive) reporter.publish();
  }

  /** Reads the local config and the flags again. */
  updateLocal(): void {
    const { documents, commandLine, reporter } = this.#options;
    reporter.update({ localConfig: shownLocalConfig(documents.localFiles()), kubeletFlags: commandLine.shown });
  }

  /** The report is valid from now on, also if no kubelet runs. */
  publish(): void {
    this.#options.reporter.publish();
  }

  /** The host may run another config than the one that was reported last: a power cut in a trial boots the last known good one. */
  async readHost(): Promise<void> {
    const { driver, reporter, log } = this.#options;
    const running = await driver.unit?.running().catch((error) => void log.warn('cannot read kubelet unit', { error }));
    if (running === undefined || sameConfig(running.source, reporter.latest.active, 'version')) return;
    reporter.update({ active: running.source });
    this.updateLocal();
    this.update();
    this.publish();
  }
}

export type RunState = Pick<KubeletRun, 'choice' | 'next' | 'alive' | 'crash' | 'onTrial'>;

/** The config that runs is not on trial, and its kubelet crashed. */
class KubeletCrashed extends ConfigError {
  readonly key: string;

  constructor(key: string, crash: string) {
    super('KubeletCrashed', new Error(crash));
    this.key = key;
  }
}

/** The lines of the kubelet that the error is about, also of one that an earlier relet ran. */
function kubeletLogOf(state: NodeState, error: ConfigError | undefined): string[] | undefined {
  const isAboutRun = error instanceof FailedBefore || error instanceof KubeletCrashed;
  return isAboutRun ? state.read(kubeletLogRecord)?.[error.key] : undefined;
}

/** Pure; the table above. */
export function whatRuns(
  run: RunState | undefined,
  assigned: ExactRef | undefined,
  last: Pick<Report, 'assigned' | 'active' | 'configError'>,
): { active: ExactRef | undefined; configError: ConfigError | undefined } {
  const { active } = last;
  const next = run?.next ?? run?.choice;
  if (run?.alive) return { active: run.choice.source, configError: next?.error };
  if (run?.crash !== undefined && next?.error !== undefined) return { active, configError: next.error };
  if (run?.crash !== undefined && !run.onTrial)
    return { active, configError: new KubeletCrashed(run.choice.key, run.crash) };
  return { active, configError: sameConfig(assigned, last.assigned, 'version') ? last.configError : undefined };
}

/** Last known good for the report: undefined while it cannot run, or is being retried after a failure. */
function trusted(
  lastKnownGood: ExactRef | undefined,
  run: KubeletRun | undefined,
  trial: Trial | undefined,
): ExactRef | undefined {
  if (run === undefined) return lastKnownGood;
  const next = run.next ?? run.choice;
  const isRetry = trial?.isRetry === true && trial.key === next.key;
  const untrusted = [...passedOver(next), ...(isRetry ? [next.source] : [])];
  return untrusted.some((source) => sameConfig(source, lastKnownGood, 'document')) ? undefined : lastKnownGood;
}

const passedOver = (choice: Choice) => (choice.passedOver ?? []).map(({ source }) => source);

/** Smaller changes do not cause a status write. */
const endsAtToleranceMs = 10_000;

function trialState(
  { clock, limits }: Pick<NodeReportOptions, 'clock' | 'limits'>,
  { trial, onTrial, alive }: KubeletRun,
  shown: string | undefined,
): TrialState | undefined {
  // A last known good is not on trial; crashes that count against it are shown all the same.
  if (trial === undefined || (!onTrial && trial.deaths === 0)) return undefined;
  const remainingMs = Math.max(0, limits.durationMs - trial.healthyMs);
  const atMs = clock.now() + remainingMs;
  const isShown = shown !== undefined && Math.abs(Date.parse(shown) - atMs) < endsAtToleranceMs;
  const endsAt = isShown ? shown : rfc3339(atMs);
  const state = { deaths: trial.deaths, healthySeconds: Math.floor(trial.healthyMs / 1000) };
  return { ...state, ...(alive && onTrial && { endsAt }) };
}
