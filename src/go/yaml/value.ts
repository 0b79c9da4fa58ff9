/** A parsed document, from YAML or JSON: JSON's kinds of values, each with its position in the text. */

export interface Position {
  /** From 1. */
  line: number;
  /** From 1. */
  column: number;
}

export interface Entry {
  key: string;
  keyAt: Position;
  value: Value;
}

export type Value =
  | { kind: 'null'; at: Position }
  | { kind: 'bool'; value: boolean; at: Position }
  /** As JSON text: the kubelet's messages quote it, and int64 does not fit a double. */
  | { kind: 'number'; text: string; at: Position }
  /** `escaped`: JSON text that held a backslash; quantities are read before it is undone. */
  | { kind: 'string'; value: string; escaped?: boolean; at: Position }
  | { kind: 'array'; items: Value[]; at: Position }
  /** From YAML sorted by key without duplicates, as Go hands it on; from JSON as written. */
  | { kind: 'object'; entries: Entry[]; at: Position };
