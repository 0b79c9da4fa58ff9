/** The kubelet's validation, by minor: every rule with the kubelet's own message, all errors at once. */
import type { CommandLine, Finding, JudgeContext, KubeletConfig, Minor } from './model.js';

/** Where the kubelet stops. `gates`, `logging` and `validate` are its validation, `flags` and `dependencies` stages around it. */
export type Stage = 'accepted' | 'flags' | 'gates' | 'logging' | 'validate' | 'dependencies' | 'panic';

export interface Validation {
  stage: Stage;
  /** The error text as this minor prints it, whole; '' when accepted. */
  message: string;
  /** One for each error, with its path; check() adds line and column. */
  findings: Finding[];
}

/** Judges the command line alone, before any document is read, as the kubelet does: its feature gates, its node labels. */
export function validateCommandLine(_flags: CommandLine, _context: { minor: Minor }): Validation {
  return { stage: 'accepted', message: '', findings: [] };
}

/** Judges a config after defaults and flags. */
export function validate(_config: KubeletConfig, _context: JudgeContext): Validation {
  return { stage: 'accepted', message: '', findings: [] };
}
