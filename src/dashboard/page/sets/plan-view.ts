/** A plan of a rollout, read for the page: nodes that change in the same way are one group. Pure. */
import type { Needs, PlannedFieldChange, RolloutPlanNode } from '../../wire.js';

export interface ChangeGroup {
  names: string[];
  /** Undefined where what the nodes run is not known; a note has the reason. */
  difference: { impact: Needs; pods: string; changes: PlannedFieldChange[] } | undefined;
  notes: string[];
}

/** The largest first. */
export function changeGroups(nodes: readonly RolloutPlanNode[]): ChangeGroup[] {
  const groups = new Map<string, ChangeGroup>();
  for (const { node, impact, pods, changes, warnings = [], notes = [] } of nodes) {
    const difference = impact === undefined ? undefined : { impact, pods: podsText(pods), changes };
    const rest = { difference, notes: [...warnings, ...notes] };
    const key = JSON.stringify(rest);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { ...rest, names: [node] });
    else group.names.push(node);
  }
  return [...groups.values()].sort((a, b) => b.names.length - a.names.length);
}

/** Effect on running pods, in a sentence. */
export function podsText(pods: NonNullable<RolloutPlanNode['pods']>): string {
  switch (pods.kind) {
    case 'unaffected':
      return 'Running pods are not affected.';
    case 'fail admission':
      return `${pods.pods.length} running pods will fail admission when the kubelet restarts.`;
    case 'new containers only':
      return 'Running pods keep the old value until they are created again.';
    case 'may be evicted':
      return 'Running pods may be evicted.';
    case 'unknown':
      return 'The effect on running pods is not known.';
  }
}
