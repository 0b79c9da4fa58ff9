/**
 * Chooses the config for the next kubelet start. Tries the candidates in order of trust (assigned, last known good, previous config)
 * and returns the first that loads and passes validation; local is the last resort. The error of the first candidate that cannot run is
 * the one that is reported. Reads only the disk, and writes only validation results.
 */
import { ConfigError } from '../api/config-error.js';
import { type ExactRef, formatRef, isExactRef, sameConfig } from '../api/config-ref.js';
import type { KubeletFlag } from '../api/node-config.js';
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import type { Document, Documents } from './documents.js';
import type { KubeletDriver } from './drivers/driver.js';
import type { HostFiles } from './host-files.js';
import type { Checkpoint } from './state/checkpoints.js';
import { defineRecord } from './state/json-record.js';
import type { NodeState, Recorded } from './state/node-state.js';
import { environmentOf, mayRetry } from './trial/retry.js';
import {
  type Environment,
  type Failure,
  type Result,
  reasonOf,
  resultKey,
  resultOf,
  setResult,
} from './trial/trial.js';
import type { Accepted, ValidateOptions, ValidationResult, Validator } from './validate/validate.js';

export type Rank = 'assigned' | 'previous-config' | 'last-known-good' | 'local';

/** A config that was healthy and was replaced, by a reset or on trial, kept until local was healthy once or another passed its trial. */
export const previousConfigRecord = defineRecord('previous-config', isExactRef, { formerly: { name: 'way-back' } });

/** A config that may run, with the facts needed while it does. */
export interface Choice {
  rank: Rank;
  /** Undefined for local. Names the merged document where it is an overlay. */
  source: ExactRef | undefined;
  document: Document;
  /** Digest of the checkpoint, before it is merged; undefined for local. */
  payloadDigest?: string | undefined;
  accepted: Accepted;
  /** Key of its result. */
  key: string;
  kubeletVersion: string;
  /** Why a candidate before it could not run; the first one. */
  error?: ConfigError;
  /** No other candidate can run. */
  isLastResort?: true;
  /** The candidates that cannot run, and a last known good that could not. */
  passedOver?: PassedOver[];
}

export interface PassedOver {
  source: ExactRef | undefined;
  error: ConfigError;
}

/** The error of a config that was tried before and failed. */
export class FailedBefore extends ConfigError {
  readonly key: string;
  readonly failure: Failure;

  constructor(key: string, failure: Failure) {
    super(
      reasonOf(failure.reason) ?? 'InternalError',
      new Error(`${failure.cause} (at ${failure.at}; not tried again)`),
    );
    this.key = key;
    this.failure = failure;
  }
}

/** Inputs of a choice beside the records. flags.ts reads the command line as the kubelet would. */
export interface KubeletCommandLine {
  /** All the kubelet's flags; with a dynamic config its file instead of --config and --config-dir. */
  args(configFile: string | undefined): string[];
  /** Flags as the status shows them. */
  shown?: KubeletFlag[] | undefined;
}

export interface ChooseParts {
  state: NodeState;
  documents: Documents;
  validator: Validator;
  commandLine: KubeletCommandLine;
  driver: Pick<KubeletDriver, 'version' | 'fingerprint'>;
  hostFiles: Pick<HostFiles, 'contentOf'>;
  clock: Pick<Clock, 'now'>;
  log: Log;
}

/** Source of the candidates: the records as they are, or as they will be once a config is assigned. */
export interface Records {
  assigned: Recorded;
  previous: ExactRef | undefined;
  lastKnownGood: Recorded;
  /** Another config is about to be assigned: failures no longer count. They stay recorded until it is assigned. */
  ignoresFailures?: boolean;
  /** `assigned` is about to be recorded. Where it cannot be decided whether it may run, choose() rejects, and nothing changes. */
  isArriving?: boolean;
  /**
   * The version of the kubelet that has failed. A fallback ran before, so neither the kubelet's binary nor another program on the host
   * is run for it: a config that starves its host leaves them no memory and no CPU.
   */
  rollbackFrom?: string | undefined;
}

