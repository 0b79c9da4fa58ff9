/**
 * What relet learned about a config by running it. A verdict belongs to exact bytes, a kubelet version and flags: the
 * same config is not tried again until one of them, the assignment, or what the failure depended on changes.
 */
import { type ConfigErrorReason, isConfigErrorReason } from '../../api/config-error.js';
import { isObject } from '../../json.js';
import { sha256 } from './checkpoints.js';

export type Verdict =
  /** It was judged with all questions, and may be started. `failures` is how often it failed before. */
  | { kind: 'accepted'; failures?: number }
  /** It was healthy for a whole trial. */
  | { kind: 'proven' }
  | Failure;

/** Its trial failed, or it was last known good and no longer starts. What is optional is absent in older records. */
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
  /** It was last known good: started once more when its fallback is healthy, in case something else was broken meanwhile. */
  retryOnce?: true;
}

export interface Environment {
  /** Fingerprint of the kubelet's executable. */
  binary: string;
  /** Path → content of each file that the config names. */
  files: Record<string, string>;
}

export type Verdicts = Record<string, Verdict>;

/** Enough for every config a node can name at once, many times over; the oldest go first. */
const mostVerdicts = 64;

export function verdictKey(digest: string, kubeletVersion: string, flags: string[]): string {
  return sha256(JSON.stringify([digest, kubeletVersion, flags]));
}

export function withVerdict(verdicts: Verdicts | undefined, key: string, verdict: Verdict): Verdicts {
  const others = Object.entries(verdicts ?? {}).filter(([other]) => other !== key);
  return Object.fromEntries([...others.slice(1 - mostVerdicts), [key, verdict]]);
}

export function withoutFailures(verdicts: Verdicts): Verdicts {
  return Object.fromEntries(Object.entries(verdicts).filter(([, verdict]) => verdict.kind !== 'failed'));
}

export function isVerdicts(value: unknown): value is Verdicts {
  return (
    isObject(value) &&
    Object.values(value).every(
      (verdict) =>
        isObject(verdict) &&
        (verdict.kind === 'accepted' ||
          verdict.kind === 'proven' ||
          (verdict.kind === 'failed' &&
            typeof verdict.cause === 'string' &&
            reasonOf(verdict.reason) !== undefined &&
            isEnvironmentOrAbsent(verdict.environment))),
    )
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
