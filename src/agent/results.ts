/**
 * The results of configs on this node: validated, trial passed, trial failed. A result belongs to exact bytes, a kubelet
 * version and flags. A config that failed is not started again until one of them, the assignment, or a file that it names
 * changes.
 */
import { type ConfigErrorReason, isConfigErrorReason } from '../api/config-error.js';
import { isObject } from '../json.js';
import { sha256 } from './state/checkpoints.js';
import { defineRecord } from './state/json-record.js';
import type { NodeState } from './state/node-state.js';

export type Result =
  /** Every validation step accepted it, the kubelet's own among them. `failures` is how often it failed before. */
  | { kind: 'validated'; failures?: number }
  /** It was healthy for a whole trial. */
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
  /** It was last known good: started once more when its fallback is healthy, in case something else was broken meanwhile. */
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
