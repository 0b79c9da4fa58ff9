/**
 * The trial of a config: what is counted, what the count decides, and the results that are kept. The decisions are pure; kubelet-run.ts
 * checks the kubelet and agent.ts acts on them. The record lets a trial continue after a restart of relet or of the machine.
 *
 * on trial ── healthy for the whole duration ──► passed (becomes last known good)
 *    │  ▲
 *    │  └─ stopped from outside, reboot, relet restarted: the sum of healthy time is kept
 *    └──── crashed too often, or not healthy before the deadline ──► failed (rolled back, recorded)
 */
import { type ConfigErrorReason, isConfigErrorReason } from '../../api/config-error.js';
import { type ExactRef, isExactRef, sameConfig } from '../../api/config-ref.js';
import { isObject } from '../../json.js';
import { sha256 } from '../state/checkpoints.js';
import { defineRecord } from '../state/json-record.js';
import type { NodeState } from '../state/node-state.js';

export interface Trial {
  /** Bytes, kubelet version and flags; another key is another trial. */
  key: string;
  /** Undefined for local, and absent in records of earlier versions. The same bytes under another identity begin their time again. */
  source?: ExactRef | undefined;
  /** How often the kubelet crashed. */
  deaths: number;
  /** Healthy time so far, summed over restarts that the kubelet did not cause. */
  healthyMs: number;
  /**
   * Time without health since the last healthy check. It continues over restarts of relet: a service manager that gives up
   * before the deadline (WatchdogSec=, TimeoutStartSec=) would otherwise give a config with which the kubelet hangs a new
   * deadline each time, and the node would never recover. Absent in records of earlier versions.
   */
  unhealthy?: { ms: number; bootId: string };
  /** The baseline before the switch: the trial does not require what was already missing then. */
  before: NodeBefore;
  /** The boot of the machine in which it began. */
  bootId: string;
  /** A kubelet has answered with the config, this one or an earlier one: after a reset it may be fallen back to. */
  wasActive?: true;
  /** The config failed, and is started once more to find out whether something else was broken meanwhile. */
  isRetry?: true;
}

export const trialRecord = defineRecord('trial', isTrial);

export interface NodeBefore {
  nodeReady: boolean;
  apiAnswered: boolean;
  /** Static pods ran here: the API server may be one of them. */
  staticPods: boolean;
}

export interface TrialLimits {
  /** Healthy time until a config is last known good. Default 10 min. */
  durationMs: number;
  /** How long a config may be without health. Default 60 s. */
  healthDeadlineMs: number;
  /** How often the kubelet may crash. Default 3. */
  failedStarts: number;
}

export const defaultTrialLimits: TrialLimits = { durationMs: 600_000, healthDeadlineMs: 60_000, failedStarts: 3 };

/** One check of the running kubelet. */
export interface Health {
  /** /healthz returned ok; without a healthz port, the Lease was renewed after the start. */
  alive: boolean;
  apiAnswers: boolean;
  /** The Node is Ready with a heartbeat after the start; known only from the API. */
  readyAgain: boolean;
  /** A kubelet port that another process has: answers there are not the kubelet's. */
  taken?: { port: number; by: string };
}

export type TrialFailure = { kind: 'failed'; reason: ConfigErrorReason; cause: string };
export type TrialEnd = { kind: 'passed' } | TrialFailure;
export type TrialStep = { kind: 'continue' } | TrialEnd;

export function beginOrResume(
  recorded: Trial | undefined,
  fresh: Pick<Trial, 'key' | 'source' | 'before' | 'bootId'>,
): Trial {
  if (recorded?.key !== fresh.key) return { ...fresh, deaths: 0, healthyMs: 0 };
  // Crashes continue to count: the kubelet runs with the same bytes.
  if (recorded.source !== undefined && !sameConfig(recorded.source, fresh.source, 'version'))
    return { ...recorded, source: fresh.source, healthyMs: 0 };
  // A retry is recorded without a baseline: that of its first start counts.
  const { source } = fresh;
  return recorded.isRetry && recorded.healthyMs === 0
    ? { ...recorded, source, before: fresh.before }
    : { ...recorded, source };
}

