/**
 * Where a node's config is referred to and reported: one interface, so that the flow does not know which object it is.
 * node-reference.ts is the Node itself, node-config-reference.ts a NodeConfig, chosen-reference.ts picks.
 */
import type { Report } from '../report/report.js';
import type { Target } from './resolve.js';

/** What the object says now. Only an existing object without a configSource means local. */
export type Instruction = ({ kind: 'none'; why: string } | { kind: 'local' } | { kind: 'source'; target: Target }) & {
  /** Of the object it was read from, where that has one: a Node has none. */
  generation?: number;
};

export interface ReferenceListener {
  /** The instruction may have changed, or was seen for the first time. */
  onInstruction(): void;
  /** The object's status may no longer say what was written. */
  onStatus(): void;
  /** The watch was interrupted, or is open again: which object to follow may be asked again. */
  onWatchInterrupted?(): void;
}

export interface Reference {
  /** Follows the object by name until the signal fires. */
  follow(listener: ReferenceListener, signal: AbortSignal): Promise<void>;
  /** Asks the API now. Throws a ConfigError when it answers and refuses, another error when it does not answer. */
  read(signal: AbortSignal): Promise<Instruction>;
  /** Makes the object's status say this; does nothing when it does already. Throws when the API did not take it, and is false when there is no such object yet. */
  write(report: Report, signal: AbortSignal): Promise<boolean>;
}
