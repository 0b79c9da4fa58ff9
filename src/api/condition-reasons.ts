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
    message: 'The kubelet cannot start with the assigned config until a state file is removed.',
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
    message: 'The installed kubelet interprets some fields of this config differently than the previous one.',
  },
  none: {
    reason: 'NoUpgradeRisk',
    message: 'The installed kubelet interprets the config of this node as the running one does.',
  },
} as const satisfies Record<string, ConditionReason>;

/** These three appear on a host with a trust file. TrustFileUsable is True, or False; the cause follows. */
export const trustReasons = {
  read: {
    reason: 'TrustFileRead',
    message: 'The host starts only configs that the signers in its trust file have signed.',
  },
  unusable: {
    reason: 'TrustFileUnusable',
    message: 'The trust file of the host cannot be used: the node runs what it has and accepts no other config.',
  },
} as const satisfies Record<string, ConditionReason>;

/** SignatureExpired is True, or False. The time follows. */
export const expiryReasons = {
  expired: {
    reason: 'StatementExpired',
    message:
      'The signed statement of the active config has expired. The node runs on with it; a node that joins would reject it.',
  },
  none: { reason: 'NotExpired', message: 'The signed statement of the active config has not expired.' },
} as const satisfies Record<string, ConditionReason>;

/** UnsignedAccepted is True, or False. Its end, the person and why follow. */
export const unsignedReasons = {
  accepted: {
    reason: 'AskedForOnHost',
    message: 'A person on the host lets configs pass without a signature for a while.',
  },
  none: {
    reason: 'SignaturesRequired',
    message: 'The host accepts no config without the signatures that its trust file requires.',
  },
} as const satisfies Record<string, ConditionReason>;

/** BootRisk is True, or False. It appears when the last known good config crashes at a boot. The time and the cause follow. */
export const bootReasons = {
  crashed: {
    reason: 'CrashedAtBoot',
    message: 'The last known good config crashed at a boot, and has not survived one since.',
  },
  none: { reason: 'NoBootRisk', message: 'The config of the node has survived a boot since it crashed at one.' },
} as const satisfies Record<string, ConditionReason>;

/** UnitOK is True, or False, where the kubelet stays in its own systemd unit. What was seen follows the sentence. */
export const unitReasons = {
  none: { reason: 'UnitAsExpected', message: 'The unit of the kubelet is as relet left it.' },
  DropInRemoved: {
    reason: 'DropInRemoved',
    message: 'A drop-in of relet was removed from the unit of the kubelet and is not written again.',
  },
  BaseCommandChanged: {
    reason: 'BaseCommandChanged',
    message: 'The command of the unit changed, and the next start of the kubelet is a trial of it.',
  },
  StaleMerge: {
    reason: 'StaleMerge',
    message: 'The local config or the kubelet changed since the overlay was merged.',
  },
  UnitMasked: { reason: 'UnitMasked', message: 'The unit of the kubelet is masked.' },
  UnitStopped: { reason: 'UnitStopped', message: 'The unit of the kubelet is stopped, and relet does not start it.' },
  CommandOverridden: {
    reason: 'CommandOverridden',
    message: 'Another drop-in of the unit overrides the command that relet set.',
  },
  NextStartNotKept: {
    reason: 'NextStartNotKept',
    message: 'The config that runs is not saved for the next boot of the host.',
  },
  RollbackPending: {
    reason: 'RollbackPending',
    message: 'A config failed, and the rollback to another one is not complete yet.',
  },
  LimitsLeft: {
    reason: 'LimitsLeft',
    message: 'A config that was rolled back has left limits on cgroups of the host, which a reboot removes.',
  },
  NoAgent: {
    reason: 'NoAgent',
    message: 'The host ended the trial because no agent was running, and the config is tried again.',
  },
  FellBackToLocal: {
    reason: 'FellBackToLocal',
    message: 'The host returned to the local config because the last known good config kept crashing.',
  },
} as const satisfies Record<string, ConditionReason>;

