/**
 * The reasons of conditions that report no error: one word for machines, one sentence for people. Errors have those of
 * config-error.ts. docs/errors.md lists all of them; a test keeps the two equal.
 */

export interface ConditionReason {
  reason: string;
  message: string;
}

/** Without side effects, so that a bundle has only those that it uses. */
/* @__NO_SIDE_EFFECTS__ */
const reasons = <Key extends string>(rows: Record<Key, readonly [reason: string, message: string]>) =>
  Object.fromEntries(
    Object.entries<readonly [string, string]>(rows).map(([key, [reason, message]]) => [key, { reason, message }]),
  ) as Record<Key, ConditionReason>;

/** ConfigOK is True. */
export const okReasons = reasons({
  active: ['ConfigActive', 'The kubelet runs with the assigned config.'],
  local: ['LocalConfigActive', 'The kubelet runs with its local config, and nothing else is assigned.'],
  detached: ['Detached', 'relet has removed its files from the host, and the kubelet runs with its local config.'],
  pending: ['ConfigPending', 'The kubelet does not run with the assigned config yet.'],
});

/** ActionOwed is True, or False. It appears with the first change that owes something. */
export const owedReasons = reasons({
  reboot: ['RebootOwed', 'A change of the config takes full effect only after a reboot of the host.'],
  'state-file': ['StateFileOwed', 'The kubelet cannot start with the assigned config until a state file is removed.'],
  drain: ['DrainOwed', 'Pods that were created before a change of the config are still on the node.'],
  none: ['NothingOwed', 'Nothing is left to do on the host for the config.'],
});

/** UpgradeRisk is True, or False. It appears when the kubelet's binary is replaced by another version. The versions and fields follow. */
export const upgradeReasons = reasons({
  rejected: [
    'NewKubeletRejectsConfig',
    'The installed kubelet would not start with the config and the flags of this node.',
  ],
  changes: [
    'NewKubeletChangesMeaning',
    'The installed kubelet interprets some fields of this config differently than the previous one.',
  ],
  none: ['NoUpgradeRisk', 'The installed kubelet interprets the config of this node as the running one does.'],
});

/** These three appear on a host with a trust file. TrustFileUsable is True, or False; the cause follows. */
export const trustReasons = reasons({
  read: ['TrustFileRead', 'The host starts only configs that the signers in its trust file have signed.'],
  unusable: [
    'TrustFileUnusable',
    'The trust file of the host cannot be used: the node runs what it has and accepts no other config.',
  ],
});

/** SignatureExpired is True, or False. The time follows. */
export const expiryReasons = reasons({
  expired: [
    'StatementExpired',
    'The signed statement of the active config has expired. The node runs on with it; a node that joins would reject it.',
  ],
  none: ['NotExpired', 'The signed statement of the active config has not expired.'],
});

/** UnsignedAccepted is True, or False. Its end, the person and why follow. */
export const unsignedReasons = reasons({
  accepted: ['AskedForOnHost', 'A person on the host lets configs pass without a signature for a while.'],
  none: ['SignaturesRequired', 'The host accepts no config without the signatures that its trust file requires.'],
});

/** BootRisk is True, or False. It appears when the last known good config crashes at a boot. The time and the cause follow. */
export const bootReasons = reasons({
  crashed: ['CrashedAtBoot', 'The last known good config crashed at a boot, and has not survived one since.'],
  none: ['NoBootRisk', 'The config of the node has survived a boot since it crashed at one.'],
});

