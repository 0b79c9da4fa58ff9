/** The ConfigMaps that hold configs: made immutable, labelled and named by their content; read back by reference. */
import { isUtf8 } from 'node:buffer';
import type { SourceName } from '../api/config-state.js';
import { hashedName } from '../api/configmap-hash.js';
import { checkDnsLabel, checkDnsSubdomain } from '../api/names.js';
import { configLabel } from '../api/node-config.js';
import type { NodeConfigSource } from '../api/node-config-source.js';
import type { KubeObject } from '../api/object.js';
import { CannotRun } from '../cannot-run.js';
import { isAlreadyExists, isNotFound } from '../kube/api-error.js';
import { configMaps } from '../kube/resource-type.js';
import type { Session } from './session.js';

export const defaultName = 'kubelet-config';
export const defaultKey = 'kubelet';

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
  immutable?: boolean;
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

export function sourceOf(configMap: ConfigMap, key: string): NodeConfigSource {
  const { namespace = '', name } = configMap.metadata;
  return { configMap: { namespace, name, kubeletConfigKey: key } };
}

/** Creates it unless it is there. Another content under the same name is refused: somebody else's, since the name is a hash. */
export async function ensureConfigMap(
  { client }: Session,
  configMap: ConfigMap,
  { dryRun = false } = {},
): Promise<{ created: boolean; configMap: ConfigMap }> {
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
  return { created: false, configMap: present };
}

function sameContent(a: ConfigMap, b: ConfigMap): boolean {
  const content = ({ data = {}, binaryData = {} }: ConfigMap) =>
    JSON.stringify([Object.entries(data).sort(), Object.entries(binaryData).sort()]);
  return content(a) === content(b);
}

/** Takes back what this run made and nobody uses. */
export async function removeConfigMap({ client }: Session, { metadata }: ConfigMap): Promise<void> {
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
  source: SourceName;
}

export async function readPayload({ client }: Session, source: SourceName): Promise<Payload> {
  const { namespace, name, key } = source;
  const configMap = await client.get<ConfigMap>(configMaps, { namespace, name });
  const { uid, resourceVersion } = configMap.metadata;
  const text = Object.hasOwn(configMap.data ?? {}, key) ? configMap.data![key] : undefined;
  if (text === undefined) throw new CannotRun(`ConfigMap ${namespace}/${name} has no key '${key}'${keysOf(configMap)}`);
  const exact = { namespace, name, key, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
  return { text, configMap, source: exact };
}

/** `NAME` or `NAMESPACE/NAME`, and the key that is meant: the one asked for, the only one, or `kubelet`. */
export async function findConfigMap(session: Session, word: string, askedKey: string | undefined): Promise<Payload> {
  const slash = word.indexOf('/');
  const namespace = slash < 0 ? session.namespace : word.slice(0, slash);
  const name = word.slice(slash + 1);
  if (checkDnsLabel(namespace).length > 0 || checkDnsSubdomain(name).length > 0)
    throw new CannotRun(`'${word}' cannot be the name of a ConfigMap: write NAME or NAMESPACE/NAME`);
  const configMap = await session.client.get<ConfigMap>(configMaps, { namespace, name });
  const keys = Object.keys(configMap.data ?? {});
  const key = askedKey ?? (keys.length === 1 ? keys[0]! : defaultKey);
  if (!keys.includes(key))
    throw new CannotRun(
      `ConfigMap ${namespace}/${name} has no key '${key}'${keysOf(configMap)}; choose one with --key`,
    );
  const { uid, resourceVersion } = configMap.metadata;
  const source = { namespace, name, key, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
  return { text: configMap.data![key]!, configMap, source };
}

function keysOf({ data = {}, binaryData = {} }: ConfigMap): string {
  const keys = [...Object.keys(data), ...Object.keys(binaryData).map((key) => `${key} (binary)`)];
  return keys.length === 0 ? ': it is empty' : ` (it has ${keys.join(', ')})`;
}
