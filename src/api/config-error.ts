/**
 * Everything that can be wrong with a node's config: a reason for machines, its outcome, and one sentence for people. The reason
 * is that of the condition ConfigOK in a NodeConfig. docs/errors.md lists all of them with cause and remedy; a test keeps the two
 * equal. The sentences that Kubernetes had for a Node are in upstream-words.ts.
 */

/**
 * rejected: it is not started. rolled back: its trial failed. crashing: it runs and its kubelet crashed. not followed: the
 * reference, or the ConfigMap behind it, cannot be used, and the node keeps what it has.
 */
export type ConfigErrorOutcome = 'rejected' | 'rolled back' | 'crashing' | 'not followed';

export interface ReasonText {
  outcome: ConfigErrorOutcome;
  message: string;
}

export const configErrors = {
  LoadFailed: { outcome: 'rejected', message: 'The assigned config cannot be read from the checkpoint on the node.' },
  ParseFailed: { outcome: 'rejected', message: 'The assigned config is not a valid KubeletConfiguration.' },
  ValidationFailed: {
    outcome: 'rejected',
    message: 'The kubelet of this node rejects a value of the assigned config.',
  },
  CannotBeChecked: {
    outcome: 'rejected',
    message: 'relet cannot check the assigned config, although the kubelet can read it.',
  },
  InternalError: { outcome: 'rejected', message: 'The assigned config cannot be converted for the kubelet.' },
  StartWouldFail: {
    outcome: 'rejected',
    message: 'The kubelet would accept the assigned config and then exit at startup.',
  },
  HostWouldStarve: {
    outcome: 'rejected',
    message: 'The assigned config would limit a cgroup of the host below what it uses now.',
  },
  NodeWouldBeCutOff: { outcome: 'rejected', message: 'The assigned config would cut the node off from the cluster.' },
  FieldPolicyDenied: {
    outcome: 'rejected',
    message: 'The field policy of the node does not allow the assigned config.',
  },
  SignatureMissing: {
    outcome: 'rejected',
    message: 'The host starts only signed configs, and the assigned one is not.',
  },
  SignatureInvalid: {
    outcome: 'rejected',
    message: 'The signed statement is not for the assigned config, or a signature is not valid.',
  },
  SignerNotAllowed: {
    outcome: 'rejected',
    message: 'The assigned config is signed only with keys that the host does not allow.',
  },
  TooFewSignatures: {
    outcome: 'rejected',
    message: 'The assigned config is signed by fewer principals than the host requires.',
  },
  WrongPool: { outcome: 'rejected', message: 'The assigned config is signed for another pool than that of the host.' },
  NotYetValid: { outcome: 'rejected', message: 'The signed statement of the assigned config is not valid yet.' },
  Expired: { outcome: 'rejected', message: 'The signed statement of the assigned config has expired.' },
  SerialTooLow: {
    outcome: 'rejected',
    message: 'The assigned config is older than those that the node still accepts.',
  },
  DropInRemoved: {
    outcome: 'rejected',
    message: 'The drop-in that starts the assigned config was removed from the unit of the kubelet.',
  },
  CrashLoop: { outcome: 'rolled back', message: 'The kubelet kept crashing with the assigned config.' },
  NotHealthy: {
    outcome: 'rolled back',
    message: 'The kubelet did not become healthy with the assigned config in time.',
  },
  APIServerLost: {
    outcome: 'rolled back',
    message: 'The API server did not answer after the switch to the assigned config.',
  },
  KubeletCrashed: {
    outcome: 'crashing',
    message: 'The kubelet crashed with its current config and is being restarted.',
  },
  ReferenceUnreadable: { outcome: 'not followed', message: 'The API server does not let the node read its reference.' },
  ReferenceEmpty: { outcome: 'not followed', message: 'spec.configSource refers to nothing.' },
  ReferenceIncomplete: { outcome: 'not followed', message: 'The reference lacks a namespace, a name or a uid.' },
  UIDMismatch: { outcome: 'not followed', message: 'The ConfigMap has another uid than the reference.' },
  DownloadFailed: { outcome: 'not followed', message: 'The ConfigMap cannot be read from the API server.' },
  NotLabelled: { outcome: 'not followed', message: 'The ConfigMap does not have the label relet.dev/kubelet-config.' },
  SHA256Mismatch: {
    outcome: 'not followed',
    message: 'The ConfigMap does not have the content that the reference pins.',
  },
  InvalidObject: { outcome: 'not followed', message: 'The API server sent a ConfigMap that cannot be used.' },
  TrustFileUnusable: {
    outcome: 'not followed',
    message: 'The trust file of the host cannot be used, so that no other config is accepted.',
  },
  ClockNotTrusted: {
    outcome: 'not followed',
    message: 'The clock of the host cannot be trusted, and the signed statement depends on the time.',
  },
  CheckpointUnreadable: { outcome: 'not followed', message: 'The checkpoint directory on the node cannot be read.' },
  CheckpointNotSaved: { outcome: 'not followed', message: 'The config cannot be saved on the node.' },
  AssignmentNotSaved: { outcome: 'not followed', message: 'The node cannot record which config it is assigned.' },
  DefaultNotSaved: { outcome: 'not followed', message: 'The node cannot record that it is assigned its local config.' },
  ResetNotSaved: {
    outcome: 'not followed',
    message: 'The node cannot record that it must return to its local config.',
  },
} as const satisfies Record<string, ReasonText>;

export type ConfigErrorReason = keyof typeof configErrors;

/** A reason from the list, and the cause in detail. */
export class ConfigError extends Error {
  readonly reason: ConfigErrorReason;
  /** The values that its message in the Node's words names, such as name or uid. */
  readonly about: Readonly<Record<string, string>>;

  constructor(reason: ConfigErrorReason, cause: unknown, about: Record<string, string> = {}) {
    super(configErrors[reason].message, { cause });
    this.reason = reason;
    this.about = about;
  }

  get outcome(): ConfigErrorOutcome {
    return configErrors[this.reason].outcome;
  }
}

export function isConfigErrorReason(reason: unknown): reason is ConfigErrorReason {
  return typeof reason === 'string' && Object.hasOwn(configErrors, reason);
}