/** UnitOK is True, or False, where the kubelet stays in its own systemd unit. What was seen follows the sentence. */
export const unitReasons = reasons({
  none: ['UnitAsExpected', 'The unit of the kubelet is as relet left it.'],
  DropInRemoved: [
    'DropInRemoved',
    'A drop-in of relet was removed from the unit of the kubelet and is not written again.',
  ],
  BaseCommandChanged: [
    'BaseCommandChanged',
    'The command of the unit changed, and the next start of the kubelet is a trial of it.',
  ],
  StaleMerge: ['StaleMerge', 'The local config or the kubelet changed since the overlay was merged.'],
  UnitMasked: ['UnitMasked', 'The unit of the kubelet is masked.'],
  UnitStopped: ['UnitStopped', 'The unit of the kubelet is stopped, and relet does not start it.'],
  CommandOverridden: ['CommandOverridden', 'Another drop-in of the unit overrides the command that relet set.'],
  NextStartNotKept: ['NextStartNotKept', 'The config that runs is not saved for the next boot of the host.'],
  RollbackPending: ['RollbackPending', 'A config failed, and the rollback to another one is not complete yet.'],
  LimitsLeft: [
    'LimitsLeft',
    'A config that was rolled back has left limits on cgroups of the host, which a reboot removes.',
  ],
  NoAgent: ['NoAgent', 'The host ended the trial because no agent was running, and the config is tried again.'],
  FellBackToLocal: [
    'FellBackToLocal',
    'The host returned to the local config because the last known good config kept crashing.',
  ],
});

/** A change seen on the host that the agent did not make. */
export type NoticeReason = Exclude<keyof typeof unitReasons, 'none'>;

/** OnTrial is True, or False. */
export const trialReasons = reasons({
  running: ['TrialRunning', 'The node returns to its last known good config if the kubelet does not stay healthy.'],
  none: ['NoTrial', 'No config is on trial.'],
});

/** AgentMissing is True, or False. */
export const agentReasons = reasons({
  noAgent: ['NoAgent', 'No agent of relet has reported from the node.'],
  silent: ['Silent', 'The agent has not renewed its lease; its last report may be out of date.'],
  present: ['AgentReports', 'The agent reports.'],
});

/** Reasons of a complete NodeConfigSet: Ready is True, Reconciling and Stalled are False. */
export const setReadyReasons = reasons({
  complete: [
    'RolloutComplete',
    'All nodes of the set that can be updated run the config of the spec and have passed its trial.',
  ],
  noNodes: ['NoNodesSelected', 'No node matches the selector.'],
});

/** Reasons of a NodeConfigSet at work: Reconciling is True, Ready and Stalled are False. The message names the nodes it waits for. */
export const setProgressReasons = reasons({
  rolling: ['RollingOut', 'The config of the spec is being rolled out.'],
  nothing: ['NoNodeToChange', 'No selected node can be changed for now; the rollout starts when one can.'],
  budget: ['BudgetSpent', 'No further node is changed until a node that counts against a budget is available again.'],
  draining: ['Draining', 'Nodes are drained before they are assigned the config.'],
  soaking: ['Soaking', 'The next wave starts when the soak time of this one is over.'],
  analyzing: ['Analyzing', 'The nodes of this wave are compared with nodes that do not have the change.'],
  approval: ['AwaitingApproval', 'The next wave starts when this one is approved.'],
  window: ['WindowClosed', 'Nodes are changed only in the windows of the strategy.'],
  paused: ['Paused', 'The spec has paused the rollout.'],
  rollingBack: ['RollingBack', 'Nodes with the rejected revision return to their previous config.'],
  deleting: ['Deleting', 'The set is being deleted and releases its nodes.'],
});

