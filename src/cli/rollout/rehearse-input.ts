/** Reads the input of a rehearsal: the set, and the node list from the cluster, from a file, or made up by number. */
import { parseAllDocuments } from 'yaml';
import { type ConfigRef, refOf } from '../../api/config-ref.js';
import { selectsLabels } from '../../api/label-selector.js';
import { configNamespaces, type NodeConfig, nodeConfigs } from '../../api/node-config.js';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import type { KubeObject } from '../../api/object.js';
import { selectorText } from '../../api/selector-object.js';
import { isForbidden, isNotFound } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { DecodeError } from '../../config/decode.js';
import { mergeLocal } from '../../config/merge.js';
import { newestMinor } from '../../config/model.js';
import { nodeLists } from '../../fleet/configured-node.js';
import { listFieldPolicies } from '../../fleet/field-policies.js';
import { isObject } from '../../json.js';
import { configMaps, nodes, podDisruptionBudgets, pods } from '../../kube/resource-type.js';
import { drains, type Fleet, type FleetOptions, fleetFrom, madeFleet } from '../../rehearsal/fleet.js';
import { copyOfPod } from '../../rehearsal/pods.js';
import { payloadOf } from '../../rollout/revision.js';
import type { ConnectionOptions, KubeletVersion } from '../command-line.js';
import { readBytes } from '../config/documents.js';
import { type Session, withResultSession } from '../session.js';
import { isFile, parseSet } from './plan.js';
import { mayControllerDrain } from './plan-drains.js';
import { findSet, listSets, readSet, setName } from './read-set.js';

export interface InputOptions extends ConnectionOptions {
  fromCluster?: boolean;
  /** A file. */
  nodes?: string;
  count?: number;
  kubeletVersion?: KubeletVersion;
  /** A file. */
  local?: string;
  output?: string;
}

export interface RehearsalInput {
  set: NodeConfigSet;
  fleet: Fleet;
  /** The config of the set. */
  payload: string;
  /** The rehearsal starts from a rollout in progress, or from the present configs of the nodes. */
  isFromCluster: boolean;
}

export async function readInput(word: string, options: InputOptions): Promise<RehearsalInput> {
  const { nodes: file, count, fromCluster } = options;
  if ([file !== undefined, count !== undefined, fromCluster].filter(Boolean).length > 1)
    throw new CannotRun('--from-cluster, --nodes and --count do not go together; keep one of them');
  if (options.kubeletVersion !== undefined && count === undefined)
    throw new CannotRun('--kubelet-version goes with --count; the Nodes of a cluster have their own');
  const isOffline = file !== undefined || count !== undefined;
  if (!isOffline) return fromSession(word, options);
  if (!isFile(word))
    throw new CannotRun(`'${word}' is not a file: with --nodes and --count the set is read from a file`);
  const manifests = objectsIn(word);
  const set = await parseSet(textOf(word), nameOf(word));
  const known = { set, local: localOf(options) };
  const fleet =
    file === undefined
      ? madeFleet({ ...known, count: count!, kubeletVersion: versionOf(options.kubeletVersion) })
      : fleetFrom([...nodesIn(file), ...manifests.filter(({ kind }) => kind === 'ConfigMap')], known);
  if (file === undefined) fleet.configMaps.push(...manifests.filter(({ kind }) => kind === 'ConfigMap'));
  if (options.kubeletVersion?.note !== undefined) fleet.assumptions.push(options.kubeletVersion.note);
  return { set, fleet, payload: payloadIn(set, fleet), isFromCluster: false };
}

const versionOf = (version: KubeletVersion | undefined): string => `v1.${version?.minor ?? newestMinor}.0`;

const nameOf = (file: string): string => (file === '-' ? 'standard input' : file);

/** Standard input can be read only once. */
const texts = new Map<string, string>();
function textOf(file: string, mostBytes?: number): string {
  const text = texts.get(file) ?? readBytes(file, mostBytes).toString('utf8');
  texts.set(file, text);
  return text;
}

/** A Node with its images is some 20 kB, and a list of them has the pods of the cluster too. */
const mostListBytes = 400 * 2 ** 20;

function localOf({ local: file }: InputOptions): FleetOptions['local'] {
  if (file === undefined) return undefined;
  const text = textOf(file);
  try {
    mergeLocal({ minor: newestMinor, local: [{ path: nameOf(file), text }] });
  } catch (error) {
    if (error instanceof DecodeError) throw new CannotRun(`--local: ${error.message}`);
    throw error;
  }
  return { file: nameOf(file), text };
}

/** All objects in a manifest, or in a list as kubectl prints it. */
function objectsIn(file: string): KubeObject[] {
  const documents = parseAllDocuments(textOf(file));
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error !== undefined) throw new CannotRun(`${nameOf(file)}: ${error.message.split('\n')[0]}`);
  return documents.flatMap((one) => flat(one.toJS()));
}

function flat(value: unknown): KubeObject[] {
  if (!isObject(value)) return [];
  if (Array.isArray(value.items)) return value.items.flatMap(flat);
  return typeof value.kind === 'string' && isObject(value.metadata) ? [value as KubeObject] : [];
}

function nodesIn(file: string): KubeObject[] {
  const objects = parseJson(textOf(file, mostListBytes)) ?? objectsIn(file);
  if (objects.some(({ kind }) => kind === 'Node')) return objects;
  throw new CannotRun(
    `${nameOf(file)} has no Node in it; 'kubectl get nodes,nodeconfigs -o json' prints what is needed`,
  );
}

