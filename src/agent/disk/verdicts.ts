/**
 * What relet learned about a config by running it. A verdict belongs to exact bytes, a kubelet version and flags: the
 * same config is not tried again until one of them, or the assignment, changes.
 */
import { type FaultReason, faults } from '../../api/faults.js';
import { sha256 } from './checkpoints.js';
import { isObject } from './json-record.js';

export type Verdict =
  /** It was judged with all questions, and may be started. */
  | { kind: 'accepted' }
  /** It was healthy for a whole trial. */
  | { kind: 'proven' }
  /** Its trial failed; `cause` says how, for the log and the status. */
  | { kind: 'failed'; reason: FaultReason; cause: string; at: string };

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
            Object.hasOwn(faults, String(verdict.reason)))),
    )
  );
}
