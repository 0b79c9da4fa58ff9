/**
 * Makes a confirmed change on one node or many:
 *
 *   reject what the server would drop or forbid ─► make the ConfigMaps ─► node by node: assign, wait until it is healthy
 *                                                                         └─ first failure ─► stop, print what was done
 *
 * Every request is a whole step: whenever this ends, each node has its old reference or its new one, and new ConfigMaps that no node
 * uses are deleted again.
 */
import { formatRef, refOf } from '../../api/config-ref.js';
import type { ConfigMap } from '../../api/object.js';
import { CannotRun } from '../../cannot-run.js';
import { systemClock } from '../../clock.js';
import { watchChange } from '../../fleet/change-progress.js';
import { ensureConfigMap, findUses, isPresent, keyOf, removeConfigMap } from '../../fleet/config-maps.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { owedText } from '../../fleet/state-text.js';
import { shortDuration } from '../../go/short-duration.js';
import { oneLine } from '../../visible-text.js';
import { followServer } from '../follow-server.js';
import { type Session, whoAmI } from '../session.js';
import { hanging, type Progress, printError, showProgress } from '../terminal/terminal.js';
import { type DrainPolicy, drainNode, refuseDrains } from './drain-node.js';
import {
  changeResult,
  type Ended,
  endText,
  isLeft,
  type NodeChange,
  namesOf,
  nextText,
  type Outcome,
  printRest,
  type ResultFormat,
  resultText,
  unknownText,
} from './outcome.js';
import {
  AssignmentUnknown,
  type Entry,
  type Respected,
  readChangeable,
  refuseHeld,
  writeReference,
} from './write-reference.js';

export interface ChangeOptions extends Respected {
  dryRun?: 'none' | 'client' | 'server';
  /** For each node. */
  timeout: number;
  /** A number of nodes, or a percentage of those to change. Default 1. */
  maxUnavailable?: number | string;
  /** How long a node must stay active before the next one is changed, in milliseconds. Default 0. */
  soak?: number;
  why?: string;
  /** Drain nodes before they are changed. */
  drain?: DrainPolicy;
  /** For each node, in milliseconds. */
  drainTimeout?: number;
  /** The result goes to standard output for a program, everything else to standard error. */
  output?: ResultFormat;
}

/** As in sets. */
const defaultDrainMs = 10 * 60_000;

/** `unchanged`: nodes that had it already, for the result. */
export async function makeChanges(
  session: Session,
  verb: string,
  changes: NodeChange[],
  options: ChangeOptions,
  unchanged: ConfiguredNode[] = [],
): Promise<void> {
  const outcomes = new Map<string, Outcome>();
  await reportingResult(
    session,
    { verb, changes, outcomes, unchanged, dryRun: isDryRun(options) },
    options,
    async () => {
      if (changes.length > 0) await change(session, verb, changes, outcomes, options);
    },
  );
}

export const isDryRun = ({ dryRun = 'none' }: Pick<ChangeOptions, 'dryRun'>): boolean => dryRun !== 'none';

/** Prints the result for a program, also where the work fails. */
async function reportingResult(
  { terminal }: Session,
  ended: Ended,
  { output }: ChangeOptions,
  work: () => Promise<void>,
): Promise<void> {
  const print = (error?: string) =>
    output !== undefined && terminal.printDocument(resultText(changeResult({ ...ended, error }), output));
  try {
    await work();
  } catch (error) {
    print((error as Error).message);
    throw error;
  }
  print();
}

/** For a command that ends before anything is changed. */
export const reportNotChanged = (
  session: Session,
  { verb, changes, unchanged }: Pick<Ended, 'verb' | 'changes' | 'unchanged'>,
  options: ChangeOptions,
  error: unknown,
): Promise<void> =>
  reportingResult(
    session,
    { verb, changes, unchanged: unchanged ?? [], outcomes: new Map(), dryRun: isDryRun(options) },
    options,
    async () => {
      throw error;
    },
  );

async function change(
  session: Session,
  verb: string,
  changes: NodeChange[],
  outcomes: Map<string, Outcome>,
  options: ChangeOptions,
): Promise<void> {
  if (options.dryRun === 'client') {
    const wanted = newConfigMaps(changes);
    const present = await Promise.all(wanted.map((configMap) => isPresent(session, configMap)));
    return printPlan(
      session,
      changes,
      'dry run',
      wanted.filter((_, at) => present[at]),
    );
  }
  const by = await whoAmI(session);
  await preflight(session, { by, verb }, changes, options);
  if (options.dryRun === 'server') {
    const present: ConfigMap[] = [];
    for (const configMap of newConfigMaps(changes)) {
      const { created } = await ensureConfigMap(session, configMap, { dryRun: true });
      if (!created) present.push(configMap);
    }
    return printPlan(session, changes, 'server dry run', present);
  }
  const made: ConfigMap[] = [];
  try {
    for (const configMap of newConfigMaps(changes)) {
      session.signal.throwIfAborted();
      const { created, configMap: present } = await ensureConfigMap(session, configMap);
      if (created) made.push(present);
      const { namespace, name } = present.metadata;
      session.terminal.print(`configmap/${name} ${created ? 'created' : 'unchanged'} in namespace ${namespace}`);
    }
    await nodeByNode(session, changes, outcomes, { ...options, by, verb });
  } finally {
    await removeUnused(session, made, changes, outcomes);
  }
  await conclude(session, changes, outcomes);
}

