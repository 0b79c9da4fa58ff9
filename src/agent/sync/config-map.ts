/**
 * Reads and watches the ConfigMap that the reference names: returns its exact version with its files, and reports changes. Writes
 * nothing.
 */
import { ConfigError } from '../../api/config-error.js';
import { type ConfigRef, type ExactRef, type NodeConfigSource, refOf } from '../../api/config-ref.js';
import { configLabel } from '../../api/node-config.js';
import type { ConfigMap } from '../../api/object.js';
import { countedAnnotations, signaturesAnnotation, statementAnnotation } from '../../api/signing.js';
import { isForbidden } from '../../api/status.js';
import type { Clock } from '../../clock.js';
import { contentOf } from '../../config/signing/statement.js';
import type { KubeClient } from '../../kube/client.js';
import { configMaps } from '../../kube/resource-type.js';
import { watchLoop } from '../../kube/watch.js';
import type { Log } from '../../log.js';
import { type ConfigFiles, sha256 } from '../state/checkpoints.js';

/** The ConfigMap to read, and what must be true of it. */
export interface AssignedRef extends ConfigRef {
  /** The ConfigMap must have the label that marks a kubelet config. */
  labelled?: true;
}

export interface Resolved {
  source: ExactRef;
  payload: ConfigFiles;
}

/** The reference of a spec, beta or alpha. Throws a ConfigError for an incomplete one. */
export function specRef(source: NodeConfigSource): ConfigRef {
  const ref = refOf(source);
  if (ref === undefined)
    throw new ConfigError('ReferenceEmpty', new Error('spec.configSource names neither configMap nor configMapRef'));
  if (source.configMap === undefined) return completeAlpha(ref);
  const { namespace, name, kubeletConfigKey, sha256 } = ref;
  // A server checks these, but only on update: a Node may be created with anything.
  for (const [field, value] of Object.entries({ namespace, name, kubeletConfigKey }))
    if (typeof value !== 'string' || value === '')
      throw new ConfigError('DownloadFailed', new Error(`spec.configSource.configMap.${field} must be set`), {
        name: String(name ?? ''),
        namespace: String(namespace ?? ''),
      });
  return { namespace, name, kubeletConfigKey, ...(sha256 !== undefined && { sha256 }) };
}

function completeAlpha(ref: ConfigRef): ConfigRef {
  const { namespace, name, uid } = ref;
  if (namespace && name && uid) return ref;
  throw new ConfigError(
    'ReferenceIncomplete',
    new Error(`configMapRef has ${JSON.stringify({ namespace, name, uid })}`),
  );
}

export async function resolve(
  target: AssignedRef,
  getConfigMap: (target: AssignedRef) => Promise<ConfigMap>,
): Promise<Resolved> {
  const { namespace, name, kubeletConfigKey } = target;
  let configMap: ConfigMap;
  try {
    configMap = await getConfigMap(target);
  } catch (cause) {
    throw new ConfigError('DownloadFailed', cause, { name, namespace });
  }
  const { uid, resourceVersion } = identityOf(configMap);
  checkData(configMap);
  checkMark(target, configMap);
  if (target.uid !== undefined && target.uid !== uid)
    throw new ConfigError('UIDMismatch', new Error(`ConfigMap ${namespace}/${name} was created again`), {
      wanted: target.uid,
      found: uid,
    });
  return { source: { namespace, name, uid, resourceVersion, kubeletConfigKey }, payload: payloadOf(configMap) };
}

/** Each key becomes a file that must be on the disk for sure before the config is used; a kubelet config needs a few. */
const mostKeys = 512;

/** A server checks most of this; one that is broken, or something between it and the node, may not. */
function checkData({ metadata, data = {}, binaryData = {} }: ConfigMap): void {
  const refuse = (why: string) =>
    new ConfigError('InvalidObject', new Error(`ConfigMap ${metadata.namespace}/${metadata.name}: ${why}`));
  const keys = Object.keys(data).length + Object.keys(binaryData).length;
  if (keys > mostKeys)
    throw refuse(`${keys} keys are more than ${mostKeys}: put the kubelet config into a ConfigMap of its own`);
  for (const [key, value] of Object.entries(data))
    if (typeof value !== 'string') throw refuse(`the value of ${JSON.stringify(key)} is not a text`);
}

function checkMark(target: AssignedRef, { metadata, data }: ConfigMap): void {
  const { namespace, name, kubeletConfigKey, sha256: wanted } = target;
  if (target.labelled && metadata.labels?.[configLabel] === undefined)
    throw new ConfigError('NotLabelled', new Error(`ConfigMap ${namespace}/${name} has no label ${configLabel}`), {
      name,
      namespace,
    });
  const text = Object.hasOwn(data ?? {}, kubeletConfigKey) ? data![kubeletConfigKey] : undefined;
  const found = text === undefined ? 'of nothing' : sha256(Buffer.from(text, 'utf8'));
  if (wanted !== undefined && wanted !== found)
    throw new ConfigError(
      'SHA256Mismatch',
      new Error(`key ${kubeletConfigKey} has the sha256 ${found}, the reference pins ${wanted}`),
      {
        name,
        namespace,
        found,
        wanted,
      },
    );
}