/** JSON is read a hundred times faster than YAML, and node lists are long. */
function parseJson(text: string): KubeObject[] | undefined {
  try {
    return flat(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function payloadIn({ spec: { config }, metadata }: NodeConfigSet, { configMaps: known }: Fleet): string {
  const own = payloadOf(config);
  if (own !== undefined) return own;
  if (config.configMap === undefined)
    throw new CannotRun(`the set ${metadata.name} has no config: write overlay, whole or configMap under spec.config`);
  const { namespace, name, kubeletConfigKey } = config.configMap;
  const found = known.find((one) => one.metadata.namespace === namespace && one.metadata.name === name);
  const text = (found?.data as Record<string, string> | undefined)?.[kubeletConfigKey];
  if (typeof text === 'string') return text;
  throw new CannotRun(
    `the set ${metadata.name} has its config in the ConfigMap ${namespace}/${name}, key ${kubeletConfigKey}, which is not known here; put it into the file of the set, or use --from-cluster`,
  );
}

function fromSession(word: string, options: InputOptions): Promise<RehearsalInput> {
  return withResultSession(options, async (session) => {
    const set = isFile(word) ? await withStatus(session, word) : await readSet(session, setName(word));
    const manifests = isFile(word) ? objectsIn(word).filter(({ kind }) => kind === 'ConfigMap') : [];
    const objects = [...manifests, ...(await readCluster(session, set))];
    const mayDrain = drains(set) ? await mayControllerDrain(session) : undefined;
    const fleet = fleetFrom(objects, { set, local: localOf(options), mayDrain, hasPods: true });
    return { set, fleet, payload: payloadIn(set, fleet), isFromCluster: true };
  });
}

/** Adds the status in the cluster: finished steps of the set are not repeated. */
async function withStatus(session: Session, file: string): Promise<NodeConfigSet> {
  const set = await parseSet(textOf(file), nameOf(file));
  const { status, metadata } = (await findSet(session, set.metadata.name)) ?? {};
  const creationTimestamp = metadata?.creationTimestamp;
  return {
    ...set,
    metadata: { ...set.metadata, ...(creationTimestamp && { creationTimestamp }) },
    ...(status && { status }),
  };
}

/** Only reads. */
async function readCluster(session: Session, set: NodeConfigSet): Promise<KubeObject[]> {
  const { client, signal } = session;
  const found: KubeObject[] = [];
  const labelSelector = selectorText(set.spec.selector);
  const scope = { ...nodeLists, ...(labelSelector && { labelSelector }), signal };
  for await (const { items } of client.pages(nodes, scope))
    found.push(...items.map((item) => ({ ...item, apiVersion: 'v1', kind: 'Node' })));
  const names = new Set(found.map(({ metadata }) => metadata.name));
  const refs = new Map<string, ConfigRef>();
  for await (const { items } of client.pages<NodeConfig>(nodeConfigs, { signal }))
    for (const item of items.filter(({ metadata }) => names.has(metadata.name))) {
      found.push({ ...item, apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig' });
      const ref = refOf(item.spec?.configSource);
      if (ref !== undefined) refs.set(`${ref.namespace}/${ref.name}`, ref);
    }
  const { configMap } = set.spec.config;
  if (configMap !== undefined) refs.set(`${configMap.namespace}/${configMap.name}`, configMap);
  for (const ref of refs.values()) found.push(...(await readConfigMap(session, ref)));
  const others = (await listSets(session)).filter((one) => mayShare(one, found));
  if (drains(set)) found.push(...(await readPods(session)));
  const policies = await listFieldPolicies(client, signal);
  const kinds = (kind: string) => (one: KubeObject) => ({ ...one, apiVersion: 'relet.dev/v1alpha1', kind });
  return [
    ...found,
    ...others.map(kinds('NodeConfigSet')),
    ...(policies === 'forbidden' ? [] : policies.map(kinds('FieldPolicy'))),
  ];
}

/** Pods of all namespaces and nodes: a budget also counts pods that stay where they are. */
async function readPods({ client, signal }: Session): Promise<KubeObject[]> {
  const found: KubeObject[] = [];
  for await (const { items } of client.pages(pods, { limit: 500, omitLists: ['managedFields'], signal }))
    found.push(...items.map((item) => copyOfPod({ ...item, apiVersion: 'v1', kind: 'Pod' })));
  const { items } = await client.list(podDisruptionBudgets, { signal });
  return [...found, ...items.map((item) => ({ ...item, apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' }))];
}

/** Whether the set selects a node of the copy. */
const mayShare = ({ spec }: NodeConfigSet, found: readonly KubeObject[]): boolean =>
  found.some(({ kind, metadata }) => kind === 'Node' && selectsLabels(spec.selector, metadata.labels));

/** None if it is gone, or not readable for this person. */
async function readConfigMap(
  { client, signal }: Session,
  { namespace, name }: Pick<ConfigRef, 'namespace' | 'name'>,
): Promise<KubeObject[]> {
  if (!configNamespaces.includes(namespace)) return [];
  try {
    const object = await client.get(configMaps, { namespace, name }, { signal });
    return [{ ...object, apiVersion: 'v1', kind: 'ConfigMap' }];
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return [];
    throw error;
  }
}
