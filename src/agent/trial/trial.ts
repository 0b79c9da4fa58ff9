/**
 * The trial of a config: what is counted, and what the count decides. Pure; kubelet-run.ts checks the kubelet and agent.ts acts on
 * the result. The record lets a trial continue after a restart of relet or of the machine.
 *
 * on trial ── healthy for the whole duration ──► passed (becomes last known good)
 *    │  ▲
 *    │  └─ stopped from outside, reboot, relet restarted: the sum of healthy time is kept
 *    └──── crashed too often, or not healthy before the deadline ──► failed (rolled back, recorded)
 */
import type { ConfigErrorReason } from '../../api/config-error.js';
import { isObject } from '../../json.js';
import { defineRecord } from '../state/json-record.js';

export interface Trial {
  /** Bytes, kubelet version and flags; another key is another trial. */
  key: string;
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
  /** How the node was before the switch: what was not there then is not missed now. */
  before: NodeBefore;
  /** The boot of the machine in which it began. */
  bootId: string;
  /** It was healthy once, also with an earlier kubelet: a reset may return to it. */
  wasHealthy?: true;
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
  /** /healthz said ok; without a healthz port, the Lease was renewed after the start. */
  alive: boolean;
  apiAnswers: boolean;
  /** The Node is Ready with a sign of life later than the start; only the API can say. */
  readyAgain: boolean;
  /** A port of the kubelet's that another process has: who answers there is not the kubelet. */
  taken?: { port: number; by: string };
}

export type TrialFailure = { kind: 'failed'; reason: ConfigErrorReason; cause: string };
export type TrialEnd = { kind: 'passed' } | TrialFailure;
export type TrialStep = { kind: 'continue' } | TrialEnd;

export function beginOrResume(recorded: Trial | undefined, fresh: Pick<Trial, 'key' | 'before' | 'bootId'>): Trial {
  if (recorded?.key !== fresh.key) return { ...fresh, deaths: 0, healthyMs: 0 };
  // When a retry was decided, nobody had looked at the node yet.
  return recorded.isRetry && recorded.healthyMs === 0 ? { ...recorded, before: fresh.before } : recorded;
}

/** How much of the deadline is used up when the kubelet starts. It starts again with the machine. */
export function unhealthyBefore(trial: Trial | undefined, bootId: string): number {
  return trial?.unhealthy?.bootId === bootId ? trial.unhealthy.ms : 0;
}

export function isHealthy(health: Health, before: NodeBefore): boolean {
  if (!health.alive) return false;
  return !health.apiAnswers || !before.nodeReady || health.readyAgain;
}

/** May this healthy time count? Where the API answered before the switch and does not now, no trial passes. */
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
  /** The machine was rebooted: a slow Node and API server are then not blamed on the config. */
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

/** The kubelet's own error first: it is what one searches for. */
export const withError = (text: string, error: string | undefined): string =>
  error === undefined ? text : `${error}; ${text}`;

function isTrial(value: unknown): value is Trial {
  return (
    isObject(value) &&
    typeof value.key === 'string' &&
    Number.isFinite(value.deaths) &&
    Number.isFinite(value.healthyMs) &&
    (value.unhealthy === undefined || (isObject(value.unhealthy) && Number.isFinite(value.unhealthy.ms))) &&
    typeof value.bootId === 'string' &&
    isObject(value.before) &&
    ['nodeReady', 'apiAnswered', 'staticPods'].every(
      (name) => typeof (value.before as Record<string, unknown>)[name] === 'boolean',
    )
  );
}
