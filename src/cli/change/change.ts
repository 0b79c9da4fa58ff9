/**
 * Makes a change on one node or many, the same way for every verb:
 *
 *   refuse what the server would drop or forbid ─► make the ConfigMaps ─► node by node: assign, wait until it is healthy
 *                                                                         └─ first failure ─► stop, say what was done
 *
 * Every request is a whole step: whenever this ends, each node has its old reference or its new one, and ConfigMaps that
 * were made and given to nobody are taken away again.
 */

import { formatRef, type NodeConfigSource, refOf } from '../../api/config-ref.js';
import { CannotRun } from '../../cannot-run.js';
import { type ConfigMap, ensureConfigMap, removeConfigMap } from '../../fleet/config-maps.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { causeOfError } from '../../fleet/node-events.js';
import type { Session } from '../session.js';
import { heldText, releaseHint } from '../state-text.js';
import { type Progress, showProgress } from '../terminal/progress.js';
import { printError } from '../terminal/terminal.js';
import { changeResult, type ResultFormat, resultText } from './change-result.js';
import { endText, newConfigMaps, type Outcome, tellPlan, tellRest } from './change-words.js';
import { followChange } from './follow-change.js';
import { whoAmI } from './who.js';
import { writeReference } from './write-reference.js';

export interface NodeChange {
  node: ConfiguredNode;
  to: NodeConfigSource | undefined;
  /** To be made first, unless it is there. */
  configMap?: ConfigMap;
}

export interface ChangeOptions {
  dryRun?: 'none' | 'client' | 'server';
  wait: boolean;
  /** For each node. */
  timeout: number;
  maxUnavailable: number;
  why?: string;
  /** The result goes to standard output for a program, everything else to standard error. */
  output?: ResultFormat;
}

/** `unchanged`: nodes that had it already, for the result. */
export async function makeChanges(
  session: Session,
  verb: string,
  changes: NodeChange[],
  options: ChangeOptions,
  unchanged: ConfiguredNode[] = [],
): Promise<void> {
  const outcomes = new Map<string, Outcome>();
  const dryRun = options.dryRun === 'client' || options.dryRun === 'server';
  try {
    if (changes.length > 0) await change(session, verb, changes, outcomes, options);
  } finally {
    const { output } = options;
    if (output !== undefined)
      session.terminal.printDocument(resultText(changeResult({ verb, changes, outcomes, unchanged, dryRun }), output));
  }
}

async function change(
  session: Session,
  verb: string,
  changes: NodeChange[],
  outcomes: Map<string, Outcome>,
  options: ChangeOptions,
): Promise<void> {
  if (options.dryRun === 'client') return tellPlan(session, changes, 'dry run');
  await preflight(session, verb, changes, options);
  if (options.dryRun === 'server') {
    for (const configMap of newConfigMaps(changes)) await ensureConfigMap(session, configMap, { dryRun: true });
    return tellPlan(session, changes, 'server dry run');
  }
  const by = await whoAmI(session);
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

/** Asked with a dry run, so that a server that drops or forbids the reference is found before anything is made. */
async function preflight(session: Session, verb: string, changes: NodeChange[], options: ChangeOptions): Promise<void> {
  if (!options.wait && changes.length > options.maxUnavailable)
    throw new CannotRun(
      `--no-wait would change ${changes.length} nodes at once; use --max-unavailable ${changes.length} to allow that`,
    );
  // With --no-wait the reference is only written, and followed whenever the node is released.
  const held = changes.find(({ node }) => node.held !== undefined)?.node;
  if (held !== undefined && options.wait)
    throw new CannotRun(
      `${held.name} is ${heldText(held.held!)}; it follows no new assignment, so nothing was changed. To continue, ${releaseHint}, or use --no-wait to assign the config now and have the node use it when it is released`,
    );
  const [first] = changes;
  if (first !== undefined) await writeReference(session, first, { by: 'relet', verb, dryRun: true });
}

async function nodeByNode(
  session: Session,
  changes: NodeChange[],
  outcomes: Map<string, Outcome>,
  options: ChangeOptions & { by: string; verb: string },
): Promise<void> {
  const progress = showProgress(session.terminal, () => performance.now());
  const waiting = [...changes];
  let stopped = false;
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined && !stopped; next = waiting.shift()) {
      if (session.signal.aborted) return;
      try {
        const outcome = await changeOne(session, next, progress, options, () =>
          outcomes.set(next!.node.name, { kind: 'not followed' }),
        );
        outcomes.set(next.node.name, outcome);
        stopped ||= outcome.kind !== 'active' && outcome.kind !== 'assigned';
      } catch (error) {
        stopped = true;
        progress.end(next.node.name, 'not changed');
        throw error;
      }
    }
  };
  try {
    const ends = await Promise.allSettled(
      Array.from({ length: Math.min(options.maxUnavailable, changes.length) }, worker),
    );
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) {
      tellRest(session, changes, outcomes);
      throw failed.reason;
    }
  } finally {
    progress.close();
  }
}

async function changeOne(
  session: Session,
  change: NodeChange,
  progress: Progress,
  options: ChangeOptions & { by: string; verb: string },
  onAssigned: () => void,
): Promise<Outcome> {
  const { node, to } = change;
  const { name } = node;
  progress.at(name, 'assigning');
  const { by, verb, why } = options;
  const written = await writeReference(session, change, { by, verb, ...(why && { why }) });
  onAssigned();
  const target = formatRef(refOf(to), 'short');
  if (!options.wait) {
    progress.end(name, `assigned ${target}; wait for it with 'relet wait ${name} --for=active'`);
    return { kind: 'assigned' };
  }
  const end = await followChange(session, {
    node: name,
    wish: { to, written },
    timeoutMs: options.timeout,
    onProgress: (text) => progress.at(name, text),
  });
  const cause = 'error' in end ? await causeOfError(session, end.reported) : undefined;
  progress.end(name, endText(session, change, end, cause));
  return { ...end, cause };
}

async function removeUnused(
  session: Session,
  made: ConfigMap[],
  changes: NodeChange[],
  outcomes: Map<string, Outcome>,
): Promise<void> {
  const used = new Set(changes.filter(({ node }) => outcomes.has(node.name)).map(({ to }) => to?.configMap?.name));
  for (const configMap of made) {
    if (used.has(configMap.metadata.name)) continue;
    await removeConfigMap(session, configMap);
    session.terminal.print(`configmap/${configMap.metadata.name} deleted: not used by any node`);
  }
}

/** Prints how it ended, and sets the exit code: 0 all active, 1 a node failed, 3 out of time. */
async function conclude(session: Session, changes: NodeChange[], outcomes: Map<string, Outcome>): Promise<void> {
  tellRest(session, changes, outcomes);
  session.signal.throwIfAborted();
  const isDone = ({ node }: NodeChange) => ['active', 'assigned'].includes(outcomes.get(node.name)?.kind ?? '');
  const ends = [...outcomes.values()].map(({ kind }) => kind);
  if (changes.every(isDone)) return;
  process.exitCode = ends.every((kind) => ['active', 'assigned', 'timed out'].includes(kind)) ? 3 : 1;
  const failed = changes.find((one) => outcomes.has(one.node.name) && !isDone(one));
  if (failed === undefined) return;
  const { name } = failed.node;
  printError(`relet: next: see 'relet describe ${name}'; 'relet undo ${name}' takes the change back`);
  if (changes.length > 1) printError('relet: to continue with the nodes that are not done, run the same command again');
}
