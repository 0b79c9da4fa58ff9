/** Output of the verbs that change a rollout for programs, with `-o`; docs/cli.md describes it. */
import type { ApprovalPreview } from '../../rollout/plan-output.js';
import { writeResult } from '../terminal/output.js';
import type { Terminal } from '../terminal/terminal.js';

export interface RolloutResult {
  set: string;
  verb: string;
  revision?: string;
  wave?: number;
  nodes?: string[];
  /** Keys whose signatures it has. */
  signed?: string[];
  dryRun?: true;
  /** Consequences of an approval; only in a dry run. */
  approval?: ApprovalPreview;
  /** Warnings for a person. */
  warnings?: string[];
}

export type ResultOutput = 'json' | 'yaml' | 'name';
export type ShownOutput = ResultOutput | 'wide';

/** As `kubectl -o name` names it. */
export const resourceName = (set: string): string => `nodeconfigset.relet.dev/${set}`;

/** Prints nothing without -o. */
export function printResult(
  { printDocument }: Terminal,
  { output }: { output?: ResultOutput },
  result: RolloutResult,
): void {
  if (output === undefined) return;
  const whole = { apiVersion: 'cli.relet.dev/v1', kind: 'RolloutResult', ...result };
  printDocument(writeResult(output, whole, [resourceName(result.set)]));
}
