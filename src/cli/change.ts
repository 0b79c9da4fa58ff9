/**
 * Makes a change on one node or many, the same way for every verb:
 *
 *   refuse what the server would drop or forbid ─► make the ConfigMaps ─► node by node: assign, wait until it is healthy
 *                                                                         └─ first failure ─► stop, say what was done
 *
 * Every request is a whole step: whenever this ends, each node has its old reference or its new one, and ConfigMaps that
 * were made and given to nobody are taken away again.
 */
import { sourceText, withEntry } from '../api/config-history.js';
import { sameReference, sourceName } from '../api/config-state.js';
import type { NodeConfigSource } from '../api/node-config-source.js';
import { isConflict } from '../kube/api-error.js';
import type { ConfiguredNode } from '../kube/config-reference.js';
import { CannotRun } from './cannot-run.js';
import { type ConfigMap, ensureConfigMap, removeConfigMap } from './config-maps.js';
import { type ChangeEnd, causeOfError, followChange } from './follow-change.js';
import { type Progress, showProgress } from './progress.js';
import type { Session } from './session.js';
import { wrap } from './terminal.js';
import { whoAmI } from './who.js';

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
}

/** What has happened to a node of the change. */
type Outcome = ChangeEnd | { kind: 'assigned' };

export async function makeChanges(
  session: Session,
  verb: string,
  changes: NodeChange[],
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
  const outcomes = new Map<string, Outcome>();
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
      `--no-wait would change ${changes.length} nodes at once; say --max-unavailable ${changes.length} if that is meant`,
    );
  const [first] = changes;
  if (first !== undefined) await assign(session, first, { by: 'relet', verb, dryRun: true });
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
          outcomes.set(next!.node.name, { kind: 'assigned' }),
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
  await assign(session, change, options);
  onAssigned();
  const target = sourceText(sourceName(to));
  if (!options.wait) {
    progress.end(name, `assigned ${target}; 'relet wait ${name} --for=active' waits for it`);
    return { kind: 'assigned' };
  }
  const end = await followChange(session, {
    node: name,
    wish: { to, errorBefore: node.status.error, readyBefore: node.ready === 'True' },
    timeoutMs: options.timeout,
    onProgress: (text) => progress.at(name, text),
  });
  const cause = 'error' in end ? await causeOfError(session, name, end.error) : undefined;
  progress.end(name, endText(session, name, target, end, cause));
  return end;
}

interface Asking {
  by: string;
  verb: string;
  why?: string;
  dryRun?: boolean | undefined | string;
}

/** Other writes to the same object (heartbeats, labels) are no reason to give up; another hand on the reference is. */
async function assign(session: Session, { node, to }: NodeChange, asking: Asking): Promise<void> {
  const before = sourceName(node.configSource);
  for (let present = node, tries = 0; ; tries++) {
    if (!sameReference(before, sourceName(present.configSource)))
      throw new CannotRun(
        `${node.name} was changed by somebody else meanwhile: it is now assigned ${sourceText(sourceName(present.configSource))}; look at it ('relet history ${node.name}') and try again`,
      );
    const { by, verb, why } = asking;
    const entry = { at: new Date().toISOString().replace(/\.\d+Z$/, 'Z'), by, verb, ...(why && { why }) };
    const history = withEntry(present.history, {
      ...entry,
      from: sourceText(before),
      to: sourceText(sourceName(to)),
    });
    try {
      await session.references.assign(present, to, { history, dryRun: asking.dryRun === true });
      return;
    } catch (error) {
      if (!isConflict(error) || tries >= 10) throw error;
    }
    present = await session.references.get(node.name);
  }
}

function endText(
  { terminal }: Session,
  node: string,
  target: string,
  end: ChangeEnd,
  cause: string | undefined,
): string {
  const { paint, columns } = terminal;
  const details = cause === undefined ? '' : `\n${wrap(cause, columns, '    ')}`;
  switch (end.kind) {
    case 'active':
      return end.proven
        ? paint.green(target === 'local' ? 'active: its local config' : `active: ${target}`)
        : `${paint.green(`active: ${target}`)}; on trial, 'relet wait ${node} --for=lastKnownGood' waits for its end`;
    case 'refused':
      return `${paint.red('refused')}: ${end.error}${details}`;
    case 'rolled back':
      return `${paint.red('rolled back')}: ${end.error}${details}`;
    case 'cannot follow':
      return `${paint.red('not active')}: ${end.error}${details}`;
    case 'changed':
      return `${paint.yellow('changed again')} by somebody else meanwhile; 'relet history ${node}' shows by whom`;
    case 'gone':
      return `${paint.yellow('gone')}: the Node was deleted meanwhile`;
    case 'timed out':
      return `${paint.yellow('not active in time')}; 'relet describe ${node}' tells more`;
    case 'interrupted':
      return 'assigned; it goes on by itself, nobody waits for it any more';
  }
}

function newConfigMaps(changes: NodeChange[]): ConfigMap[] {
  const byName = new Map(
    changes.flatMap(({ configMap }) =>
      configMap === undefined ? [] : [[`${configMap.metadata.namespace}/${configMap.metadata.name}`, configMap]],
    ),
  );
  return [...byName.values()];
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
    session.terminal.print(`configmap/${configMap.metadata.name} removed again: no node was given it`);
  }
}

/** Says how it ended, and sets the exit code: 0 all active, 1 a node said no, 3 out of time. */
async function conclude(session: Session, changes: NodeChange[], outcomes: Map<string, Outcome>): Promise<void> {
  const ends = [...outcomes.values()].map(({ kind }) => kind);
  tellRest(session, changes, outcomes);
  session.signal.throwIfAborted();
  if (ends.every((kind) => kind === 'active' || kind === 'assigned')) return;
  process.exitCode = ends.every((kind) => ['active', 'assigned', 'timed out'].includes(kind)) ? 3 : 1;
  const failed = changes.find(
    ({ node }) => !['active', 'assigned'].includes(outcomes.get(node.name)?.kind ?? 'active'),
  );
  if (failed !== undefined)
    process.stderr.write(
      `relet: next: 'relet describe ${failed.node.name}' tells what happened, 'relet undo ${failed.node.name}' takes it back\n`,
    );
}

/** With several nodes: who has it, and who was not touched. */
function tellRest({ terminal }: Session, changes: NodeChange[], outcomes: Map<string, Outcome>): void {
  if (changes.length === 1) return;
  const names = (want: (kind: string | undefined) => boolean) =>
    changes.map(({ node }) => node.name).filter((name) => want(outcomes.get(name)?.kind));
  const list = (title: string, found: string[]) => {
    if (found.length > 0) terminal.print(wrap(`${title} (${found.length}): ${found.join(', ')}`, terminal.columns));
  };
  list(
    'Done',
    names((kind) => kind === 'active' || kind === 'assigned'),
  );
  list(
    'Not done',
    names((kind) => kind !== undefined && kind !== 'active' && kind !== 'assigned'),
  );
  list(
    'Not touched',
    names((kind) => kind === undefined),
  );
}

function tellPlan({ terminal }: Session, changes: NodeChange[], how: string): void {
  for (const { metadata } of newConfigMaps(changes))
    terminal.print(`configmap/${metadata.name} created in namespace ${metadata.namespace} (${how})`);
  for (const { node, to } of changes) terminal.print(`${node.name}: assigned ${sourceText(sourceName(to))} (${how})`);
}
