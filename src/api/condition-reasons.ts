/**
 * The reasons of conditions that report no error: one word for machines, one sentence for people. Errors have those of
 * config-error.ts. docs/errors.md lists all of them; a test keeps the two equal.
 */

export interface ConditionReason {
  reason: string;
  message: string;
}

/** ConfigOK is True. */
export const okReasons = {
  active: { reason: 'ConfigActive', message: 'The kubelet runs with the assigned config.' },
  local: {
    reason: 'LocalConfigActive',
    message: 'The kubelet runs with its local config, and nothing else is assigned.',
  },
  pending: { reason: 'ConfigPending', message: 'The kubelet does not run with the assigned config yet.' },
} as const satisfies Record<string, ConditionReason>;

/** OnTrial is True, or False. */
export const trialReasons = {
  running: {
    reason: 'TrialRunning',
    message: 'The node returns to its last known good config if the kubelet does not stay healthy.',
  },
  none: { reason: 'NoTrial', message: 'No config is on trial.' },
} as const satisfies Record<string, ConditionReason>;
