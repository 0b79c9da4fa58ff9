/**
 * Computes the report from what runs and what is recorded. `active` is the config whose kubelet has answered and lives; while
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
import { type ExactRef, formatRef, sameConfig } from '../../api/config-ref.js';
import type { TrialState } from '../../api/node-config.js';
import { type Clock, rfc3339 } from '../../clock.js';
import { type Choice, FailedBefore } from '../choose.js';
import type { KubeletDriver, Notice, StartedConfig } from '../drivers/driver.js';
import type { KubeletRun } from '../kubelet-run.js';
import { detachRecord, holdRecord } from '../requests.js';
import type { NodeState } from '../state/node-state.js';
import { sourceOf } from '../transitions.js';
import { bootCrashOf } from '../trial/boot-crash.js';
import { kubeletLogRecord } from '../trial/exit.js';
import { type Trial, type TrialLimits, trialRecord } from '../trial/trial.js';
import type { OwedReport, Report, UpgradeReport } from './report.js';
import type { Reporter } from './reporter.js';

export interface UpdateOptions {
  state: NodeState;
  reporter: Reporter;
  driver: Pick<KubeletDriver, 'name'>;
  limits: TrialLimits;
  clock: Clock;
  owed?: OwedReport | undefined;
  upgrade?: UpgradeReport | undefined;
  unit?: { notices: Notice[]; nextStart: StartedConfig | undefined };
}

export function updateReport(options: UpdateOptions, run: KubeletRun | undefined): void {
  const { state, reporter, driver, unit } = options;
  const assigned = sourceOf(state.assigned());
  const lastKnownGood = sourceOf(state.lastKnownGood());
  const { active, configError } = whatRuns(run, assigned, reporter.latest);
  reporter.update({
    assigned,
    lastKnownGood: trusted(lastKnownGood, run, state.read(trialRecord)),
    active,
    configError,
    kubeletLog: kubeletLogOf(state, configError),
    ...(run && {
      warnings: [...run.choice.accepted.warnings, ...run.warnings],
      pinnedByFlags: run.choice.accepted.pinnedByFlags,
    }),
    trial: run && trialState(options, run, reporter.latest.trial?.endsAt),
    held: state.read(holdRecord),
    detached: state.read(detachRecord)?.done === undefined ? undefined : true,
    owed: options.owed,
    upgrade: options.upgrade,
    bootCrash: bootCrashOf(state),
    driver: driver.name,
    trialSeconds: Math.round(options.limits.durationMs / 1000),
    notices: unit?.notices.length ? unit.notices : undefined,
    nextStart: unit?.nextStart && formatRef(unit.nextStart.source, 'short'),
  });
  if (run?.alive) reporter.publish();
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

/** A last known good that cannot run, or is started once more after it failed, is none at present. */
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

/** A change of less than this is not worth a write of the status. */
const endsAtToleranceMs = 10_000;

function trialState(
  { clock, limits }: UpdateOptions,
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
