/** The ConfigMaps that hold configs: made immutable, labelled and named by their content; read back by reference. */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type ConfigRef, type NodeConfigSource, parseRef, refOf } from '../api/config-ref.js';
import { checkDnsLabel, checkDnsSubdomain } from '../api/names.js';
import { configLabel } from '../api/node-config.js';
import { type NodeConfigSet, nodeConfigSets } from '../api/node-config-set.js';
import type { ConfigMap } from '../api/object.js';
import { ApiError, isAlreadyExists, isForbidden, isNotFound } from '../api/status.js';
import { CannotRun } from '../cannot-run.js';
import type { KubeClient } from '../kube/client.js';
import { configMaps } from '../kube/resource-type.js';
import { readHistory } from './config-history.js';
import type { ConfigReferences, ConfiguredNode } from './configured-node.js';

export const defaultName = 'kubelet-config';
export const defaultKey = 'kubelet';

/** Access to a cluster. The signal ends what only reads or waits; a write is let finish. */
export interface Cluster {
  client: KubeClient;
  signal: AbortSignal;
}

export interface NewConfigMap {
  /** Before the hash. */
  name: string;
  namespace: string;
  key: string;
  bytes: Uint8Array;
}

/** Named as `kubectl create configmap NAME --from-file=KEY=FILE --append-hash` names it; `immutable` is not in the hash. */
export function newConfigMap({ name, namespace, key, bytes }: NewConfigMap): ConfigMap {
  const buffer = Buffer.from(bytes);
  const content = isUtf8(buffer)
    ? { data: { [key]: buffer.toString('utf8') } }
    : { data: {}, binaryData: { [key]: buffer.toString('base64') } };
  const hashed = hashedName({ name, ...content });
  const wrong = checkDnsSubdomain(hashed);
  if (wrong.length > 0) throw new CannotRun(`'${name}' cannot name a ConfigMap: ${wrong.join('; ')}`);
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: hashed, namespace, labels: { [configLabel]: 'true' } },
    ...content,
    immutable: true,
  };
}

export function hashedName(configMap: HashedConfigMap): string {
  return `${configMap.name}-${configMapHash(configMap)}`;
}

interface HashedConfigMap {
  /** The name before the suffix. */
  name: string;
  /** null stands for an object without data; kubectl create always has at least {}. */
  data: Record<string, string> | null;
  /** Values are base64, as in the API. */
  binaryData?: Record<string, string>;
  immutable?: boolean;
}

/**
 * The name suffix that `kubectl create configmap --append-hash` gives the same data, bit for bit. Computed over Go's
 * JSON of the ConfigMap, which differs from JSON.stringify in what it escapes.
 */
export function configMapHash(configMap: HashedConfigMap): string {
  const { name, data, binaryData, immutable } = configMap;
  const fields: string[] = [];
  if (binaryData !== undefined && Object.keys(binaryData).length > 0) fields.push(`"binaryData":${goMap(binaryData)}`);
  fields.push(`"data":${data === null ? 'null' : goMap(data)}`);
  if (immutable !== undefined) fields.push(`"immutable":${immutable}`);
  fields.push('"kind":"ConfigMap"', `"name":${goString(name)}`);
  const digest = createHash('sha256')
    .update(`{${fields.join(',')}}`)
    .digest('hex');
  return digest.slice(0, 10).replace(/[013ae]/g, (digit) => withoutVowels[digit]!);
}

