/** The answer of `relet rollout plan -o json`, read for the page: nodes that change in the same way are one group. Pure. */
import type { FieldDiff } from '../../wire.js';

export interface PlanWave {
  wave: number;
  nodes: string[];
  soakSeconds: number;
  approve: boolean;
}

interface PlanNode {
  node: string;
  needs: string;
  pods?: { kind: string; pods?: unknown[] };
  changes?: FieldDiff[];
  notes?: string[];
  warnings?: string[];
}

/** Of docs/cli.md, what the page shows. */
export interface RolloutPlan {
  revision: string;
  summary: string;
  selected: number;
  excluded: { name: string; reason: string; message?: string }[];
  stalled?: { reason: string; message: string };
  waves: PlanWave[];
  expectedSeconds?: number;
  nodes: PlanNode[];
}

export interface ChangeGroup extends Pick<PlanNode, 'needs' | 'pods' | 'notes' | 'warnings'> {
  names: string[];
  changes: FieldDiff[];
}

/** The largest first. */
export function changeGroups({ nodes }: RolloutPlan): ChangeGroup[] {
  const groups = new Map<string, ChangeGroup>();
  for (const { node, changes = [], ...rest } of nodes) {
    const key = JSON.stringify([changes, rest]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { ...rest, names: [node], changes });
    else group.names.push(node);
  }
  return [...groups.values()].sort((a, b) => b.names.length - a.names.length);
}

/** What happens to running pods, in a sentence. */
export function podsText(pods: PlanNode['pods']): string {
  if (pods === undefined) return '';
  switch (pods.kind) {
    case 'unaffected':
      return 'Running pods are not affected.';
    case 'fail admission':
      return `${pods.pods?.length ?? 0} running pods will fail admission when the kubelet restarts.`;
    default:
      return `Running pods: ${pods.kind}.`;
  }
}