/** A change seen on the host that the agent did not make. */
export type NoticeReason = Exclude<keyof typeof unitReasons, 'none'>;

/** OnTrial is True, or False. */
export const trialReasons = {
  running: {
    reason: 'TrialRunning',
    message: 'The node returns to its last known good config if the kubelet does not stay healthy.',
  },
  none: { reason: 'NoTrial', message: 'No config is on trial.' },
} as const satisfies Record<string, ConditionReason>;

/** AgentMissing is True, or False. */
export const agentReasons = {
  noAgent: { reason: 'NoAgent', message: 'No agent of relet has reported from the node.' },
  silent: {
    reason: 'Silent',
    message: 'The agent has not renewed its lease; its last report may be out of date.',
  },
  present: { reason: 'AgentReports', message: 'The agent reports.' },
} as const satisfies Record<string, ConditionReason>;

/** Reasons of a complete NodeConfigSet: Ready is True, Reconciling and Stalled are False. */
export const setReadyReasons = {
  complete: {
    reason: 'RolloutComplete',
    message: 'All nodes of the set that can be updated run the config of the spec and have passed its trial.',
  },
  noNodes: { reason: 'NoNodesSelected', message: 'No node matches the selector.' },
} as const satisfies Record<string, ConditionReason>;

/** Reasons of a NodeConfigSet at work: Reconciling is True, Ready and Stalled are False. The message names the nodes it waits for. */
export const setProgressReasons = {
  rolling: { reason: 'RollingOut', message: 'The config of the spec is being rolled out.' },
  nothing: {
    reason: 'NoNodeToChange',
    message: 'No selected node can be changed for now; the rollout starts when one can.',
  },
  budget: {
    reason: 'BudgetSpent',
    message: 'No further node is changed until a node that counts against a budget is available again.',
  },
  draining: {
    reason: 'Draining',
    message: 'Nodes are drained before they are assigned the config.',
  },
  soaking: { reason: 'Soaking', message: 'The next wave starts when the soak time of this one is over.' },
  analyzing: {
    reason: 'Analyzing',
    message: 'The nodes of this wave are compared with nodes that do not have the change.',
  },
  approval: { reason: 'AwaitingApproval', message: 'The next wave starts when this one is approved.' },
  window: { reason: 'WindowClosed', message: 'Nodes are changed only in the windows of the strategy.' },
  paused: { reason: 'Paused', message: 'The spec has paused the rollout.' },
  rollingBack: {
    reason: 'RollingBack',
    message: 'Nodes with the rejected revision return to their previous config.',
  },
  deleting: { reason: 'Deleting', message: 'The set is being deleted and releases its nodes.' },
} as const satisfies Record<string, ConditionReason>;

/** Reasons of a NodeConfigSet that needs a person: Stalled is True, Ready and Reconciling are False. The details follow. */
export const setStalledReasons = {
  halted: {
    reason: 'Halted',
    message: 'More nodes have failed than the strategy allows, and no further node is changed.',
  },
  worse: {
    reason: 'WorseThanControls',
    message: 'Nodes with the change do worse than nodes without it, and no further node is changed.',
  },
  rolledBack: {
    reason: 'RolledBack',
    message: 'The revision failed and was rolled back; it is not rolled out again until the config changes.',
  },
  aborted: { reason: 'Aborted', message: 'The revision was aborted; nodes keep their present config.' },
  undone: { reason: 'Undone', message: 'The revision was undone, and its nodes returned to their previous config.' },
  expired: {
    reason: 'Expired',
    message: 'The time limit of the revision has passed, and its nodes returned to their previous config.',
  },
  impact: {
    reason: 'ImpactNotAccepted',
    message: 'The config changes fields that need more than the spec accepts.',
  },
  undrainable: {
    reason: 'Undrainable',
    message: 'Nodes that must be drained before the change cannot be drained, and the strategy halts in that case.',
  },
  mayNotDrain: {
    reason: 'DrainNotAllowed',
    message: 'The change needs a drain, and the controller does not have the role for it.',
  },
  invalidConfig: { reason: 'InvalidConfig', message: 'The config in the spec cannot be used by the nodes.' },
  noConfigMap: {
    reason: 'ConfigMapUnusable',
    message: 'The ConfigMap in the spec does not exist, lacks the label or the key, or is not in an allowed namespace.',
  },
  fieldPolicy: { reason: 'FieldPolicy', message: 'A field policy does not allow the config.' },
  invalidSpec: { reason: 'InvalidSpec', message: 'The spec has a value that cannot be used.' },
} as const satisfies Record<string, ConditionReason>;

