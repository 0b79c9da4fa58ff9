/**
 * The result of a change per node: text for people; `-o json` and `-o name` for programs, which docs/cli.md describes. Pure but for the
 * printing.
 */
import { formatRef, type NodeConfigSource, refOf, sameConfig } from '../../api/config-ref.js';
import type { AcceptedImpact, Owed } from '../../api/node-annotations.js';
import type { ConfigMap } from '../../api/object.js';
import type { ChangeEnd } from '../../fleet/change-progress.js';
import { type ConfiguredNode, configState } from '../../fleet/configured-node.js';
import { failureText, heldText, releaseHint, undoHint } from '../../fleet/state-text.js';
import { byNaturalOrder } from '../../natural-order.js';
import { list } from '../../rollout/sentences.js';
import { type Terminal, wrap } from '../terminal/terminal.js';

export interface NodeChange {
  node: ConfiguredNode;
  to: NodeConfigSource | undefined;
  /** To be made first, unless it is there. */
  configMap?: ConfigMap;
  /** With local: relet is to leave the host as well. */
  detach?: true | undefined;
  /** Actions left to do on the host afterwards. */
  owed?: Omit<Owed, 'at'> | undefined;
  /** Impacts that --accept must name. */
  needs?: AcceptedImpact[];
  /** It is drained before the change. */
  isDrained?: boolean;
}

/** Outcome of the change on one node. */
export type Outcome =
  | ((ChangeEnd | { kind: 'assigned' }) & { cause?: string | undefined })
  /** Assigned, and then relet itself failed: how it ended is not known. */
  | { kind: 'not followed' }
  /** The API server did not confirm the assignment: it may have been made. */
  | { kind: 'unknown'; error: string; cause?: undefined };

/** On a node that was drained, its agent sets the state files aside. */
export const isLeft = ({ needs, drained }: Omit<Owed, 'at'>): boolean =>
  !drained || needs.some((one) => one !== 'state-file');

export function endText(
  { paint, columns }: Terminal,
  { node, to, detach }: NodeChange,
  end: ChangeEnd,
  cause: string | undefined,
): string {
  const { name } = node;
  const target = formatRef(refOf(to), 'short');
  const details = cause === undefined ? '' : `\n${wrap(cause, columns, '    ')}`;
  switch (end.kind) {
    case 'active':
      if (detach) return paint.green('detached: it runs its local config');
      return end.trialPassed
        ? paint.green(target === 'local' ? 'active: its local config' : `active: ${target}`)
        : `${paint.green(`active: ${target}`)}; on trial, wait for its end with 'relet wait ${name} --for=lastKnownGood'`;
    case 'rejected':
      return `${paint.red(failureText(end.kind, end.reported))}${details}`;
    case 'rolled back':
      return `${paint.red(failureText(end.kind, end.reported))}${details}\n${wrap(rollbackText(node, end.reported), columns, '    ')}`;
    case 'cannot follow':
      return `${paint.red('not active')}: ${end.error}${details}`;
    case 'held':
      return `${paint.yellow('not active')}: the node is ${heldText(end.held)}; ${releaseHint}`;
    case 'changed':
      return `${paint.yellow('changed again')} by somebody else meanwhile; 'relet history ${name}' shows by whom`;
    case 'gone':
      return `${paint.yellow('gone')}: the Node was deleted meanwhile`;
    case 'timed out':
      return `${paint.yellow('not active in time')}; see 'relet describe ${name}'`;
    case 'interrupted':
      return 'assigned; it will finish on its own, relet stopped waiting';
  }
}

/** For a node at which the command ended with an error. */
export function unknownText(name: string, outcome: Outcome | undefined): string {
  if (outcome === undefined) return 'not changed';
  if (outcome.kind === 'unknown') return `not known whether it was assigned; 'relet get ${name}' shows it`;
  return `assigned; how it ended is not known, 'relet get ${name}' shows it`;
}

/** After a change by somebody else an undo would take back theirs; a node that is gone has nothing to undo. */
export function nextText(name: string, outcome: Outcome): string {
  if (outcome.kind === 'changed') return `'relet history ${name}'; an undo would now take back the newer change`;
  if (outcome.kind === 'gone') return "'relet get'";
  const hint =
    'reported' in outcome
      ? undoHint(outcome.reported, 'takes the change back')
      : `'relet undo ${name}' takes the change back`;
  return `'relet describe ${name}'; ${hint}`;
}

/** Names the config that the node runs now, and the active config that it lost: before the end of its trial it is not last known good. */
function rollbackText(before: ConfiguredNode, reported: ConfiguredNode): string {
  const good = refOf(reported.status.lastKnownGood);
  const to = good === undefined ? 'its local config' : `${formatRef(good, 'short')}, its last known good`;
  const active = refOf(before.status.active);
  if (configState(before) !== 'trial' || sameConfig(active, good, 'name')) return `The node runs ${to}.`;
  return `The node runs ${to}. ${formatRef(active, 'short')}, which was active before, is no longer used; 'relet undo ${before.name}' assigns it again.`;
}

/** `12 nodes: node-1, node-2, node-3 and 9 more`. */
export const namesOf = (names: string[]): string =>
  names.length <= 3 ? names.join(', ') : `${names.length} nodes: ${list(names)}`;

/** With several nodes: which are done, failed and not changed. */
export function printRest(terminal: Terminal, changes: NodeChange[], outcomes: Map<string, Outcome>): void {
  if (changes.length <= 1) return;
  for (const [title, kinds] of lists) {
    const found = changes.map(({ node }) => node.name).filter((name) => kinds.includes(outcomes.get(name)?.kind));
    if (found.length > 0) terminal.print(wrap(`${title} (${found.length}): ${found.join(', ')}`, terminal.columns));
  }
}

