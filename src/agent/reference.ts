/**
 * Where a node's config is referred to and reported: one interface, so that the flow does not know which object it is.
 * Here the Node itself; NodeConfig stands beside it.
 */

import type { NodeConfigSource } from '../api/node-config-source.js';
import type { Report } from './report.js';

/** What the object says now. Only an existing object without a configSource means local. */
export type Instruction =
  | { kind: 'none'; why: string }
  | { kind: 'local' }
  | { kind: 'source'; configSource: NodeConfigSource };

export interface ReferenceListener {
  /** The instruction may have changed, or was seen for the first time. */
  onInstruction(): void;
  /** The object's status may no longer say what was written. */
  onStatus(): void;
}

export interface Reference {
  /** Follows the object by name until the signal fires. */
  follow(listener: ReferenceListener, signal: AbortSignal): Promise<void>;
  /** Asks the API now. Throws a Fault when it answers and refuses, another error when it does not answer. */
  read(signal: AbortSignal): Promise<Instruction>;
  /** Makes the object's status say this; does nothing when it does already. Throws when the API did not take it. */
  write(report: Report, signal: AbortSignal): Promise<void>;
}
