/**
 * `relet rollout rehearse FILE|SET`: runs a rollout on a copy of the nodes, in this process and on virtual time. The cluster is only
 * read. Exit codes as of `rollout status`: 0 complete, 1 stopped, 3 neither in time.
 */
import { setMaxListeners } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import { CannotRun } from '../../cannot-run.js';
import { rfc3339 } from '../../clock.js';
import type { Chosen } from '../../rehearsal/faults.js';
import { readManifests } from '../../rehearsal/manifests.js';
import type { Harm } from '../../rehearsal/observations.js';
import { type RehearsalRun, rehearse } from '../../rehearsal/rehearse.js';
import { findRejections } from '../../rehearsal/rejections.js';
import { type Rehearsal, reportOf } from '../../rehearsal/report.js';
import { type RehearsalRow, rowOf, spreadOf } from '../../rehearsal/spread.js';
import { usualTrialMs } from '../../rollout/estimate.js';
import { deployDir } from '../node/kubelet-command.js';
import { whyUnreadable } from '../read-file.js';
import { writeResult } from '../terminal/output.js';
import { terminalFor } from '../terminal/terminal.js';
import { rehearsalPage } from './rehearsal-page.js';
import { openProgress, type RehearsalProgress } from './rehearsal-progress.js';
import { lasting, rehearsalText, spreadText } from './rehearsal-text.js';
import { type InputOptions, type RehearsalInput, readInput } from './rehearse-input.js';

export interface RehearseOptions extends InputOptions {
  seed: string;
  seeds?: number;
  fail?: Chosen;
  slow?: Chosen;
  notReady?: Chosen;
  controllerCrashes?: boolean;
  apiOutages?: boolean;
  worse?: Harm[];
  /** Milliseconds. */
  until: number;
  trial?: number;
  approveAfter: number;
  /** Start by the wall clock. */
  start?: number;
  progress?: 'json' | 'none';
  output?: 'json' | 'yaml';
  /** A file. */
  html?: string;
}

/** A fixed day, for sets without windows: the same input then gives the same result. */
const anyDayMs = Date.UTC(2026, 0, 1);

export async function rehearseVerb(word: string, options: RehearseOptions): Promise<void> {
  if (options.html !== undefined && options.seeds !== undefined)
    throw new CannotRun('--html shows one rehearsal; leave --seeds out, and name one with --seed');
  if (options.html !== undefined) checkWritable(options.html);
  const input = await readInput(word, options);
  if (options.worse !== undefined && input.set.spec.strategy?.analysis === undefined)
    throw new CannotRun('--worse is noticed only by a set with strategy.analysis');
  // Errors are thrown and caught by the thousand, and nobody reads where.
  Error.stackTraceLimit = 0;
  const hasTimes = (input.set.spec.strategy?.windows ?? []).length > 0 || input.isFromCluster;
  const startMs = Math.floor((options.start ?? (hasTimes ? Date.now() : anyDayMs)) / 1000) * 1000;
  const rejections = await findRejections(input.fleet, input.payload, { isWritten: isWritten(input.set) });
  const progress = openProgress(options.progress, startMs);
  const rehearseSeed: RehearseSeed = async (seed, signal, onStatus) => {
    const { fleet } = input;
    const run = await rehearse({ ...parametersOf(input, options), seed, startMs, signal, onStatus });
    const start = hasTimes ? [`it starts at ${rfc3339(startMs)}`] : [];
    return reportOf({ run, fleet, seed, rejections, assumptions: [...assumedOf(run, input, options), ...start] });
  };
  try {
    const isOne = options.seeds === undefined;
    await interruptible((signal) => (isOne ? showOne : showMany)(options, progress, rehearseSeed, signal));
  } finally {
    progress.close();
  }
}

type RehearseSeed = (seed: string, signal: AbortSignal, onStatus: RehearsalProgress['onStatus']) => Promise<Rehearsal>;

async function showOne(
  options: RehearseOptions,
  progress: RehearsalProgress,
  rehearseSeed: RehearseSeed,
  signal: AbortSignal,
): Promise<void> {
  const rehearsal = await rehearseSeed(options.seed, signal, progress.onStatus);
  progress.close();
  const terminal = terminalFor(options);
  if (options.output !== undefined) terminal.printDocument(writeResult(options.output, rehearsal));
  else terminal.print(rehearsalText(rehearsal, terminal));
  if (options.html !== undefined) writePage(options.html, rehearsalPage(rehearsal));
  process.exitCode = exitCodes[rehearsal.outcome];
}

