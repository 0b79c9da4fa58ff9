/** JSON output of `relet rollout plan` and `relet rollout approve --dry-run`, which the dashboard reads too. docs/cli.md describes it. */
import type { NamedNode } from '../api/node-config-set.js';
import type { FieldChange, Preview } from '../fleet/preview.js';

export interface RolloutPlan {
  apiVersion: 'cli.relet.dev/v1';
  kind: 'RolloutPlan';
  set: string;
  revision: string;
  /** Summary of the fields that it sets, in a sentence. */
  summary: string;
  /** Nodes that the selector selects. */
  selected: number;
  excluded: NamedNode[];
  /** Present for a signed config. */
  signed?: PlannedSignatures;
  /** Why it would be stalled. */
  stalled?: { reason: string; message: string };
  /** Nodes that would reject the config; equal ones are one entry. Without nodes: a kubelet of that version would. */
  rejections?: { nodes: string[]; kubeletVersion: string; reason: string; message: string }[];
  waves: RolloutPlanWave[];
  /** Absent where a budget of 0 lets nothing happen. */
  expectedSeconds?: number;
  /** How long a trial takes, for `expectedSeconds`. */
  trialSeconds: number;
  drains: { node: string; pods?: string[]; undrainable?: string }[];
  nodes: RolloutPlanNode[];
  warnings?: string[];
}

export interface PlannedSignatures {
  /** Fingerprints of the keys that signed it. */
  keys: string[];
  /** The persons, as the hosts that run it already know them. */
  signers?: string[];
  /** Pools, serial, floor and times, for a person. */
  statement?: string;
}

export interface RolloutPlanWave {
  wave: number;
  nodes: string[];
  soakSeconds: number;
  approve: boolean;
  /** The wave has no nodes. */
  skipped?: true;
}

/** Planned change of one node. */
export type RolloutPlanNode = {
  node: string;
  /** Impacts that --accept, or spec.accept, must name. */
  needs: string[];
  notes?: string[];
  warnings?: string[];
} & (PlannedDifference | { [Key in keyof PlannedDifference]?: never });

/** Absent as a whole where what runs is not known; a note of the node has the reason. */
export interface PlannedDifference {
  /** The most demanding class of its changes. */
  impact: Preview['needs'];
  pods: Preview['pods'];
  changes: PlannedFieldChange[];
}

/** `from` or `to` is absent where a map has no such key. */
export type PlannedFieldChange = Omit<FieldChange, 'before' | 'after'> & { from?: unknown; to?: unknown };

/** Consequences of an approval until the rollout stops again. `rejections` are of the whole set, `drains` of the nodes that follow. */
export interface ApprovalPreview extends Pick<RolloutPlan, 'stalled' | 'rejections' | 'drains'> {
  /** In a sentence or two. */
  text: string;
  /** `nodes`: by name; absent where they may not be listed. */
  waves: { wave: number; count: number; nodes?: string[] }[];
  /** Waves without nodes, which are passed. */
  skipped: number[];
  /** Present for a signed config. */
  signed?: PlannedSignatures;
  /** The next wave that waits for approval; absent if the rollout runs to its end. */
  waitsAfter?: number;
  nodes: RolloutPlanNode[];
}