function printPlan({ terminal }: Session, changes: NodeChange[], how: string, present: ConfigMap[]): void {
  const unchanged = new Set(present.map(({ metadata }) => metadata.name));
  for (const { metadata } of newConfigMaps(changes)) {
    const done = unchanged.has(metadata.name) ? 'unchanged' : 'created';
    terminal.print(`configmap/${metadata.name} ${done} (${how}) in namespace ${metadata.namespace}`);
  }
  for (const { node, to } of changes)
    terminal.print(`${node.name}: assigned ${formatRef(refOf(to), 'short')} (${how})`);
}

/** Each once. */
function newConfigMaps(changes: NodeChange[]): ConfigMap[] {
  const byName = new Map(
    changes.flatMap(({ configMap }) =>
      configMap === undefined ? [] : [[`${configMap.metadata.namespace}/${configMap.metadata.name}`, configMap]],
    ),
  );
  return [...byName.values()];
}

/** With a dry run of the first node: a server that drops or forbids the reference is found before anything is made. */
async function preflight(session: Session, entry: Entry, changes: NodeChange[], options: ChangeOptions): Promise<void> {
  if (!options.wait && changes.length > mostAtOnce(changes, options))
    throw new CannotRun(
      `--no-wait would change ${changes.length} nodes at once; use --max-unavailable 100% to allow that`,
    );
  for (const { node } of changes) refuseHeld(node, { wait: options.wait, unchanged: 'nothing was changed' });
  const drained = changes.filter(({ isDrained }) => isDrained).map(({ node }) => node.name);
  if (drained.length > 0 && !options.wait)
    throw new CannotRun('--drain waits until the node runs the config, to uncordon it; leave --no-wait out');
  if (drained.length > 0) await refuseDrains(session, drained);
  const [first] = changes;
  if (first !== undefined) await writeReference(session, first, { ...options, ...entry }, { dryRun: true });
}

/** A percentage rounds down, and is at least one node. */
function mostAtOnce(changes: readonly NodeChange[], { maxUnavailable = 1 }: ChangeOptions): number {
  if (typeof maxUnavailable === 'number') return maxUnavailable;
  return Math.max(1, Math.floor((changes.length * Number.parseInt(maxUnavailable, 10)) / 100));
}

async function nodeByNode(
  session: Session,
  changes: NodeChange[],
  outcomes: Map<string, Outcome>,
  options: ChangeOptions & Entry,
): Promise<void> {
  const progress = showProgress(session.terminal, () => performance.now());
  const over = new AbortController();
  followServer({ client: session.client, signal: over.signal, show: (line) => progress.note(line) });
  const waiting = [...changes];
  let stopped = false;
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined && !stopped; next = waiting.shift()) {
      if (session.signal.aborted) return;
      try {
        const soak = waiting.length > 0 ? (options.soak ?? 0) : 0;
        const outcome = await changeOne(session, next, progress, { ...options, soak }, (known) =>
          outcomes.set(next!.node.name, known),
        );
        outcomes.set(next.node.name, outcome);
        stopped ||= outcome.kind !== 'active' && outcome.kind !== 'assigned';
      } catch (error) {
        stopped = true;
        progress.end(next.node.name, unknownText(next.node.name, outcomes.get(next.node.name)));
        throw error;
      }
    }
  };
  try {
    const ends = await Promise.allSettled(
      Array.from({ length: Math.min(mostAtOnce(changes, options), changes.length) }, worker),
    );
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) {
      printRest(session.terminal, changes, outcomes);
      throw failed.reason;
    }
  } finally {
    over.abort();
    progress.close();
  }
}

async function changeOne(
  session: Session,
  change: NodeChange,
  progress: Progress,
  options: ChangeOptions & Entry,
  onKnown: (outcome: Outcome) => void,
): Promise<Outcome> {
  if (!change.isDrained) return assignOne(session, change, progress, options, onKnown);
  const { name } = change.node;
  await readChangeable(session, change, options);
  const revision = formatRef(refOf(change.to), 'short');
  const timeoutMs = options.drainTimeout ?? defaultDrainMs;
  const drained = await drainNode(session, name, { revision, timeoutMs, progress });
  try {
    return await assignOne(session, change, progress, options, onKnown);
  } finally {
    const isLifted = await drained.lift();
    session.terminal.print(`${name}: ${isLifted ? 'uncordoned' : 'still cordoned, by somebody else'}`);
  }
}