/** How much of the deadline is used up when the kubelet starts. It starts again with the machine. */
export function unhealthyBefore(trial: Trial | undefined, bootId: string): number {
  return trial?.unhealthy?.bootId === bootId ? trial.unhealthy.ms : 0;
}

export function isHealthy(health: Health, before: NodeBefore): boolean {
  if (!health.alive) return false;
  return !health.apiAnswers || !before.nodeReady || health.readyAgain;
}

/** Whether healthy time counts. If the API answered before the switch and does not now, no trial passes. */
export function counts(health: Health, before: NodeBefore): boolean {
  return isHealthy(health, before) && (health.apiAnswers || !before.apiAnswered);
}

export interface TrialCheck {
  trial: Trial;
  health: Health;
  /** Since the kubelet was last healthy, or since its start. */
  unhealthyMs: number;
  /** Since the API last answered, or since the start. */
  apiSilentMs: number;
  /** The machine was rebooted: then a slow Node or API server does not count against the config. */
  rebooted: boolean;
}

export function afterCheck(
  { trial, health, unhealthyMs, apiSilentMs, rebooted }: TrialCheck,
  limits: TrialLimits,
): TrialStep {
  const { before } = trial;
  const healthy = isHealthy(health, before);
  const deadline = `${limits.healthDeadlineMs / 1000} s`;
  const missed = rebooted ? !health.alive : !healthy;
  if (missed && unhealthyMs >= limits.healthDeadlineMs) {
    const silent = `the kubelet was not healthy for ${deadline}`;
    const { taken } = health;
    const why = taken ? `${silent}: port ${taken.port} is held by another process (${taken.by})` : silent;
    const cause = health.alive ? `the Node was not Ready again within ${deadline}` : why;
    return { kind: 'failed', reason: 'NotHealthy', cause };
  }
  const lost = !health.apiAnswers && before.apiAnswered && before.staticPods && !rebooted;
  if (lost && apiSilentMs >= limits.healthDeadlineMs)
    return {
      kind: 'failed',
      reason: 'APIServerLost',
      cause: `the API server answered before the switch and not for ${deadline} after it, and this node runs static pods`,
    };
  if (counts(health, before) && trial.healthyMs >= limits.durationMs) return { kind: 'passed' };
  return { kind: 'continue' };
}

export interface Crash {
  /** `exit code 1` */
  why: string;
  /** The kubelet's own error, where its log can be read. */
  error?: string | undefined;
}

/** After the kubelet crashed: healthy time starts again, and too many crashes end the trial. */
export function afterCrash(trial: Trial, crash: Crash, limits: TrialLimits): { trial: Trial; step: TrialStep } {
  const counted = { ...trial, deaths: trial.deaths + 1, healthyMs: 0 };
  const step: TrialStep =
    counted.deaths >= limits.failedStarts
      ? { kind: 'failed', reason: 'CrashLoop', cause: crashes(counted.deaths, crash) }
      : { kind: 'continue' };
  return { trial: counted, step };
}

const crashes = (count: number, { why, error }: Crash): string =>
  withError(
    count === 1 ? `the kubelet crashed once: ${why}` : `the kubelet crashed ${count} times, last: ${why}`,
    error,
  );

/** The kubelet's own error comes first, since people search for it. */
export const withError = (text: string, error: string | undefined): string =>
  error === undefined ? text : `${error}; ${text}`;

function isTrial(value: unknown): value is Trial {
  return (
    isObject(value) &&
    typeof value.key === 'string' &&
    Number.isFinite(value.deaths) &&
    Number.isFinite(value.healthyMs) &&
    (value.unhealthy === undefined || (isObject(value.unhealthy) && Number.isFinite(value.unhealthy.ms))) &&
    (value.source === undefined || isExactRef(value.source)) &&
    typeof value.bootId === 'string' &&
    isObject(value.before) &&
    ['nodeReady', 'apiAnswered', 'staticPods'].every(
      (name) => typeof (value.before as Record<string, unknown>)[name] === 'boolean',
    )
  );
}

