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

/** All of one outcome. */
const texts = <Reason extends string>(outcome: ConfigErrorOutcome, messages: Record<Reason, string>) =>
  Object.fromEntries(
    Object.entries<string>(messages).map(([reason, message]) => [reason, { outcome, message }]),
  ) as Record<Reason, ReasonText>;

export const configErrors = {
  ...texts('rejected', {
    LoadFailed: 'The assigned config cannot be read from the checkpoint on the node.',
    ParseFailed: 'The assigned config is not a valid KubeletConfiguration.',
    ValidationFailed: 'The kubelet of this node rejects a value of the assigned config.',
    CannotBeChecked: 'relet cannot check the assigned config, although the kubelet can read it.',
    InternalError: 'The assigned config cannot be converted for the kubelet.',
    StartWouldFail: 'The kubelet would accept the assigned config and then exit at startup.',
    HostWouldStarve: 'The assigned config would limit a cgroup of the host below what it uses now.',
    NodeWouldBeCutOff: 'The assigned config would cut the node off from the cluster.',
    FieldPolicyDenied: 'The field policy of the node does not allow the assigned config.',
    SignatureMissing: 'The host starts only signed configs, and the assigned one is not.',
    SignatureInvalid: 'The signed statement is not for the assigned config, or a signature is not valid.',
    SignerNotAllowed: 'The assigned config is signed only with keys that the host does not allow.',
    TooFewSignatures: 'The assigned config is signed by fewer principals than the host requires.',
    WrongPool: 'The assigned config is signed for another pool than that of the host.',
    NotYetValid: 'The signed statement of the assigned config is not valid yet.',
    Expired: 'The signed statement of the assigned config has expired.',
    SerialTooLow: 'The assigned config is older than those that the node still accepts.',
    DropInRemoved: 'The drop-in that starts the assigned config was removed from the unit of the kubelet.',
  }),
  ...texts('rolled back', {
    CrashLoop: 'The kubelet kept crashing with the assigned config.',
    NotHealthy: 'The kubelet did not become healthy with the assigned config in time.',
    APIServerLost: 'The API server did not answer after the switch to the assigned config.',
  }),
  ...texts('crashing', {
    KubeletCrashed: 'The kubelet crashed with its current config and is being restarted.',
  }),
  ...texts('not followed', {
    ReferenceUnreadable: 'The API server does not let the node read its reference.',
    ReferenceEmpty: 'spec.configSource refers to nothing.',
    ReferenceIncomplete: 'The reference lacks a namespace, a name or a uid.',
    UIDMismatch: 'The ConfigMap has another uid than the reference.',
    DownloadFailed: 'The ConfigMap cannot be read from the API server.',
    NotLabelled: 'The ConfigMap does not have the label relet.dev/kubelet-config.',
    SHA256Mismatch: 'The ConfigMap does not have the content that the reference pins.',
    InvalidObject: 'The API server sent a ConfigMap that cannot be used.',
    TrustFileUnusable: 'The trust file of the host cannot be used, so that no other config is accepted.',
    ClockNotTrusted: 'The clock of the host cannot be trusted, and the signed statement depends on the time.',
    CheckpointUnreadable: 'The checkpoint directory on the node cannot be read.',
    CheckpointNotSaved: 'The config cannot be saved on the node.',
    AssignmentNotSaved: 'The node cannot record which config it is assigned.',
    DefaultNotSaved: 'The node cannot record that it is assigned its local config.',
    ResetNotSaved: 'The node cannot record that it must return to its local config.',
  }),
};

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