export function recordsOf(state: NodeState): Records {
  return {
    assigned: state.assigned(),
    previous: state.read(previousConfigRecord),
    lastKnownGood: state.lastKnownGood(),
  };
}

interface Ranked {
  rank: Rank;
  recorded: Recorded;
}

export async function choose(
  parts: ChooseParts,
  signal: AbortSignal,
  records: Records = recordsOf(parts.state),
): Promise<Choice> {
  const passedOver: PassedOver[] = [];
  const list = candidates(records);
  // Local is the only candidate: it is not validated, and the kubelet itself reports what is wrong with it.
  if (list.every(({ recorded }) => 'source' in recorded && recorded.source === undefined))
    return lastResort(parts, signal, records);
  for (const [at, { rank, recorded }] of list.entries()) {
    let source = 'source' in recorded ? recorded.source : undefined;
    try {
      const candidate = await prepare(parts, recorded, records);
      source = candidate.source;
      // The last known good is the overlay that is assigned, and nothing has changed since.
      if (passedOver.some((earlier) => source && sameConfig(earlier.source, source, 'document'))) continue;
      const choice = withPassedOver(await accept(parts, { rank, ...candidate }, records, signal), passedOver);
      const failed = records.ignoresFailures ? [] : await failedBefore(parts, list.slice(at + 1), records);
      return failed.length === 0 ? choice : { ...choice, passedOver: [...passedOver, ...failed] };
    } catch (error) {
      if (!(error instanceof ConfigError) || (records.isArriving && error.outcome === 'not followed')) throw error;
      parts.log.warn('config cannot run', { rank, config: nameOf(recorded), error: error.message, cause: error.cause });
      passedOver.push({ source, error });
    }
  }
  return withPassedOver({ ...(await lastResort(parts, signal, records)), isLastResort: true }, passedOver);
}

/** Recorded failures of the less trusted candidates, for the report. They are not validated. */
async function failedBefore(parts: ChooseParts, list: Ranked[], { rollbackFrom }: Records): Promise<PassedOver[]> {
  const { state, commandLine } = parts;
  const kubeletVersion = rollbackFrom ?? (await parts.driver.version());
  return list.flatMap(({ recorded }) => {
    const source = 'source' in recorded ? recorded.source : undefined;
    const digest = source && digestOf(state, source);
    const key = resultKey(digest ?? '', kubeletVersion, commandLine.args(undefined));
    const result = resultOf(state, key);
    return result?.kind === 'failed' ? [{ source, error: new FailedBefore(key, result) }] : [];
  });
}

function withPassedOver(choice: Choice, passedOver: PassedOver[]): Choice {
  const [first] = passedOver;
  return first === undefined ? choice : { ...choice, error: first.error, passedOver };
}

/** The config that a rollback returns to, from the records alone: the most trusted one beside the config that failed. */
export function fallbackOf(state: NodeState, failed: ExactRef | undefined): ExactRef | undefined {
  const others = candidates(recordsOf(state)).filter(
    ({ recorded }) => 'source' in recorded && !sameConfig(recorded.source, failed, 'document'),
  );
  const [first] = others.filter(({ rank }) => rank !== 'assigned');
  return first && 'source' in first.recorded ? first.recorded.source : undefined;
}

const waitMs = 5000;

