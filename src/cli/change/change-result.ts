/** How a change ended, for programs: `-o json` and `-o name`. Pure. docs/cli.md describes it. */

import { formatRef, refOf } from '../../api/config-ref.js';
import { configState } from '../../fleet/config-state.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import type { NodeChange } from './change.js';
import type { Outcome } from './change-words.js';

export type ResultFormat = 'json' | 'name';

export interface ChangeResult {
  apiVersion: 'cli.relet.dev/v1';
  kind: 'ChangeResult';
  verb: string;
  dryRun: boolean;
  nodes: NodeResult[];
}

export interface NodeResult {
  node: string;
  /** `namespace/name/key`, or `local`. */
  from: string;
  to: string;
  /** As `relet get` has it. */
  state: string;
  reason: Reason;
  message?: string;
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
  | 'NotChanged';

export interface Ended {
  verb: string;
  changes: readonly NodeChange[];
  outcomes: ReadonlyMap<string, Outcome>;
  /** Nodes that had it already. */
  unchanged?: readonly ConfiguredNode[];
  dryRun: boolean;
}

export function changeResult({ verb, changes, outcomes, unchanged = [], dryRun }: Ended): ChangeResult {
  const already = unchanged.map((node): NodeResult => {
    const source = formatRef(refOf(node.configSource), 'short');
    return { node: node.name, from: source, to: source, state: configState(node), reason: 'AlreadyAssigned' };
  });
  const changed = changes.map(({ node, to }): NodeResult => {
    const outcome = outcomes.get(node.name) ?? { kind: dryRun ? 'dry run' : 'not changed' };
    const place = {
      node: node.name,
      from: formatRef(refOf(node.configSource), 'short'),
      to: formatRef(refOf(to), 'short'),
    };
    return { ...place, state: stateAfter(outcome, node, to === undefined), ...reasonOf(outcome) };
  });
  const nodes = [...already, ...changed].sort((a, b) => a.node.localeCompare(b.node));
  return { apiVersion: 'cli.relet.dev/v1', kind: 'ChangeResult', verb, dryRun, nodes };
}

export function resultText(result: ChangeResult, format: ResultFormat): string {
  if (format === 'json') return JSON.stringify(result, null, 2);
  const done: Reason[] = ['Active', 'OnTrial', 'Assigned', 'AlreadyAssigned', 'DryRun'];
  return result.nodes
    .filter(({ reason }) => done.includes(reason))
    .map(({ node }) => `node/${node}`)
    .join('\n');
}

type AnyOutcome = Outcome | { kind: 'dry run' | 'not changed' };

function stateAfter(outcome: AnyOutcome, node: ConfiguredNode, isLocal: boolean): string {
  switch (outcome.kind) {
    case 'active':
      return isLocal ? 'local' : outcome.proven ? 'active' : 'trial';
    case 'rejected':
    case 'rolled back':
      return outcome.kind;
    case 'dry run':
    case 'not changed':
      return configState(node);
    default:
      return 'waiting';
  }
}

function reasonOf(outcome: AnyOutcome): Pick<NodeResult, 'reason' | 'message'> {
  if (outcome.kind === 'active') return { reason: outcome.proven ? 'Active' : 'OnTrial' };
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
  'dry run': 'DryRun',
  'not changed': 'NotChanged',
};