/** More conditions of a NodeConfigSet; each is there only where it applies. */
export const setNoteReasons = {
  excluded: {
    reason: 'NodesExcluded',
    message: 'Some selected nodes are not changed for now and will be updated later.',
  },
  selfLabelled: {
    reason: 'NodeMaySetLabel',
    message: 'The selector uses a label that a kubelet may set on its own Node, so a node can choose its config.',
  },
} as const satisfies Record<string, ConditionReason>;

/** Why a selected node is not changed, as in `status.excluded` of a NodeConfigSet. */
export const exclusionReasons = {
  notReady: { reason: 'NotReady', message: 'The node was not Ready before it was assigned the config.' },
  held: { reason: 'Held', message: 'The node is held, on its host or by the annotation relet.dev/hold.' },
  claimed: { reason: 'Claimed', message: 'Another system is performing maintenance on the node.' },
  undrainable: { reason: 'Undrainable', message: 'The node must be drained before the change and cannot be drained.' },
  noAgent: agentReasons.noAgent,
  silent: agentReasons.silent,
  unusable: {
    reason: 'ReportUnusable',
    message: 'The node reports a local config that is too large or nested too deep to be used.',
  },
  invalid: { reason: 'InvalidHere', message: 'The kubelet of the node would not start with the config of the set.' },
  policy: { reason: 'FieldPolicyHere', message: 'A field policy does not allow the config of the set on this node.' },
  impact: { reason: 'ImpactHere', message: 'The change needs more on this node than the spec accepts.' },
  otherSet: { reason: 'OtherSet', message: 'The node belongs to another set.' },
  byHand: {
    reason: 'AssignedByHand',
    message: 'The config of the node was assigned by hand; relet rollout adopt gives it to the set.',
  },
  repointed: {
    reason: 'TakenFromSet',
    message: 'Another config was assigned to the node after that of the set; relet release gives it back.',
  },
} as const satisfies Record<string, ConditionReason>;

/** Why a node has failed, as in `status.failedSamples` of a NodeConfigSet, where its own error has no reason. */
export const failureReasons = {
  rejected: { reason: 'Rejected', message: 'The node rejected the config.' },
  rolledBack: { reason: 'RolledBackByNode', message: 'The node rolled the config back.' },
  podsRejected: {
    reason: 'PodsRejected',
    message: 'The kubelet rejected pods that ran on the node before it was restarted with the config.',
  },
  silent: {
    reason: 'DeadlineExceeded',
    message: 'The node did not report the end of its trial before the progress deadline.',
  },
} as const satisfies Record<string, ConditionReason>;

/** Why a node of a cohort is not compared, as in `status.analyses` of a NodeConfigSet; beside the reasons of an exclusion. */
export const leftOutReasons = {
  gone: { reason: 'NoLongerSelected', message: 'The node left the set while it was observed.' },
  failed: { reason: 'CanaryFailed', message: 'The config was not active on the node to the end.' },
  changed: { reason: 'ControlChanged', message: 'The node got the change while it was observed as a control.' },
  drained: { reason: 'Drained', message: 'The node was drained or cordoned, so its workloads are others than before.' },
  booted: { reason: 'Booted', message: 'The host was booted while it was observed.' },
  noHistory: { reason: 'NoHistory', message: 'The agent does not have half of the values of a window.' },
  noAnswer: { reason: 'NoAnswer', message: 'The agent did not answer in time.' },
} as const satisfies Record<string, ConditionReason>;
