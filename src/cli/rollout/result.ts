/** What verbs that change a rollout print for programs, with `-o json`; docs/cli.md describes it. */
import type { Terminal } from '../terminal/terminal.js';

export interface RolloutResult {
  set: string;
  verb: string;
  revision?: string;
  wave?: number;
  nodes?: string[];
  /** What a person should know. */
  warnings?: string[];
}

/** Nothing without -o json. */
export function printResult({ printDocument }: Terminal, { output }: { output?: string }, result: RolloutResult): void {
  if (output !== 'json') return;
  printDocument(JSON.stringify({ apiVersion: 'cli.relet.dev/v1', kind: 'RolloutResult', ...result }, null, 2));
}