/** As choose; where not even that works, as while the kubelet's binary is being replaced, it waits. Undefined: aborted. */
export async function chooseOrWait(
  parts: Omit<ChooseParts, 'clock'> & { clock: Clock },
  signal: AbortSignal,
  { rollbackFrom }: Pick<Records, 'rollbackFrom'> = {},
): Promise<Choice | undefined> {
  while (!signal.aborted) {
    try {
      return await unlessAborted(choose(parts, signal, { ...recordsOf(parts.state), rollbackFrom }), signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      parts.log.error('no kubelet can be started', { error });
      await parts.clock.sleep(waitMs, signal).catch(() => {});
    }
  }
  return undefined;
}

/** A stop does not wait for a kubelet probe. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  let stop = () => {};
  const aborted = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined);
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/**
 * The candidates in order of trust, without duplicates. After a reset, the previous config comes before last known good. Once another
 * config is assigned, it comes after: the reset was intended.
 */
function candidates({ assigned, previous, lastKnownGood }: Records): Ranked[] {
  const isReset = 'source' in assigned && assigned.source === undefined;
  const good: Ranked = { rank: 'last-known-good', recorded: lastKnownGood };
  const before: Ranked[] = previous ? [{ rank: 'previous-config', recorded: { source: previous } }] : [];
  const ranked: Ranked[] = [
    { rank: 'assigned', recorded: assigned },
    ...(isReset ? [...before, good] : [good, ...before]),
  ];
  const unique: Ranked[] = [];
  for (const next of ranked)
    if (!unique.some((earlier) => sameRecord(earlier.recorded, next.recorded))) unique.push(next);
  return unique;
}

interface Prepared extends Pick<Choice, 'source' | 'document' | 'payloadDigest' | 'key'> {
  checkpoint: Checkpoint | undefined;
  kubeletVersion: string;
}

/** Loads the checkpoint and makes the document to start with. An assigned overlay is merged again, a last known good is as it was. */
async function prepare(
  parts: ChooseParts,
  recorded: Recorded,
  { rollbackFrom }: Pick<Records, 'rollbackFrom'>,
): Promise<Prepared> {
  if ('broken' in recorded) throw new ConfigError('LoadFailed', recorded.broken);
  const { documents, commandLine } = parts;
  const kubeletVersion = rollbackFrom ?? (await parts.driver.version());
  const keyOf = ({ digest }: Document) => resultKey(digest, kubeletVersion, commandLine.args(undefined));
  if (recorded.source === undefined) {
    const document = await documents.local(kubeletVersion);
    return { source: undefined, checkpoint: undefined, document, key: keyOf(document), kubeletVersion };
  }
  const { mergedDigest: recordedDigest, ...ref } = recorded.source;
  const checkpoint = load(parts.state, ref);
  const document = await (recordedDigest === undefined
    ? documents.of(checkpoint, kubeletVersion)
    : documents.recorded(checkpoint, recordedDigest, kubeletVersion));
  const { mergedDigest } = document;
  const source = { ...ref, ...(mergedDigest !== undefined && { mergedDigest }) };
  return { source, checkpoint, document, payloadDigest: checkpoint.digest, key: keyOf(document), kubeletVersion };
}

/** Validates it, and records the result. Throws a ConfigError when it cannot run. */
async function accept(
  parts: ChooseParts,
  { rank, source, checkpoint, document, payloadDigest, key, kubeletVersion }: Prepared & { rank: Rank },
  { ignoresFailures, isArriving, rollbackFrom }: Records,
  signal: AbortSignal,
): Promise<Choice> {
  const { state, validator } = parts;
  const recorded = resultOf(state, key);
  const isIgnored = ignoresFailures === true && recorded?.kind === 'failed';
  const result = isIgnored ? undefined : recorded;
  const failed = result?.kind === 'failed' ? result : undefined;
  if (failed && !isOutdated(parts, failed)) throw new FailedBefore(key, failed);
  const isFallback = rollbackFrom !== undefined && (rank !== 'assigned' || source === undefined);
  const steps = isFallback ? 'no-probe-no-forecast' : stepsAfter(result);
  const isGood = hasBytesOfLastKnownGood(state, { source, document });
  const validation = await validator.validate(
    { checkpoint, document, kubeletVersion },
    { steps, isLastKnownGood: isGood, ...(rank === 'assigned' && { role: isArriving ? 'arriving' : rank }), signal },
  );
  // The changed input did not help: retried only after another change.
  if (failed && validation.kind === 'rejected') setResult(state, key, failedAgain(parts, failed));
  const accepted = orThrow(validation);
  if (failed) parts.log.info('retrying config: the kubelet or a file that the config names has changed', { rank });
  if (steps === 'all' && !isIgnored)
    setResult(state, key, { kind: 'validated', ...(failed && { failures: failed.failures ?? 1 }) });
  return { rank, source, document, payloadDigest, accepted, key, kubeletVersion };
}

/** Recorded failures because of which a more trusted candidate was not chosen. */
export function failuresOf({ error, passedOver = [] }: Choice): FailedBefore[] {
  if (error === undefined) return [];
  return passedOver.flatMap(({ error }) => (error instanceof FailedBefore ? [error] : []));
}

/** True if an input of the result has changed since: the config may be tried again. */
export function isOutdated(parts: Pick<ChooseParts, 'driver' | 'hostFiles' | 'clock'>, failure: Failure): boolean {
  return mayRetry(failure, presentFor(parts, failure), parts.clock.now());
}

function failedAgain(parts: ChooseParts, failure: Failure): Failure {
  const at = new Date(parts.clock.now()).toISOString();
  return { ...failure, at, failures: (failure.failures ?? 1) + 1, environment: presentFor(parts, failure) };
}

function presentFor(parts: Pick<ChooseParts, 'driver' | 'hostFiles'>, failure: Failure): Environment {
  return environmentOf(parts, Object.keys(failure.environment?.files ?? {}));
}

/** Last resort: start local even if validation rejects it. The kubelet itself reports what is wrong with it. */
async function lastResort(parts: ChooseParts, signal: AbortSignal, records: Records): Promise<Choice> {
  const { assigned } = records;
  const { checkpoint, document, key, kubeletVersion } = await prepare(parts, { source: undefined }, records);
  const validation = await parts.validator.validate(
    { checkpoint, document, kubeletVersion },
    { steps: 'no-probe-no-forecast', signal },
  );
  const accepted: Accepted =
    validation.kind === 'accepted'
      ? validation
      : { kind: 'accepted', warnings: [], healthz: undefined, staticPodPath: undefined };
  const isAssigned = 'source' in assigned && assigned.source === undefined;
  return { rank: isAssigned ? 'assigned' : 'local', source: undefined, document, accepted, key, kubeletVersion };
}

function load(state: NodeState, source: ExactRef): Checkpoint {
  try {
    return state.checkpoints.load(source);
  } catch (cause) {
    throw new ConfigError('LoadFailed', cause);
  }
}

/** A result belongs to the same bytes, kubelet version and flags, so the kubelet would answer as before. */
function stepsAfter(result: Result | undefined): ValidateOptions['steps'] {
  if (result?.kind === 'passed') return 'no-probe-no-forecast';
  return result?.kind === 'validated' ? 'no-probe' : 'all';
}

function orThrow(validation: ValidationResult): Accepted {
  if (validation.kind === 'rejected') throw new ConfigError(validation.reason, validation.cause);
  return validation;
}

function sameRecord(a: Recorded, b: Recorded): boolean {
  return 'source' in a && 'source' in b && sameConfig(a.source, b.source, 'document');
}

function nameOf(recorded: Recorded): string {
  return 'source' in recorded ? formatRef(recorded.source, 'log') : 'unreadable record';
}

/** False for a config that has passed its trial with this ref, and for the last resort. */
export function needsTrial(choice: Choice, state: NodeState): boolean {
  if (choice.isLastResort) return false;
  if (choice.source === undefined)
    return (
      state.read(previousConfigRecord) !== undefined || (choice.rank === 'assigned' && goodOf(state) !== undefined)
    );
  const hasPassed = resultOf(state, choice.key)?.kind === 'passed';
  return !(hasPassed && sameConfig(goodOf(state), choice.source, 'document'));
}

/** Compares the bytes, with any ref. Whether last known good may still run is not checked. */
export function hasBytesOfLastKnownGood(
  state: NodeState,
  { source, document }: Pick<Choice, 'source' | 'document'>,
): boolean {
  const good = goodOf(state);
  return source !== undefined && good !== undefined && digestOf(state, good) === document.digest;
}

function goodOf(state: NodeState): ExactRef | undefined {
  const lastKnownGood = state.lastKnownGood();
  return 'source' in lastKnownGood ? lastKnownGood.source : undefined;
}

function digestOf(state: NodeState, source: ExactRef): string | undefined {
  if (source.mergedDigest !== undefined) return source.mergedDigest;
  try {
    return state.checkpoints.load(source).digest;
  } catch {
    return undefined;
  }
}
