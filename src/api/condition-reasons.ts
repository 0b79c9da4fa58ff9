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
  detached: {
    reason: 'Detached',
    message: 'relet has removed its files from the host, and the kubelet runs with its local config.',
  },
  pending: { reason: 'ConfigPending', message: 'The kubelet does not run with the assigned config yet.' },
} as const satisfies Record<string, ConditionReason>;

/** ActionOwed is True, or False. It appears with the first change that owes something. */
export const owedReasons = {
  reboot: {
    reason: 'RebootOwed',
    message: 'A change of the config takes full effect only after a reboot of the host.',
  },
  'state-file': {
    reason: 'StateFileOwed',
    message: 'The kubelet does not start with the assigned config before a state file is removed.',
  },
  drain: {
    reason: 'DrainOwed',
    message: 'Pods that were created before a change of the config are still on the node.',
  },
  none: { reason: 'NothingOwed', message: 'Nothing is left to do on the host for the config.' },
} as const satisfies Record<string, ConditionReason>;

/** UpgradeRisk is True, or False. It appears when the kubelet's binary is replaced by another version. The versions and fields follow. */
export const upgradeReasons = {
  rejected: {
    reason: 'NewKubeletRejectsConfig',
    message: 'The installed kubelet would not start with the config and the flags of this node.',
  },
  changes: {
    reason: 'NewKubeletChangesMeaning',
    message: 'The installed kubelet takes some of the config of this node in another way than the one before it.',
  },
  none: {
    reason: 'NoUpgradeRisk',
    message: 'No other kubelet is installed that would take the config of this node in another way.',
  },
} as const satisfies Record<string, ConditionReason>;

/** OnTrial is True, or False. */
export const trialReasons = {
  running: {
    reason: 'TrialRunning',
    message: 'The node returns to its last known good config if the kubelet does not stay healthy.',
  },
  none: { reason: 'NoTrial', message: 'No config is on trial.' },
} as const satisfies Record<string, ConditionReason>;