/**
 * The results of configs on this node: validated, trial passed, trial failed. A result belongs to exact bytes, a kubelet
 * version and flags. A config that failed is not started again until one of them, the assignment, or a file that it names
 * changes.
 */
export type Result =
  /** Every validation step accepted it, the kubelet's own among them. `failures` is how often it failed before. */
  | { kind: 'validated'; failures?: number }
  /** The config was healthy for a whole trial. */
  | { kind: 'passed' }
  | Failure;

/** Its trial failed, or it was last known good and no longer starts. Optional fields are absent in older records. */
export interface Failure {
  kind: 'failed';
  /** Read with reasonOf(): records of the first edition have other words. */
  reason: string;
  /** How, for the log and the status. */
  cause: string;
  at: string;
  /** Without a success in between. */
  failures?: number;
  /** The environment in which it failed: a change is a reason to try again. */
  environment?: Environment;
  /** Set if it was last known good: started once more when its fallback is healthy, in case something else was broken meanwhile. */
  retryOnce?: true;
}

export interface Environment {
  /** Fingerprint of the kubelet's executable. */
  binary: string;
  /** Path → content of each file that the config names. */
  files: Record<string, string>;
}

export type Results = Record<string, Result>;

export const resultsRecord = defineRecord('results', isResults, {
  formerly: { name: 'verdicts', convert: fromFirstEdition },
});

/** Enough for every config a node can name at once, many times over; the oldest go first. */
const mostResults = 64;

export function resultKey(digest: string, kubeletVersion: string, flags: string[]): string {
  return sha256(JSON.stringify([digest, kubeletVersion, flags]));
}

export function resultOf(state: NodeState, key: string): Result | undefined {
  return state.read(resultsRecord)?.[key];
}

export function setResult(state: NodeState, key: string, result: Result): void {
  const others = Object.entries(state.read(resultsRecord) ?? {}).filter(([other]) => other !== key);
  state.write(resultsRecord, Object.fromEntries([...others.slice(1 - mostResults), [key, result]]));
}

/** Configs that failed may be tried again. */
export function forgetFailures(state: NodeState): void {
  const results = state.read(resultsRecord);
  if (results === undefined) return;
  const kept = Object.entries(results).filter(([, result]) => result.kind !== 'failed');
  state.write(resultsRecord, Object.fromEntries(kept));
}

function isResults(value: unknown): value is Results {
  return (
    isObject(value) &&
    Object.values(value).every(
      (result) =>
        isObject(result) &&
        (result.kind === 'validated' ||
          result.kind === 'passed' ||
          (result.kind === 'failed' &&
            typeof result.cause === 'string' &&
            reasonOf(result.reason) !== undefined &&
            isEnvironmentOrAbsent(result.environment))),
    )
  );
}

/** There, a result that is validated was called accepted, and one that passed its trial proven. */
function fromFirstEdition(recorded: unknown): unknown {
  const kinds: Record<string, string> = { accepted: 'validated', proven: 'passed' };
  if (!isObject(recorded)) return recorded;
  return Object.fromEntries(
    Object.entries(recorded).map(([key, result]) => [
      key,
      isObject(result) ? { ...result, kind: kinds[String(result.kind)] ?? result.kind } : result,
    ]),
  );
}

/** As the first edition recorded them. */
const earlierReasons: Readonly<Record<string, ConfigErrorReason>> = {
  'crash-loop': 'CrashLoop',
  unhealthy: 'NotHealthy',
  'no-api': 'APIServerLost',
};

export function reasonOf(recorded: unknown): ConfigErrorReason | undefined {
  return isConfigErrorReason(recorded) ? recorded : earlierReasons[String(recorded)];
}

function isEnvironmentOrAbsent(value: unknown): boolean {
  return (
    value === undefined ||
    (isObject(value) &&
      typeof value.binary === 'string' &&
      isObject(value.files) &&
      Object.values(value.files).every((content) => typeof content === 'string'))
  );
}