export function identityOf(configMap: ConfigMap | null | undefined): { uid: string; resourceVersion: string } {
  const refuse = (why: string) => new ConfigError('InvalidObject', new Error(why));
  if (!configMap) throw refuse('ConfigMap must be non-nil');
  const { uid, resourceVersion } = configMap.metadata ?? {};
  if (!uid) throw refuse('ConfigMap must have a non-empty UID');
  if (!resourceVersion) throw refuse('ConfigMap must have a non-empty ResourceVersion');
  return { uid, resourceVersion };
}

/** Its annotations beyond these have no effect, so that a statement need not cover them. */
const keptAnnotations = [...countedAnnotations, statementAnnotation, signaturesAnnotation];

export function payloadOf({ data, binaryData, metadata }: ConfigMap): ConfigFiles {
  const kept = Object.entries(metadata.annotations ?? {}).filter(([name]) => keptAnnotations.includes(name));
  const binaryKeys = Object.keys(binaryData ?? {});
  return {
    files: new Map(Object.entries(data ?? {}).map(([key, text]) => [key, Buffer.from(text, 'utf8')])),
    annotations: Object.fromEntries(kept),
    binaryKeys,
    ...(binaryKeys.length > 0 && { binaryDigests: contentOf({ binaryData }).binaryData }),
  };
}

interface ConfigMapWatchOptions {
  client: KubeClient;
  clock: Clock;
  log: Log;
  /** The ConfigMap may have changed. */
  onChange(): void;
  signal: AbortSignal;
}

const readEveryMs = 60_000;
/** A server that has just started, or a fresh grant, may not be in effect yet; after this time it is. */
const patienceMs = 5000;
/** A watch that was forbidden is tried again this often, in case the role has grown. */
const watchAgainMs = 600_000;

interface Place {
  namespace: string;
  name: string;
}

/**
 * Follows the one ConfigMap that is referred to, by name. Where the role grants only `get`, as the pages of DKC alpha do, a
 * watch is forbidden: then it asks to have it read from time to time instead.
 */
export class ConfigMapWatch {
  readonly #options: ConfigMapWatchOptions;
  #following: { place: Place; stop: AbortController } | undefined;
  /** The version of the last read: the watch begins with it. */
  #seen = '';

  constructor(options: ConfigMapWatchOptions) {
    this.#options = options;
  }

  /** Sets the ConfigMap to watch; undefined stops the watch. */
  follow(place: Place | undefined): void {
    const present = this.#following?.place;
    if (place?.namespace === present?.namespace && place?.name === present?.name) return;
    this.#following?.stop.abort();
    this.#following = undefined;
    if (place === undefined || this.#options.signal.aborted) return;
    const stop = new AbortController();
    this.#following = { place, stop };
    const { namespace, name } = place;
    void this.#run({ namespace, name }, AbortSignal.any([stop.signal, this.#options.signal]));
  }

  /** Reads the ConfigMap, and watches it from here on. */
  async read({ namespace, name }: AssignedRef, signal: AbortSignal): Promise<ConfigMap> {
    const place = { namespace, name };
    try {
      const configMap = await this.#options.client.get<ConfigMap>(configMaps, place, { signal });
      // An event about this version changes nothing.
      this.#seen = configMap.metadata?.resourceVersion ?? '';
      this.follow(place);
      return configMap;
    } catch (error) {
      // If the read is forbidden, the watch is too. A missing ConfigMap may be created again.
      if (!isForbidden(error)) this.follow(place);
      throw error;
    }
  }

  async #run(place: Place, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const refusal = await this.#watch(place, signal);
      if (signal.aborted) return;
      this.#options.log.info('watch on ConfigMap forbidden, polling', { ...place, cause: refusal });
      await this.#readNowAndThen(signal).catch(() => {});
    }
  }

  /** Returns why, when watching is forbidden; otherwise only with the signal. */
  async #watch({ namespace, name }: Place, signal: AbortSignal): Promise<unknown> {
    const { client, clock, log, onChange } = this.#options;
    const forbidden = new AbortController();
    let forbiddenSinceMs: number | undefined;
    await watchLoop(client, {
      type: configMaps,
      namespace,
      name,
      startsWithWatch: true,
      signal: AbortSignal.any([signal, forbidden.signal]),
      onWatching: () => {
        forbiddenSinceMs = undefined;
      },
      onList: (items) => {
        const version = items.find((item) => item.metadata.name === name)?.metadata.resourceVersion;
        if (version !== this.#seen) onChange();
      },
      onChange: (type, { metadata }) => {
        if (type === 'DELETED' || metadata.resourceVersion !== this.#seen) onChange();
      },
      onFailure: (error, doing) => {
        if (!isForbidden(error)) forbiddenSinceMs = undefined;
        else forbiddenSinceMs ??= clock.monotonic();
        if (clock.monotonic() - (forbiddenSinceMs ?? Number.POSITIVE_INFINITY) >= patienceMs)
          return forbidden.abort(error);
        log.warn('cannot watch ConfigMap', { namespace, name, doing, error });
        // An interrupted watch may have missed a change; the next list shows it.
      },
    });
    return forbidden.signal.reason;
  }

  async #readNowAndThen(signal: AbortSignal): Promise<void> {
    const { client, clock, onChange } = this.#options;
    const until = clock.monotonic() + watchAgainMs;
    while (clock.monotonic() < until) {
      await clock.sleep(readEveryMs * (0.8 + 0.4 * client.random.number()), signal);
      onChange();
    }
  }
}