/** Before a rehearsal of minutes: a page that cannot be written is known at once. */
function checkWritable(file: string): void {
  const isNew = !existsSync(file);
  writePage(file, '', 'a');
  if (isNew) rmSync(file);
}

function writePage(file: string, text: string, flag = 'w'): void {
  try {
    writeFileSync(file, text, { flag });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such directory' : code === 'EISDIR' ? 'it is a directory' : undefined;
    throw new CannotRun(`--html: cannot write ${file}: ${why ?? whyUnreadable(error)}`);
  }
}

/** Seeds are S-1, S-2 and so on. */
async function showMany(
  { seed, seeds = 1, output }: RehearseOptions,
  progress: RehearsalProgress,
  rehearseSeed: RehearseSeed,
  signal: AbortSignal,
): Promise<void> {
  const rows: RehearsalRow[] = [];
  let last: Rehearsal | undefined;
  for (let index = 1; index <= seeds; index++) {
    last = await rehearseSeed(`${seed}-${index}`, signal, () => {});
    rows.push(rowOf(last));
    progress.onRun(rows.at(-1)!, index, seeds);
  }
  progress.close();
  const terminal = terminalFor({ output });
  const spread = spreadOf(rows, last!);
  if (output !== undefined) terminal.printDocument(writeResult(output, spread));
  else terminal.print(spreadText(spread, terminal));
  const worst = (['stopped', 'unfinished', 'complete'] as const).find((one) => rows.some((row) => row.outcome === one));
  process.exitCode = exitCodes[worst!];
}

const exitCodes: Record<Rehearsal['outcome'], number> = { complete: 0, stopped: 1, unfinished: 3 };

function parametersOf(
  { set, fleet }: RehearsalInput,
  { fail, slow, notReady, controllerCrashes, apiOutages, worse, until, trial, approveAfter }: RehearseOptions,
) {
  const parts = ['base', 'guards', 'kube-system', ...(fleet.mayDrain ? ['drain'] : [])];
  return {
    set,
    fleet,
    faults: { fail, slow, notReady, controllerCrashes, apiOutages, worse },
    manifests: parts.flatMap((part) => readManifests(join(deployDir(), part))),
    trialMs: trial ?? fleet.trialMs ?? usualTrialMs,
    approveAfterMs: approveAfter,
    untilMs: until,
  };
}

/** The config has lines that a person wrote: it is not an overlay in the set. */
const isWritten = ({ spec }: NodeConfigSet): boolean => spec.config.overlay === undefined;

/** Sentences for people. */
function assumedOf(
  { set }: Pick<RehearsalRun, 'set'>,
  { fleet }: RehearsalInput,
  { trial, approveAfter }: RehearseOptions,
): string[] {
  const isReported = trial === undefined && fleet.trialMs !== undefined;
  const trialMs = trial ?? fleet.trialMs ?? usualTrialMs;
  const { strategy, expiresAfter } = set.spec;
  const isExpiryAhead = expiresAfter !== undefined && set.status?.rejectedRevision === undefined;
  const waits = (strategy?.waves ?? []).some(({ approve }) => approve);
  return [
    `a trial takes ${lasting(trialMs / 1000)}${isReported ? ', as nodes report' : ''}`,
    ...(waits
      ? [`waves are approved ${approveAfter === 0 ? 'at once' : `after ${lasting(approveAfter / 1000)}`}`]
      : []),
    ...(isExpiryAhead ? [`it is taken back ${expiresAfter} after its start, which is not rehearsed`] : []),
  ];
}

/** Ctrl-C and SIGTERM end it at once: there is nothing to clean up. */
async function interruptible(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interrupt = new AbortController();
  setMaxListeners(0, interrupt.signal);
  const onSignal = (name: NodeJS.Signals) => {
    process.exitCode = name === 'SIGINT' ? 130 : 143;
    const message = name === 'SIGINT' ? 'interrupted' : 'stopped by SIGTERM';
    interrupt.abort(Object.assign(new Error(message), { name: 'Interrupted' }));
  };
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  try {
    await work(interrupt.signal);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}