/** Reasons of a NodeConfigSet that needs a person: Stalled is True, Ready and Reconciling are False. The details follow. */
export const setStalledReasons = reasons({
  halted: ['Halted', 'More nodes have failed than the strategy allows, and no further node is changed.'],
  worse: ['WorseThanControls', 'Nodes with the change do worse than nodes without it, and no further node is changed.'],
  rolledBack: [
    'RolledBack',
    'The revision failed and was rolled back; it is not rolled out again until the config changes.',
  ],
  aborted: ['Aborted', 'The revision was aborted; nodes keep their present config.'],
  undone: ['Undone', 'The revision was undone, and its nodes returned to their previous config.'],
  expired: ['Expired', 'The time limit of the revision has passed, and its nodes returned to their previous config.'],
  impact: ['ImpactNotAccepted', 'The config changes fields that need more than the spec accepts.'],
  undrainable: [
    'Undrainable',
    'Nodes that must be drained before the change cannot be drained, and the strategy halts in that case.',
  ],
  mayNotDrain: ['DrainNotAllowed', 'The change needs a drain, and the controller does not have the role for it.'],
  invalidConfig: ['InvalidConfig', 'The config in the spec cannot be used by the nodes.'],
  noConfigMap: [
    'ConfigMapUnusable',
    'The ConfigMap in the spec does not exist, lacks the label or the key, or is not in an allowed namespace.',
  ],
  fieldPolicy: ['FieldPolicy', 'A field policy does not allow the config.'],
  invalidSpec: ['InvalidSpec', 'The spec has a value that cannot be used.'],
});

/** More conditions of a NodeConfigSet; each is there only where it applies. */
export const setNoteReasons = reasons({
  excluded: ['NodesExcluded', 'Some selected nodes are not changed for now and will be updated later.'],
  selfLabelled: [
    'NodeMaySetLabel',
    'The selector uses a label that a kubelet may set on its own Node, so a node can choose its config.',
  ],
});

/** Why a selected node is not changed, as in `status.excluded` of a NodeConfigSet. */
export const exclusionReasons = {
  noAgent: agentReasons.noAgent,
  silent: agentReasons.silent,
  ...reasons({
    notReady: ['NotReady', 'The node was not Ready before it was assigned the config.'],
    held: ['Held', 'The node is held, on its host or by the annotation relet.dev/hold.'],
    claimed: ['Claimed', 'Another system is performing maintenance on the node.'],
    undrainable: ['Undrainable', 'The node must be drained before the change and cannot be drained.'],
    unusable: ['ReportUnusable', 'The node reports a local config that is too large or nested too deep to be used.'],
    invalid: ['InvalidHere', 'The kubelet of the node would not start with the config of the set.'],
    policy: ['FieldPolicyHere', 'A field policy does not allow the config of the set on this node.'],
    impact: ['ImpactHere', 'The change needs more on this node than the spec accepts.'],
    otherSet: ['OtherSet', 'The node belongs to another set.'],
    byHand: ['AssignedByHand', 'The config of the node was assigned by hand; relet rollout adopt gives it to the set.'],
    repointed: [
      'TakenFromSet',
      'Another config was assigned to the node after that of the set; relet release gives it back.',
    ],
  }),
};

/** Why a node has failed, as in `status.failedSamples` of a NodeConfigSet, where its own error has no reason. */
export const failureReasons = reasons({
  rejected: ['Rejected', 'The node rejected the config.'],
  rolledBack: ['RolledBackByNode', 'The node rolled the config back.'],
  podsRejected: [
    'PodsRejected',
    'The kubelet rejected pods that ran on the node before it was restarted with the config.',
  ],
  silent: ['DeadlineExceeded', 'The node did not report the end of its trial before the progress deadline.'],
});

/** Why a node of a cohort is not compared, as in `status.analyses` of a NodeConfigSet; beside the reasons of an exclusion. */
export const leftOutReasons = reasons({
  gone: ['NoLongerSelected', 'The node left the set while it was observed.'],
  failed: ['CanaryFailed', 'The config was not active on the node to the end.'],
  changed: ['ControlChanged', 'The node got the change while it was observed as a control.'],
  drained: ['Drained', 'The node was drained or cordoned, so its workloads are others than before.'],
  booted: ['Booted', 'The host was booted while it was observed.'],
  noHistory: ['NoHistory', 'The agent does not have half of the values of a window.'],
  noAnswer: ['NoAnswer', 'The agent did not answer in time.'],
});
