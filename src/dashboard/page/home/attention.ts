/**
 * Selects what needs a person, most urgent first: rollouts that have stopped, that wait for a person, that are in progress; then nodes
 * in trouble, and nodes in an unknown state. Pure, and bounded: a few rollouts of each kind, a few reasons and names, for any size of
 * fleet.
 */
import { byName } from '../../../natural-order.js';
import type { Row, SetSummary } from '../../wire.js';
import { type OverallState, overallStateOf } from '../fleet/fleet-view.js';
import { type Urgency, urgencyOf } from '../sets/set-view.js';

export interface Rollouts {
  urgency: Urgency;
  shown: SetSummary[];
  /** Beside those that are shown. */
  more: number;
}

export interface NodeGroup {
  kind: Extract<OverallState, 'in trouble' | 'silent' | 'no agent' | 'not ready'>;
  /** The error that these nodes share; empty for the other kinds. */
  reason: string;
  count: number;
  /** In natural order; `count` has all of them. */
  names: string[];
}

export interface Attention {
  rollouts: Rollouts[];
  nodes: NodeGroup[];
  /** Reasons of nodes in trouble beyond those in `nodes`. */
  moreReasons: number;
  /** Nodes that need no attention now and are not on target either. */
  others: { state: OverallState; count: number }[];
  /** The rollout that ended last; undefined: none is known. */
  lastEnd: { set: string; at: number } | undefined;
}

export const mostRollouts = 4;
export const mostReasons = 4;
export const mostNames = 5;

/** `rows` in the order of their names. */
export function attentionOf(sets: readonly SetSummary[], rows: readonly Row[]): Attention {
  const byUrgency: Record<Urgency, SetSummary[]> = { halted: [], waiting: [], running: [] };
  let lastEnd: Attention['lastEnd'];
  for (const set of [...sets].sort(byName)) {
    const urgency = urgencyOf(set);
    if (urgency !== undefined) byUrgency[urgency].push(set);
    if (set.endedAt > (lastEnd?.at ?? 0)) lastEnd = { set: set.name, at: set.endedAt };
  }
  // The rollout that stopped names the nodes on which it failed.
  const named = new Set(byUrgency.halted.flatMap(({ failures }) => failures.map(({ node }) => node)));
  const groups = nodeGroups(rows.filter(({ name }) => !named.has(name)));
  return {
    rollouts: Object.entries(byUrgency).flatMap(([urgency, found]) =>
      found.length === 0
        ? []
        : [
            {
              urgency: urgency as Urgency,
              shown: found.slice(0, mostRollouts),
              more: Math.max(0, found.length - mostRollouts),
            },
          ],
    ),
    ...groups,
    lastEnd,
  };
}

const kinds: readonly string[] = ['in trouble', 'silent', 'no agent', 'not ready'] satisfies NodeGroup['kind'][];

function nodeGroups(rows: readonly Row[]): Pick<Attention, 'nodes' | 'moreReasons' | 'others'> {
  const groups = new Map<string, NodeGroup>();
  const others = new Map<OverallState, number>();
  for (const row of rows) {
    const kind = overallStateOf(row);
    if (!kinds.includes(kind)) {
      if (kind !== 'on target') others.set(kind, (others.get(kind) ?? 0) + 1);
      continue;
    }
    const reason = kind === 'in trouble' ? row.error || row.state : '';
    const key = `${kind} ${reason}`;
    const group = groups.get(key) ?? { kind: kind as NodeGroup['kind'], reason, count: 0, names: [] };
    group.count++;
    if (group.names.length < mostNames) group.names.push(row.name);
    groups.set(key, group);
  }
  const sorted = [...groups.values()].sort(
    (a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || b.count - a.count,
  );
  const troubles = sorted.filter(({ kind }) => kind === 'in trouble');
  const unknown = sorted.filter(({ kind }) => kind !== 'in trouble');
  return {
    nodes: [...troubles.slice(0, mostReasons), ...unknown],
    others: [...others].map(([state, count]) => ({ state, count })),
    moreReasons: Math.max(0, troubles.length - mostReasons),
  };
}

export const isCalm = ({ rollouts, nodes }: Attention): boolean => rollouts.length === 0 && nodes.length === 0;