async function assignOne(
  session: Session,
  change: NodeChange,
  progress: Progress,
  options: ChangeOptions & Entry,
  onKnown: (outcome: Outcome) => void,
): Promise<Outcome> {
  const { node, to } = change;
  const { name } = node;
  progress.at(name, 'assigning');
  const written = await writeReference(session, change, options).catch((error: unknown) => {
    if (error instanceof AssignmentUnknown) onKnown({ kind: 'unknown', error: error.message });
    throw error;
  });
  onKnown({ kind: 'not followed' });
  const target = formatRef(refOf(to), 'short');
  if (!options.wait) {
    progress.end(name, `assigned ${target}; wait for it with 'relet wait ${name} --for=active'`);
    return { kind: 'assigned' };
  }
  const watch = () =>
    watchChange({
      references: session.references,
      clock: systemClock,
      node: name,
      assignment: { to, written, detach: change.detach },
      timeoutMs: options.timeout,
      signal: session.signal,
      onProgress: (text) => progress.at(name, text),
    });
  let end = await watch();
  if (end.kind === 'active' && options.soak) {
    progress.at(name, `active; the next node follows in ${shortDuration(options.soak)} if it stays so`);
    await systemClock.sleep(options.soak, session.signal).catch(() => {});
    // It may have been rolled back meanwhile.
    end = await watch();
  }
  const cause = 'error' in end ? end.reported.cause : undefined;
  progress.end(name, endText(session.terminal, change, end, cause));
  return { ...end, cause };
}

/** Also after Ctrl-C, so with a time limit of its own. */
const cleanUpMs = 30_000;

/** Removes only ConfigMaps that this run made: somebody else may have assigned the same content meanwhile, which has the same name. */
async function removeUnused(
  session: Session,
  made: ConfigMap[],
  changes: NodeChange[],
  outcomes: Map<string, Outcome>,
): Promise<void> {
  const used = new Set(changes.filter(({ node }) => outcomes.has(node.name)).map(({ to }) => refOf(to)?.name));
  const left = made.filter(({ metadata }) => !used.has(metadata.name));
  if (left.length === 0) return;
  const { client, references, terminal } = session;
  try {
    const { now, history, sets } = await findUses({ client, references, signal: AbortSignal.timeout(cleanUpMs) });
    for (const configMap of left) {
      const { name } = configMap.metadata;
      const isUsed = [now, history, sets].some((uses) => uses.has(keyOf(configMap)));
      if (!isUsed) await removeConfigMap(session, configMap);
      terminal.print(`configmap/${name} ${isUsed ? 'kept: it is in use by now' : 'deleted: not used by any node'}`);
    }
  } catch (error) {
    const names = left.map(({ metadata }) => `configmap/${metadata.name}`).join(', ');
    const why = oneLine((error as Error).message);
    terminal.print(
      hanging(`${names}: not deleted (${why}); 'relet gc' deletes ConfigMaps that no node uses`, terminal),
    );
  }
}

/** Prints how it ended, and sets the exit code: 0 all active, 1 a node failed, 3 out of time. */
async function conclude(session: Session, changes: NodeChange[], outcomes: Map<string, Outcome>): Promise<void> {
  printRest(session.terminal, changes, outcomes);
  session.signal.throwIfAborted();
  const isDone = ({ node }: NodeChange) => ['active', 'assigned'].includes(outcomes.get(node.name)?.kind ?? '');
  const ends = [...outcomes.values()].map(({ kind }) => kind);
  for (const { node, owed } of changes.filter(isDone))
    if (owed && isLeft(owed)) session.terminal.print(hanging(`${node.name}: ${owedText(owed)}`, session.terminal));
  if (changes.every(isDone)) return;
  process.exitCode = ends.every((kind) => ['active', 'assigned', 'timed out'].includes(kind)) ? 3 : 1;
  const failed = changes.find((one) => outcomes.has(one.node.name) && !isDone(one));
  if (failed === undefined) return;
  const { name } = failed.node;
  const outcome = outcomes.get(name)!;
  printError(`relet: next: see ${nextText(name, outcome)}`);
  if (changes.length > 1) printError(`relet: ${continueText(changes, outcomes)}`);
}

/** After a config failed on one node, the same command would give it to the next one. */
function continueText(changes: NodeChange[], outcomes: Map<string, Outcome>): string {
  const hasFailed = [...outcomes.values()].some(({ kind }) => kind === 'rejected' || kind === 'rolled back');
  const left = changes.map(({ node }) => node.name).filter((name) => !outcomes.has(name));
  if (!hasFailed) return 'to continue with the nodes that are not done, run the same command again';
  if (left.length === 0) return 'correct the value before you run the same command again';
  const [names, were] = [namesOf(left), left.length === 1 ? 'was' : 'were'];
  return `${names} ${were} not changed. Correct the value first; the same command would now change ${namesOf(left.slice(0, 1))}${left.length > 1 ? ' next' : ''}.`;
}
