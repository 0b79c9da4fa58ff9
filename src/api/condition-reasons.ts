/**
 * The reasons of the conditions that a node writes into its NodeConfig: one word for machines, one sentence for people, as
 * Kubernetes wants conditions to be. The Node's own ConfigOK keeps the sentences of DKC alpha (faults.ts). docs/errors.md lists all
 * of them; a test keeps the two equal.
 */
import type { FaultReason } from './faults.js';

export interface ReasonText {
  reason: string;
  message: string;
}

/** ConfigOK is False. */
export const faultReasons: Readonly<Record<FaultReason, ReasonText>> = {
  load: { reason: 'LoadFailed', message: 'The assigned config cannot be read from the checkpoint on the node.' },
  parse: { reason: 'ParseFailed', message: 'The assigned config is not a valid KubeletConfiguration.' },
  validate: { reason: 'ValidationFailed', message: 'The kubelet of this node rejects a value of the assigned config.' },
  internal: { reason: 'InternalError', message: 'The assigned config cannot be converted for the kubelet.' },
  forecast: {
    reason: 'StartWouldFail',
    message: 'The kubelet would accept the assigned config and exit at its start.',
  },
  guard: { reason: 'NodeWouldBeCutOff', message: 'The assigned config would cut the node off from the cluster.' },
  policy: { reason: 'FieldPolicyDenied', message: 'The field policy of the node does not allow the assigned config.' },
  'crash-loop': { reason: 'CrashLoop', message: 'The kubelet kept crashing with the assigned config.' },
  unhealthy: { reason: 'NotHealthy', message: 'The kubelet did not become healthy with the assigned config in time.' },
  'no-api': {
    reason: 'APIServerLost',
    message: 'The API server did not answer after the switch to the assigned config.',
  },
  crashing: {
    reason: 'KubeletCrashed',
    message: 'The kubelet crashed with the config that it runs and is started again.',
  },
  reference: { reason: 'ReferenceUnreadable', message: 'The API server does not let the node read its reference.' },
  'all-nil': { reason: 'ReferenceEmpty', message: 'spec.configSource refers to nothing.' },
  incomplete: { reason: 'ReferenceIncomplete', message: 'The reference lacks a namespace, a name or a uid.' },
  'other-uid': { reason: 'UIDMismatch', message: 'The ConfigMap has another uid than the reference.' },
  download: { reason: 'DownloadFailed', message: 'The ConfigMap cannot be read from the API server.' },
  unlabelled: { reason: 'NotLabelled', message: 'The ConfigMap does not have the label relet.dev/kubelet-config.' },
  'other-sha256': {
    reason: 'SHA256Mismatch',
    message: 'The ConfigMap does not have the content that the reference pins.',
  },
  'bad-object': { reason: 'InvalidObject', message: 'The API server sent a ConfigMap that cannot be used.' },
  exists: { reason: 'CheckpointUnreadable', message: 'The checkpoint directory on the node cannot be read.' },
  save: { reason: 'CheckpointNotSaved', message: 'The config cannot be saved on the node.' },
  assign: { reason: 'AssignmentNotSaved', message: 'The node cannot record which config it is assigned.' },
  'set-default': { reason: 'DefaultNotSaved', message: 'The node cannot record that it is assigned its local config.' },
  reset: { reason: 'ResetNotSaved', message: 'The node cannot record that it must return to its local config.' },
};

/** ConfigOK is True. */
export const okReasons = {
  active: { reason: 'ConfigActive', message: 'The kubelet runs with the assigned config.' },
  local: {
    reason: 'LocalConfigActive',
    message: 'The kubelet runs with its local config, and nothing else is assigned.',
  },
  pending: { reason: 'ConfigPending', message: 'The kubelet does not run with the assigned config yet.' },
} as const satisfies Record<string, ReasonText>;

/** OnTrial is True, or False. */
export const trialReasons = {
  running: {
    reason: 'TrialRunning',
    message: 'The node returns to its last known good config if the kubelet does not stay healthy.',
  },
  none: { reason: 'NoTrial', message: 'No config is on trial.' },
} as const satisfies Record<string, ReasonText>;

/** The fault that a reason of ConfigOK names; undefined for other words, such as those of an older relet. */
export function faultOfReason(reason: string | undefined): FaultReason | undefined {
  const found = Object.entries(faultReasons).find(([, text]) => text.reason === reason);
  return found?.[0] as FaultReason | undefined;
}
