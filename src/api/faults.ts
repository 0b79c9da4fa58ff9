/**
 * Everything that can be wrong with a node's config, and the words for it: `beta` stands in Node.status.config.error,
 * `alpha` is the reason of the condition ConfigOK. Upstream's wording where upstream has one. Described, each with cause
 * and remedy, in docs/errors.md; a test keeps the two equal.
 *
 * %c is the config the fault is about: `(UID: "…")`, `(init)` or `(default)`. Other placeholders are filled in by name.
 */

interface Wording {
  /** Where it happens: judging or running a config, or following the reference to one. */
  at: 'config' | 'sync';
  beta: string;
  alpha: string;
}

const internal = 'internal failure, see Kubelet log for details';
const download = 'failed to download config, see Kubelet log for details';

export const faults = {
  load: {
    at: 'config',
    beta: 'failed to load config, see Kubelet log for details',
    alpha: 'failed to load current %c',
  },
  parse: {
    at: 'config',
    beta: 'failed to load config, see Kubelet log for details',
    alpha: 'failed to parse current %c',
  },
  validate: {
    at: 'config',
    beta: 'failed to validate config, see Kubelet log for details',
    alpha: 'failed to validate current %c',
  },
  internal: { at: 'config', beta: internal, alpha: 'internal failure with current %c' },
  forecast: {
    at: 'config',
    beta: 'refused a config that would stop the kubelet at its start, see Kubelet log for details',
    alpha: 'failed the forecast of current %c',
  },
  guard: {
    at: 'config',
    beta: 'refused a config that would cut the node off, see Kubelet log for details',
    alpha: 'failed the guards with current %c',
  },
  policy: {
    at: 'config',
    beta: 'refused a config that the field policy does not allow, see Kubelet log for details',
    alpha: 'failed the field policy with current %c',
  },
  'crash-loop': {
    at: 'config',
    beta: 'rolled back: the kubelet kept crashing with this config, see Kubelet log for details',
    alpha: 'current failed trial period due to crash loop %c',
  },
  unhealthy: {
    at: 'config',
    beta: 'rolled back: the kubelet was not healthy in time with this config, see Kubelet log for details',
    alpha: 'current failed trial period due to failed health checks %c',
  },
  'no-api': {
    at: 'config',
    beta: 'rolled back: the API server was lost with this config, see Kubelet log for details',
    alpha: 'current failed trial period due to a lost API server %c',
  },
  crashing: {
    at: 'config',
    beta: 'the kubelet crashed with this config and is started again, see Kubelet log for details',
    alpha: 'kubelet crashed with current %c',
  },
  reference: { at: 'sync', beta: internal, alpha: 'failed to read Node from informer object cache' },
  'all-nil': {
    at: 'sync',
    beta: 'invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil',
    alpha: 'invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil',
  },
  incomplete: {
    at: 'sync',
    beta: 'invalid ObjectReference, all of UID, Name, and Namespace must be specified',
    alpha: 'invalid ObjectReference, all of UID, Name, and Namespace must be specified',
  },
  'other-uid': {
    at: 'sync',
    beta: 'invalid ObjectReference, UID %wanted does not match UID of downloaded ConfigMap %found',
    alpha: 'invalid ObjectReference, UID %wanted does not match UID of downloaded ConfigMap %found',
  },
  download: {
    at: 'sync',
    beta: download,
    alpha: 'failed to download ConfigMap with name %name from namespace %namespace',
  },
  unlabelled: {
    at: 'sync',
    beta: 'refused a ConfigMap without the label relet.dev/kubelet-config',
    alpha: 'refused ConfigMap with name %name from namespace %namespace, it has no label relet.dev/kubelet-config',
  },
  'other-sha256': {
    at: 'sync',
    beta: 'refused a ConfigMap whose content does not have the pinned sha256',
    alpha:
      'refused ConfigMap with name %name from namespace %namespace, its sha256 is %found and not the pinned %wanted',
  },
  'bad-object': { at: 'sync', beta: internal, alpha: 'invalid downloaded object' },
  exists: {
    at: 'sync',
    beta: internal,
    alpha: 'failed to determine whether object with UID %uid was already checkpointed',
  },
  save: { at: 'sync', beta: internal, alpha: 'failed to save config checkpoint for object with UID %uid' },
  assign: { at: 'sync', beta: internal, alpha: 'failed to set current config checkpoint to object with UID %uid' },
  'set-default': { at: 'sync', beta: internal, alpha: 'failed to set current config checkpoint to default' },
  reset: { at: 'sync', beta: internal, alpha: 'failed to reset to local (default or init) config' },
} as const satisfies Record<string, Wording>;

export type FaultReason = keyof typeof faults;

/** A short public reason from the list, and a private cause for the log. */
export class Fault extends Error {
  readonly reason: FaultReason;
  /** Values of the placeholders, such as name or uid. */
  readonly about: Readonly<Record<string, string>>;

  constructor(reason: FaultReason, cause: unknown, about: Record<string, string> = {}) {
    super(faults[reason].beta, { cause });
    this.reason = reason;
    this.about = about;
  }
}

/** What stands in status.config.error. */
export function betaError({ reason, about }: Fault): string {
  const { at, beta } = faults[reason];
  return at === 'sync' ? `failed to sync: ${fill(beta, about)}` : fill(beta, about);
}

/** What stands in the condition's reason. `config` fills %c. */
export function alphaReason({ reason, about }: Fault, config: string): string {
  const { at, alpha } = faults[reason];
  const text = fill(
    alpha.replaceAll('%c', () => config),
    about,
  );
  return at === 'sync' ? `failed to sync, reason: ${text}` : text;
}

function fill(text: string, about: Readonly<Record<string, string>>): string {
  return text.replace(/%([a-z]+)/g, (placeholder, name: string) =>
    Object.hasOwn(about, name) ? JSON.stringify(about[name]) : placeholder,
  );
}
