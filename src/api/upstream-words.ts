/**
 * Upstream's sentences, for the Node only: `beta` is Node.status.config.error, `alpha` the reason of its condition ConfigOK.
 * Upstream's wording where upstream has one. Nothing else in relet reads or writes them.
 *
 * %c is the config the error is about: `(UID: "…")`, `(init)` or `(default)`. Other placeholders are filled in by name.
 */
import { type ConfigError, type ConfigErrorOutcome, type ConfigErrorReason, configErrors } from './config-error.js';

interface Wording {
  beta: string;
  alpha: string;
}

const internal = 'internal failure, see Kubelet log for details';
const signature = {
  beta: 'rejected: this host does not accept the signature of this config, see Kubelet log for details',
  alpha: 'failed the signature check with current %c',
};
const download = 'failed to download config, see Kubelet log for details';

export const upstreamWords = {
  LoadFailed: {
    beta: 'failed to load config, see Kubelet log for details',
    alpha: 'failed to load current %c',
  },
  ParseFailed: {
    beta: 'failed to load config, see Kubelet log for details',
    alpha: 'failed to parse current %c',
  },
  ValidationFailed: {
    beta: 'failed to validate config, see Kubelet log for details',
    alpha: 'failed to validate current %c',
  },
  CannotBeChecked: {
    beta: 'rejected: relet cannot check this config, see Kubelet log for details',
    alpha: 'failed to check current %c',
  },
  InternalError: { beta: internal, alpha: 'internal failure with current %c' },
  StartWouldFail: {
    beta: 'rejected: the kubelet would exit at its start with this config, see Kubelet log for details',
    alpha: 'failed the forecast of current %c',
  },
  HostWouldStarve: {
    beta: 'rejected: this config would limit the host below what it uses now, see Kubelet log for details',
    alpha: 'failed the forecast of current %c',
  },
  NodeWouldBeCutOff: {
    beta: 'rejected: this config would cut the node off, see Kubelet log for details',
    alpha: 'failed the guards with current %c',
  },
  FieldPolicyDenied: {
    beta: 'rejected: the field policy does not allow this config, see Kubelet log for details',
    alpha: 'failed the field policy with current %c',
  },
  SignatureMissing: signature,
  SignatureInvalid: signature,
  SignerNotAllowed: signature,
  TooFewSignatures: signature,
  WrongPool: signature,
  NotYetValid: signature,
  Expired: signature,
  SerialTooLow: signature,
  DropInRemoved: {
    beta: 'rejected: the drop-in of this config was removed from the host, see Kubelet log for details',
    alpha: 'failed to start current %c, its drop-in was removed',
  },
  CrashLoop: {
    beta: 'rolled back: the kubelet kept crashing with this config, see Kubelet log for details',
    alpha: 'current failed trial period due to crash loop %c',
  },
  NotHealthy: {
    beta: 'rolled back: the kubelet was not healthy in time with this config, see Kubelet log for details',
    alpha: 'current failed trial period due to failed health checks %c',
  },
  APIServerLost: {
    beta: 'rolled back: the API server was lost with this config, see Kubelet log for details',
    alpha: 'current failed trial period due to a lost API server %c',
  },
  KubeletCrashed: {
    beta: 'the kubelet crashed with this config and is started again, see Kubelet log for details',
    alpha: 'kubelet crashed with current %c',
  },
  ReferenceUnreadable: { beta: internal, alpha: 'failed to read Node from informer object cache' },
  ReferenceEmpty: {
    beta: 'invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil',
    alpha: 'invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil',
  },
  ReferenceIncomplete: {
    beta: 'invalid ObjectReference, all of UID, Name, and Namespace must be specified',
    alpha: 'invalid ObjectReference, all of UID, Name, and Namespace must be specified',
  },
  UIDMismatch: {
    beta: 'invalid ObjectReference, UID %wanted does not match UID of downloaded ConfigMap %found',
    alpha: 'invalid ObjectReference, UID %wanted does not match UID of downloaded ConfigMap %found',
  },
  DownloadFailed: {
    beta: download,
    alpha: 'failed to download ConfigMap with name %name from namespace %namespace',
  },
  NotLabelled: {
    beta: 'the ConfigMap does not have the label relet.dev/kubelet-config',
    alpha: 'ConfigMap with name %name from namespace %namespace does not have the label relet.dev/kubelet-config',
  },
  SHA256Mismatch: {
    beta: 'the content of the ConfigMap does not have the pinned sha256',
    alpha: 'ConfigMap with name %name from namespace %namespace has the sha256 %found and not the pinned %wanted',
  },
  InvalidObject: { beta: internal, alpha: 'invalid downloaded object' },
  TrustFileUnusable: { beta: internal, alpha: 'failed to read the trust file' },
  ClockNotTrusted: { beta: internal, alpha: 'failed to read the time' },
  CheckpointUnreadable: {
    beta: internal,
    alpha: 'failed to determine whether object with UID %uid was already checkpointed',
  },
  CheckpointNotSaved: { beta: internal, alpha: 'failed to save config checkpoint for object with UID %uid' },
  AssignmentNotSaved: { beta: internal, alpha: 'failed to set current config checkpoint to object with UID %uid' },
  DefaultNotSaved: { beta: internal, alpha: 'failed to set current config checkpoint to default' },
  ResetNotSaved: { beta: internal, alpha: 'failed to reset to local (default or init) config' },
} as const satisfies Record<ConfigErrorReason, Wording>;

const isSync = (reason: ConfigErrorReason) => configErrors[reason].outcome === 'not followed';

/** For Node.status.config.error. */
export function betaError({ reason, about }: Pick<ConfigError, 'reason' | 'about'>): string {
  const text = fill(upstreamWords[reason].beta, about);
  return isSync(reason) ? `failed to sync: ${text}` : text;
}

/** For the reason of the Node's condition. `config` fills %c. */
export function alphaReason({ reason, about }: ConfigError, config: string): string {
  const text = fill(
    upstreamWords[reason].alpha.replaceAll('%c', () => config),
    about,
  );
  return isSync(reason) ? `failed to sync, reason: ${text}` : text;
}

function fill(text: string, about: Readonly<Record<string, string>>): string {
  return text.replace(/%([a-z]+)/g, (placeholder, name: string) =>
    Object.hasOwn(about, name) ? JSON.stringify(about[name]) : placeholder,
  );
}

/** The reason that an error of a Node stands for; undefined if several share its words, or another version wrote it. */
export function reasonOfBeta(error: string): ConfigErrorReason | undefined {
  const found = (Object.keys(upstreamWords) as ConfigErrorReason[]).filter(
    (reason) => error === betaError({ reason, about: {} }),
  );
  return found.length === 1 ? found[0] : undefined;
}

/** Outcome of a config, derived from the error text in a Node. Unknown texts count as a rejection. */
export function outcomeOfBeta(error: string): ConfigErrorOutcome {
  const reason = reasonOfBeta(error);
  if (reason !== undefined) return configErrors[reason].outcome;
  if (error.startsWith('failed to sync: ')) return 'not followed';
  // The rest differs between versions of relet; no error of another kind begins like this.
  return /^rolled back\b/.test(error) ? 'rolled back' : 'rejected';
}