// Vowels and look-alikes are replaced, so that no hash spells a word.
const withoutVowels: Record<string, string> = { 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' };

function goMap(map: Record<string, string>): string {
  const keys = Object.keys(map).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${keys.map((key) => `${goString(key)}:${goString(map[key]!)}`).join(',')}}`;
}

/** Go escapes <, >, & and the two Unicode line separators; a lone surrogate becomes U+FFFD, written as an escape. */
function goString(text: string): string {
  return JSON.stringify(text)
    .replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(/\\ud[89a-f][0-9a-f]{2}/g, '\\ufffd');
}

export function sourceOf(configMap: ConfigMap, key: string): NodeConfigSource {
  const { namespace = '', name } = configMap.metadata;
  return { configMap: { namespace, name, kubeletConfigKey: key } };
}

/**
 * Creates it unless it is there. Signatures that it has not are added to one that is there. Throws if another content has the same name:
 * somebody else made it, since the name is a hash.
 */
export async function ensureConfigMap(
  { client }: Pick<Cluster, 'client'>,
  configMap: ConfigMap,
  { dryRun = false } = {},
): Promise<{ created: boolean; signed?: true; configMap: ConfigMap }> {
  const { namespace = '', name } = configMap.metadata;
  try {
    const options = { dryRun, fieldManager: 'relet' };
    return { created: true, configMap: await client.create<ConfigMap>(configMaps, { namespace }, configMap, options) };
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const present = await client.get<ConfigMap>(configMaps, { namespace, name });
  if (!sameContent(present, configMap))
    throw new CannotRun(
      `ConfigMap ${namespace}/${name} is there already with other content; choose another name with --name`,
    );
  const { annotations } = configMap.metadata;
  const before = present.metadata.annotations ?? {};
  if (annotations === undefined || Object.entries(annotations).every(([name, value]) => before[name] === value))
    return { created: false, configMap: present };
  const { resourceVersion } = present.metadata;
  const patch = { metadata: { resourceVersion, annotations } };
  const options = { as: 'merge', dryRun, fieldManager: 'relet' } as const;
  const signed = await client.patch<ConfigMap>(configMaps, { namespace, name }, patch, options);
  return { created: false, signed: true, configMap: signed };
}

/** For a dry run that writes nothing. Who may not read it is answered no. */
export async function isPresent({ client, signal }: Cluster, { metadata }: ConfigMap): Promise<boolean> {
  const { namespace = '', name } = metadata;
  try {
    await client.get<ConfigMap>(configMaps, { namespace, name }, { signal });
    return true;
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return false;
    throw error;
  }
}

function sameContent(a: ConfigMap, b: ConfigMap): boolean {
  const content = ({ data = {}, binaryData = {} }: ConfigMap) =>
    JSON.stringify([Object.entries(data).sort(), Object.entries(binaryData).sort()]);
  return content(a) === content(b);
}

/** Deletes a ConfigMap that this run made and no node uses. */
export async function removeConfigMap({ client }: Pick<Cluster, 'client'>, { metadata }: ConfigMap): Promise<void> {
  const { namespace = '', name, uid } = metadata;
  try {
    await client.delete(configMaps, { namespace, name }, uid ? { preconditions: { uid } } : {});
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

export interface Payload {
  text: string;
  configMap: ConfigMap;
  source: ConfigRef;
}

export async function readPayload({ client, signal }: Cluster, source: ConfigRef): Promise<Payload> {
  const { namespace, name, kubeletConfigKey: key } = source;
  const configMap = await client.get<ConfigMap>(configMaps, { namespace, name }, { signal });
  const { uid, resourceVersion } = configMap.metadata;
  const text = Object.hasOwn(configMap.data ?? {}, key) ? configMap.data![key] : undefined;
  if (text === undefined) throw new CannotRun(`ConfigMap ${namespace}/${name} has no key '${key}'${keysOf(configMap)}`);
  const version = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
  return { text, configMap, source: { namespace, name, kubeletConfigKey: key, ...version } };
}

/** Undefined if there is none, or it may not be read. */
export const tryReadPayload = (cluster: Cluster, source: ConfigRef): Promise<Payload | undefined> =>
  readPayload(cluster, source).catch((error: unknown) => {
    if (error instanceof ApiError || error instanceof CannotRun) return undefined;
    throw error;
  });

/** By `NAME` or `NAMESPACE/NAME`; the key is the one given, the only one, or `kubelet`. `namespace` is for a name without one. */
export async function findConfigMap(
  { client, signal, namespace: defaultNamespace }: Cluster & { namespace: string },
  word: string,
  askedKey: string | undefined,
): Promise<Payload> {
  const slash = word.indexOf('/');
  const namespace = slash < 0 ? defaultNamespace : word.slice(0, slash);
  const name = word.slice(slash + 1);
  if (checkDnsLabel(namespace).length > 0 || checkDnsSubdomain(name).length > 0)
    throw new CannotRun(`'${word}' cannot be the name of a ConfigMap: write NAME or NAMESPACE/NAME`);
  const configMap = await client.get<ConfigMap>(configMaps, { namespace, name }, { signal });
  const keys = Object.keys(configMap.data ?? {});
  const key = askedKey ?? (keys.length === 1 ? keys[0]! : defaultKey);
  if (!keys.includes(key))
    throw new CannotRun(
      `ConfigMap ${namespace}/${name} has no key '${key}'${keysOf(configMap)}; choose one with --key`,
    );
  const { uid, resourceVersion } = configMap.metadata;
  const version = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
  const source = { namespace, name, kubeletConfigKey: key, ...version };
  return { text: configMap.data![key]!, configMap, source };
}

function keysOf({ data = {}, binaryData = {} }: ConfigMap): string {
  const keys = [...Object.keys(data), ...Object.keys(binaryData).map((key) => `${key} (binary)`)];
  return keys.length === 0 ? ': it is empty' : ` (it has ${keys.join(', ')})`;
}

/** `namespace/name` of each ConfigMap, and the nodes or sets that use it. */
export interface Uses {
  /** Assigned, active or last known good. */
  now: Map<string, Set<string>>;
  /** Named in the history of these nodes, so that `relet undo` can go back to it. */
  history: Map<string, Set<string>>;
  /** Named in the spec of these sets, or in one of their revisions. */
  sets: Map<string, Set<string>>;
}

export async function findUses({
  client,
  references,
  signal,
}: Cluster & { references: ConfigReferences }): Promise<Uses> {
  const uses: Uses = { now: new Map(), history: new Map(), sets: new Map() };
  for await (const page of references.pages({ signal })) for (const node of page) addUses(uses, node);
  for (const set of await listSets({ client, signal })) addUsesOfSet(uses, set);
  return uses;
}

/** None on a cluster that does not have the kind. */
async function listSets({ client, signal }: Cluster): Promise<NodeConfigSet[]> {
  try {
    return (await client.list<NodeConfigSet>(nodeConfigSets, { signal })).items;
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

export function addUsesOfSet(uses: Uses, { metadata, spec, status }: NodeConfigSet): void {
  const sources = (status?.revisions ?? []).map(({ source }) => parseRef(source));
  for (const source of [spec.config.configMap, ...sources])
    if (source !== undefined) add(uses.sets, source, metadata.name);
}

export function addUses(uses: Uses, node: ConfiguredNode): void {
  const { assigned, active, lastKnownGood } = node.status;
  // An undo returns to the source that its set has replaced.
  const previous = node.claim?.previous;
  for (const source of [...[node.configSource, assigned, active, lastKnownGood].map(refOf), previous])
    if (source !== undefined) add(uses.now, source, node.name);
  for (const { from, to } of readHistory(node))
    for (const source of [parseRef(from), parseRef(to)]) if (source !== undefined) add(uses.history, source, node.name);
}

function add(
  users: Map<string, Set<string>>,
  { namespace, name }: Pick<ConfigRef, 'namespace' | 'name'>,
  user: string,
): void {
  const key = `${namespace}/${name}`;
  users.set(key, (users.get(key) ?? new Set()).add(user));
}

/** The ConfigMaps with the label of relet; in one namespace, or in all. */
export async function labelledConfigMaps(
  { client, signal }: Cluster,
  scope: { namespace?: string },
): Promise<ConfigMap[]> {
  const found: ConfigMap[] = [];
  const pages = client.pages<ConfigMap>(configMaps, {
    ...scope,
    labelSelector: `${configLabel}=true`,
    limit: 100,
    signal,
  });
  // Their content is not needed, and there may be many.
  for await (const { items } of pages)
    for (const { data: _, binaryData: __, ...rest } of items) found.push(rest as ConfigMap);
  return found;
}

export const keyOf = ({ metadata }: Pick<ConfigMap, 'metadata'>): string => `${metadata.namespace}/${metadata.name}`;
