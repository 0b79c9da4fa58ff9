/**
 * Boot's question: which config runs? Candidates in order of trust; the first that loads and is accepted. The first
 * failure is what we report, and local is the last resort. Needs nothing but disk, and changes nothing but the memory
 * of having judged.
 */
import { Fault } from '../api/faults.js';
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import type { KubeletCommandLine } from './command-line.js';
import { type Checkpoint, sha256 } from './disk/checkpoints.js';
import type { Memory, Recorded } from './disk/memory.js';
import { verdictKey, withVerdict } from './disk/verdicts.js';
import type { Accepted, Candidate, Judge, Judgement } from './judge/judging.js';
import { describe, type ExactSource, type SourceOrLocal, sameSource } from './source.js';

export type Rank = 'assigned' | 'way-back' | 'last-known-good' | 'local';

/** A config that may run, and what to know while it does. */
export interface Choice {
  rank: Rank;
  source: SourceOrLocal;
  accepted: Accepted;
  /** Equal bytes, equal digest. */
  digest: string;
  /** Under which a verdict about it is remembered. */
  key: string;
  /** Why a candidate before it could not run; the first one. */
  fault?: Fault;
}

export interface ChooseParts {
  memory: Memory;
  judge: Judge;
  commandLine: KubeletCommandLine;
  kubeletVersion(): Promise<string>;
  log: Log;
}

interface Ranked {
  rank: Rank;
  recorded: Recorded;
}

export async function choose(parts: ChooseParts, signal: AbortSignal): Promise<Choice> {
  let fault: Fault | undefined;
  const list = candidates(parts.memory);
  // Nothing but local: there is no choice to make, and the kubelet says itself what it dislikes.
  if (list.every(({ recorded }) => 'source' in recorded && recorded.source === undefined))
    return lastResort(parts, signal);
  for (const { rank, recorded } of list) {
    try {
      const choice = await consider(parts, rank, recorded, signal);
      return fault ? { ...choice, fault } : choice;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      parts.log.warn('config cannot run', { rank, config: nameOf(recorded), error: error.message, cause: error.cause });
      fault ??= error;
    }
  }
  return { ...(await lastResort(parts, signal)), ...(fault && { fault }) };
}

const waitMs = 5000;

/** As choose; where not even that works, as while the kubelet's binary is being replaced, it waits. Undefined: aborted. */
export async function chooseOrWait(
  parts: ChooseParts & { clock: Clock },
  signal: AbortSignal,
): Promise<Choice | undefined> {
  while (!signal.aborted) {
    try {
      return await unlessAborted(choose(parts, signal), signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      parts.log.error('no kubelet can be started', { error });
      await parts.clock.sleep(waitMs, signal).catch(() => {});
    }
  }
  return undefined;
}

/** Who is told to stop does not wait for a kubelet that is only being asked. */
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

/** A record that names what an earlier one named adds nothing, unless it is local, where the list ends. */
export function candidates(memory: Memory): Ranked[] {
  const ranked: Ranked[] = [
    { rank: 'assigned', recorded: memory.assigned() },
    ...(memory.wayBack.read() ? [{ rank: 'way-back' as const, recorded: { source: memory.wayBack.read() } }] : []),
    { rank: 'last-known-good', recorded: memory.lastKnownGood() },
  ];
  const unique: Ranked[] = [];
  for (const next of ranked)
    if (!unique.some((earlier) => sameRecord(earlier.recorded, next.recorded))) unique.push(next);
  return unique;
}

/** Judges a source that may not be recorded yet. Throws a Fault when it cannot run. */
export async function consider(
  parts: ChooseParts,
  rank: Rank,
  recorded: Recorded,
  signal: AbortSignal,
): Promise<Choice> {
  if ('broken' in recorded) throw new Fault('load', recorded.broken);
  const { memory, judge, commandLine } = parts;
  const checkpoint = recorded.source && load(memory, recorded.source);
  const digest = checkpoint?.digest ?? localDigest(commandLine);
  const kubeletVersion = await parts.kubeletVersion();
  const key = verdictKey(digest, kubeletVersion, commandLine.args(undefined));
  const verdict = memory.verdicts.read()?.[key];
  if (verdict?.kind === 'failed')
    throw new Fault(verdict.reason, new Error(`${verdict.cause} (at ${verdict.at}; not tried again)`));
  const candidate: Candidate = { checkpoint, kubeletVersion };
  const judgement = await judge.judge(candidate, { history: verdict?.kind ?? 'none', signal });
  const accepted = orFault(judgement);
  if (verdict === undefined) memory.verdicts.write(withVerdict(memory.verdicts.read(), key, { kind: 'accepted' }));
  return { rank, source: recorded.source, accepted, digest, key };
}

/** All else failed: local, whatever is thought of it. The kubelet itself says what it dislikes. */
async function lastResort(parts: ChooseParts, signal: AbortSignal): Promise<Choice> {
  const { judge, commandLine } = parts;
  const kubeletVersion = await parts.kubeletVersion();
  const digest = localDigest(commandLine);
  const judgement = await judge.judge({ checkpoint: undefined, kubeletVersion }, { history: 'proven', signal });
  const accepted: Accepted =
    judgement.kind === 'accepted'
      ? judgement
      : { kind: 'accepted', warnings: [], configFile: undefined, healthz: undefined, staticPodPath: undefined };
  const key = verdictKey(digest, kubeletVersion, commandLine.args(undefined));
  const assigned = parts.memory.assigned();
  const isAssigned = 'source' in assigned && assigned.source === undefined;
  return { rank: isAssigned ? 'assigned' : 'local', source: undefined, accepted, digest, key };
}

function load(memory: Memory, source: ExactSource): Checkpoint {
  try {
    return memory.checkpoints.load(source);
  } catch (cause) {
    throw new Fault('load', cause);
  }
}

function orFault(judgement: Judgement): Accepted {
  if (judgement.kind === 'refused') throw new Fault(judgement.reason, judgement.cause);
  return judgement;
}

function localDigest(commandLine: KubeletCommandLine): string {
  const files = [...commandLine.localFiles()].map(([name, data]) => `${name}\0${sha256(data)}`);
  return sha256(['local', ...files].join('\n'));
}

function sameRecord(a: Recorded, b: Recorded): boolean {
  return 'source' in a && 'source' in b && sameSource(a.source, b.source);
}

function nameOf(recorded: Recorded): string {
  return 'source' in recorded ? describe(recorded.source) : 'unreadable record';
}

/** Must this choice prove itself? Not what already did, and not where nothing better could be run instead. */
export function needsTrial(choice: Choice, memory: Memory): boolean {
  const lastKnownGood = memory.lastKnownGood();
  const good = 'source' in lastKnownGood ? lastKnownGood.source : undefined;
  if (choice.source === undefined)
    return choice.rank === 'assigned' && (good !== undefined || memory.wayBack.read() !== undefined);
  const proven = memory.verdicts.read()?.[choice.key]?.kind === 'proven';
  return !(proven && good !== undefined && digestOf(memory, good) === choice.digest);
}

function digestOf(memory: Memory, source: ExactSource): string | undefined {
  try {
    return memory.checkpoints.load(source).digest;
  } catch {
    return undefined;
  }
}
