/** Prepares a rollout plan for the page: nodes that change in the same way are one group. Pure. */
import { type ImpactSentence, impactSentence } from '../../../config/impact-sentence.js';
import type { PlannedFieldChange, RolloutPlanNode } from '../../wire.js';

export interface ChangeGroup {
  names: string[];
  /** Undefined if what the nodes run is not known; a note has the reason. */
  difference: { impact: ImpactSentence; changes: PlannedFieldChange[] } | undefined;
  notes: string[];
}

/** The largest first. */
export function changeGroups(nodes: readonly RolloutPlanNode[]): ChangeGroup[] {
  const groups = new Map<string, ChangeGroup>();
  for (const { node, impact, pods, changes, warnings = [], notes = [] } of nodes) {
    const difference = impact === undefined ? undefined : { impact: impactSentence({ needs: impact, pods }), changes };
    const rest = { difference, notes: [...warnings, ...notes] };
    const key = JSON.stringify(rest);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { ...rest, names: [node] });
    else group.names.push(node);
  }
  return [...groups.values()].sort((a, b) => b.names.length - a.names.length);
}
