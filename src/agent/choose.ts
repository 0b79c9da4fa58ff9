/**
 * Chooses the config for the next kubelet start. Tries the candidates in order of trust (assigned, last known good, previous config)
 * and returns the first that loads and passes validation; local is the last resort. The error of the first candidate that cannot run is
 * the one that is reported. Reads only the disk, and writes only validation results.
 */
import { ConfigError } from '../api/config-error.js';
import { type ExactRef, formatRef, sameConfig } from '../api/config-ref.js';
import type { KubeletFlag } from '../api/node-config.js';
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import { candidates, previousConfigRecord, type Rank, type Ranked, type Records, recordsOf } from './candidates.js';
import type { Document, Documents } from './documents.js';
import type { KubeletDriver } from './drivers/driver.js';
import type { HostFiles } from './host-files.js';
import type { Checkpoint } from './state/checkpoints.js';
import { isLocal, type NodeState, type Recorded, sourceOf } from './state/node-state.js';
import { failedAgain, isOutdated } from './trial/retry.js';
import { type Failure, type Result, reasonOf, resultKey, resultOf, setResult } from './trial/trial.js';
import type { Accepted, ValidateOptions, Validator } from './validate/validate.js';

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

/** flags.ts reads the command line as the kubelet would. */
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

/** Records that are about to be written; default: those on disk. */
export interface ChooseOptions extends Partial<Records> {
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

interface Choosing extends ChooseParts, ChooseOptions {
  kubeletVersion: string;
  signal: AbortSignal;
}

export async function choose(parts: ChooseParts, signal: AbortSignal, options: ChooseOptions = {}): Promise<Choice> {
  const records = { ...recordsOf(parts.state), ...options };
  const kubeletVersion = options.rollbackFrom ?? (await parts.driver.version());
  const choosing = { ...parts, ...options, kubeletVersion, signal };
  const list = candidates(records);
  const last = () => lastResort(choosing, isLocal(records.assigned) ? 'assigned' : 'local');
  // Local is the only candidate: it is not validated, and the kubelet itself reports what is wrong with it.
  if (list.every(({ recorded }) => isLocal(recorded))) return last();
  const passedOver: PassedOver[] = [];
  for (const [at, { rank, recorded }] of list.entries()) {
    let source = sourceOf(recorded);
    try {
      const prepared = await prepare(choosing, recorded);
      source = prepared.source;
      // The last known good is the overlay that is assigned, and nothing has changed since.
      if (passedOver.some((earlier) => source && sameConfig(earlier.source, source, 'document'))) continue;
      const choice = withPassedOver(await accept(choosing, rank, prepared), passedOver);
      const failed = options.ignoresFailures ? [] : failedBefore(choosing, list.slice(at + 1));
      return failed.length === 0 ? choice : { ...choice, passedOver: [...passedOver, ...failed] };
    } catch (error) {
      if (!(error instanceof ConfigError) || (options.isArriving && error.outcome === 'not followed')) throw error;
      const config = 'source' in recorded ? formatRef(recorded.source, 'log') : 'unreadable record';
      parts.log.warn('config cannot run', { rank, config, error: error.message, cause: error.cause });
      passedOver.push({ source, error });
    }
  }
  return withPassedOver({ ...(await last()), isLastResort: true }, passedOver);
}

/** Recorded failures of the less trusted candidates, for the report. They are not validated. */
function failedBefore(choosing: Choosing, list: Ranked[]): PassedOver[] {
  return list.flatMap(({ recorded }) => {
    const source = sourceOf(recorded);
    const key = keyOf(choosing, (source && digestOf(choosing.state, source)) ?? '');
    const result = resultOf(choosing.state, key);
    return result?.kind === 'failed' ? [{ source, error: new FailedBefore(key, result) }] : [];
  });
}

function keyOf({ commandLine, kubeletVersion }: Choosing, digest: string): string {
  return resultKey(digest, kubeletVersion, commandLine.args(undefined));
}

function withPassedOver(choice: Choice, passedOver: PassedOver[]): Choice {
  const [first] = passedOver;
  return first === undefined ? choice : { ...choice, error: first.error, passedOver };
}

interface Prepared extends Omit<Choice, 'rank' | 'accepted'> {
  checkpoint: Checkpoint | undefined;
}

/** Loads the checkpoint and makes the document to start with. An assigned overlay is merged again, a last known good is as it was. */
async function prepare(choosing: Choosing, recorded: Recorded): Promise<Prepared> {
  if ('broken' in recorded) throw new ConfigError('LoadFailed', recorded.broken);
  const { documents, kubeletVersion } = choosing;
  if (recorded.source === undefined) {
    const document = await documents.local(kubeletVersion);
    const key = keyOf(choosing, document.digest);
    return { source: undefined, checkpoint: undefined, document, key, kubeletVersion };
  }
  const { mergedDigest: recordedDigest, ...ref } = recorded.source;
  const checkpoint = load(choosing.state, ref);
  const document = await (recordedDigest === undefined
    ? documents.of(checkpoint, kubeletVersion)
    : documents.recorded(checkpoint, recordedDigest, kubeletVersion));
  const { mergedDigest, digest } = document;
  const source = { ...ref, ...(mergedDigest !== undefined && { mergedDigest }) };
  const key = keyOf(choosing, digest);
  return { source, checkpoint, document, payloadDigest: checkpoint.digest, key, kubeletVersion };
}

/** Validates it, and records the result. Throws a ConfigError when it cannot run. */
async function accept(choosing: Choosing, rank: Rank, { checkpoint, ...prepared }: Prepared): Promise<Choice> {
  const { state, validator, log, ignoresFailures, isArriving, rollbackFrom, signal } = choosing;
  const { source, document, key, kubeletVersion } = prepared;
  const result = resultOf(state, key);
  const hasFailed = result?.kind === 'failed';
  const failed = hasFailed && !ignoresFailures ? result : undefined;
  if (failed && !isOutdated(choosing, failed)) throw new FailedBefore(key, failed);
  const isFallback = rollbackFrom !== undefined && (rank !== 'assigned' || source === undefined);
  const steps = isFallback ? 'no-probe-no-forecast' : stepsAfter(result);
  const isLastKnownGood = hasBytesOfLastKnownGood(state, prepared);
  const validation = await validator.validate(
    { checkpoint, document, kubeletVersion },
    { steps, isLastKnownGood, ...(rank === 'assigned' && { role: isArriving ? 'arriving' : rank }), signal },
  );
  if (validation.kind === 'rejected') {
    if (failed) setResult(state, key, failedAgain(choosing, failed));
    throw new ConfigError(validation.reason, validation.cause);
  }
  if (failed) log.info('retrying config: the kubelet or a file that the config names has changed', { rank });
  if (steps === 'all' && !(hasFailed && ignoresFailures))
    setResult(state, key, { kind: 'validated', ...(failed && { failures: failed.failures ?? 1 }) });
  return { ...prepared, rank, accepted: validation };
}

/** Recorded failures because of which a more trusted candidate was not chosen. */
export function failuresOf({ error, passedOver = [] }: Choice): FailedBefore[] {
  if (error === undefined) return [];
  return passedOver.flatMap(({ error }) => (error instanceof FailedBefore ? [error] : []));
}

/** Last resort: start local even if validation rejects it. The kubelet itself reports what is wrong with it. */
async function lastResort(choosing: Choosing, rank: Rank): Promise<Choice> {
  const { validator, kubeletVersion, signal } = choosing;
  const { checkpoint, ...prepared } = await prepare(choosing, { source: undefined });
  const validation = await validator.validate(
    { checkpoint, document: prepared.document, kubeletVersion },
    { steps: 'no-probe-no-forecast', signal },
  );
  const nothingKnown: Accepted = { kind: 'accepted', warnings: [], healthz: undefined, staticPodPath: undefined };
  return { ...prepared, rank, accepted: validation.kind === 'accepted' ? validation : nothingKnown };
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

/** False for a config that has passed its trial with this ref, and for the last resort. */
export function needsTrial(choice: Choice, state: NodeState): boolean {
  if (choice.isLastResort) return false;
  if (choice.source === undefined)
    return (
      state.read(previousConfigRecord) !== undefined ||
      (choice.rank === 'assigned' && sourceOf(state.lastKnownGood()) !== undefined)
    );
  const hasPassed = resultOf(state, choice.key)?.kind === 'passed';
  return !(hasPassed && sameConfig(sourceOf(state.lastKnownGood()), choice.source, 'document'));
}

/** Compares the bytes, with any ref. Whether last known good may still run is not checked. */
export function hasBytesOfLastKnownGood(
  state: NodeState,
  { source, document }: Pick<Choice, 'source' | 'document'>,
): boolean {
  const good = sourceOf(state.lastKnownGood());
  return source !== undefined && good !== undefined && digestOf(state, good) === document.digest;
}

function digestOf(state: NodeState, source: ExactRef): string | undefined {
  if (source.mergedDigest !== undefined) return source.mergedDigest;
  try {
    return state.checkpoints.load(source).digest;
  } catch {
    return undefined;
  }
}