const lists: [title: string, kinds: (Outcome['kind'] | undefined)[]][] = [
  ['Done', ['active', 'assigned']],
  ['Failed', ['rejected', 'rolled back', 'cannot follow', 'held', 'changed', 'gone']],
  ['Assigned, not active yet', ['timed out', 'interrupted', 'not followed']],
  ['Not known whether assigned', ['unknown']],
  ['Not changed', [undefined]],
];

export type ResultFormat = 'json' | 'name';

export interface ChangeResult {
  apiVersion: 'cli.relet.dev/v1';
  kind: 'ChangeResult';
  verb: string;
  dryRun: boolean;
  nodes: NodeResult[];
  /** Why the command ended without a change, or in the middle of it. */
  error?: string;
}

export interface NodeResult {
  node: string;
  /** `namespace/name/key`, or `local`. */
  from: string;
  to: string;
  /** As `relet get` has it, or `unknown`. */
  state: string;
  reason: Reason;
  message?: string;
  /** Actions left to do on the host: drain, state-file, reboot. */
  owed?: string[];
  /** With a dry run: what --accept must name. */
  needs?: string[];
}

export type Reason =
  | 'Active'
  | 'OnTrial'
  | 'Assigned'
  | 'AlreadyAssigned'
  | 'DryRun'
  | 'Rejected'
  | 'RolledBack'
  | 'CannotFollow'
  | 'Held'
  | 'ChangedMeanwhile'
  | 'NodeDeleted'
  | 'TimedOut'
  | 'Interrupted'
  | 'NotFollowed'
  | 'AssignmentUnknown'
  | 'NotChanged';

export interface Ended {
  verb: string;
  changes: readonly NodeChange[];
  outcomes: ReadonlyMap<string, Outcome>;
  /** Nodes that had it already. */
  unchanged?: readonly ConfiguredNode[];
  dryRun: boolean;
  error?: string | undefined;
}

export function changeResult({ verb, changes, outcomes, unchanged = [], dryRun, error }: Ended): ChangeResult {
  const already = unchanged.map((node): NodeResult => {
    const source = formatRef(refOf(node.configSource), 'short');
    return { node: node.name, from: source, to: source, state: configState(node), reason: 'AlreadyAssigned' };
  });
  const changed = changes.map(({ node, to, owed, detach, needs = [] }): NodeResult => {
    const outcome = outcomes.get(node.name) ?? { kind: dryRun && error === undefined ? 'dry run' : 'not changed' };
    const place = {
      node: node.name,
      from: formatRef(refOf(node.configSource), 'short'),
      to: formatRef(refOf(to), 'short'),
    };
    const left = owed && isLeft(owed) && isDone(outcome) ? { owed: owed.needs } : {};
    const asked = outcome.kind === 'dry run' && needs.length > 0 ? { needs } : {};
    const local = detach ? 'detached' : to === undefined ? 'local' : undefined;
    return { ...place, state: stateAfter(outcome, node, local), ...reasonOf(outcome), ...left, ...asked };
  });
  const nodes = [...already, ...changed].sort((a, b) => byNaturalOrder(a.node, b.node));
  return {
    apiVersion: 'cli.relet.dev/v1',
    kind: 'ChangeResult',
    verb,
    dryRun,
    nodes,
    ...(error !== undefined && { error }),
  };
}

export function resultText(result: ChangeResult, format: ResultFormat): string {
  if (format === 'json') return JSON.stringify(result, null, 2);
  const done: Reason[] = ['Active', 'OnTrial', 'Assigned', 'AlreadyAssigned', 'DryRun'];
  return result.nodes
    .filter(({ reason }) => done.includes(reason))
    .map(({ node }) => `node/${node}`)
    .join('\n');
}

const isDone = ({ kind }: AnyOutcome): boolean => kind === 'active' || kind === 'assigned';

type AnyOutcome = Outcome | { kind: 'dry run' | 'not changed' };

function stateAfter(outcome: AnyOutcome, node: ConfiguredNode, local: 'local' | 'detached' | undefined): string {
  switch (outcome.kind) {
    case 'active':
      return local ?? (outcome.trialPassed ? 'active' : 'trial');
    case 'rejected':
    case 'rolled back':
    case 'unknown':
      return outcome.kind;
    case 'dry run':
    case 'not changed':
      return configState(node);
    default:
      return 'waiting';
  }
}

function reasonOf(outcome: AnyOutcome): Pick<NodeResult, 'reason' | 'message'> {
  if (outcome.kind === 'active') return { reason: outcome.trialPassed ? 'Active' : 'OnTrial' };
  const reason = reasons[outcome.kind];
  if (!('error' in outcome)) return { reason };
  return { reason, message: outcome.cause === undefined ? outcome.error : `${outcome.error}: ${outcome.cause}` };
}

const reasons: Record<Exclude<AnyOutcome['kind'], 'active'>, Reason> = {
  assigned: 'Assigned',
  rejected: 'Rejected',
  'rolled back': 'RolledBack',
  'cannot follow': 'CannotFollow',
  held: 'Held',
  changed: 'ChangedMeanwhile',
  gone: 'NodeDeleted',
  'timed out': 'TimedOut',
  interrupted: 'Interrupted',
  'not followed': 'NotFollowed',
  unknown: 'AssignmentUnknown',
  'dry run': 'DryRun',
  'not changed': 'NotChanged',
};
