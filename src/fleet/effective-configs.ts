/**
 * Reads the effective config of every node, for `relet inventory` and `relet audit`: from the report of its agent, else from its
 * kubelet, /configz through the API server's proxy, which needs `get` on nodes/proxy. Nodes that cannot be read are returned with the
 * reason. Nothing is written. Equal documents of thousands of nodes are kept once.
 */
import { createHash } from 'node:crypto';
import { formatRef, refOf, sameConfig } from '../api/config-ref.js';
import { readLocalConfig } from '../api/local-config.js';
import { claimOf } from '../api/node-annotations.js';
import { type KubeletFlag, type NodeConfig, nodeConfigs } from '../api/node-config.js';
import type { KubeObject } from '../api/object.js';
import { ApiError, isForbidden, isNotFound } from '../api/status.js';
import { CannotRun } from '../cannot-run.js';
import { DecodeError } from '../config/decode.js';
import { encode } from '../config/encode.js';
import { newestMinor, parseMinor } from '../config/model.js';
import { isObject, jsonText } from '../json.js';
import { nodes, resourcePath } from '../kube/resource-type.js';
import { byName } from '../natural-order.js';
import { shorten } from '../shorten.js';
import { oneLine } from '../visible-text.js';
import { agentPresence, agentSigns } from './agent-presence.js';
import { type Cluster, readPayload } from './config-maps.js';
import {
  documentFromConfigz,
  documentFromReport,
  type EffectiveDocument,
  type Own,
  type ReadDocument,
} from './effective-document.js';

export interface FleetNode {
  name: string;
  labels: Record<string, string>;
  kubeletVersion: string;
  /** The set that has claimed it. */
  set?: string;
  /** Id of its document. */
  document: string;
  /** Values of this node alone: providerID. */
  own: Own;
}

export interface Unread extends Omit<FleetNode, 'document' | 'own'> {
  reason: string;
  missing?: MissingRight;
}

/** The right with which the node could be read. */
export type MissingRight = 'nodes/proxy' | { configMapsIn: string };

export interface EffectiveFleet {
  nodes: FleetNode[];
  unread: Unread[];
  documents: Map<string, EffectiveDocument>;
}

export interface ReadOptions {
  /** Has NodeConfigs. */
  hasAgents: boolean;
  nowMs: number;
  selector?: string | undefined;
  /** Only these; all when empty. */
  names?: readonly string[];
  /** Timeout for one kubelet, each try. Default 10 s. */
  timeoutMs?: number;
  /** Limit for all distinct answers and reports together. Default 256 MiB: 15,000 configs of 8 KiB are 120 MiB. */
  mostBytesOfAll?: number;
  onProgress?(done: number, of: number): void;
}

/** Requests to kubelets at the same time. */
const mostAtOnce = 32;
const mostTries = 3;
const mostBytes = 1024 * 1024;
const longestReason = 300;

/** Memory that is left for distinct configs. */
class Room {
  #left: number;

  constructor(bytes = 256 * 1024 * 1024) {
    this.#left = bytes;
  }

  hasTaken(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }
}

interface Node extends KubeObject {
  status?: { nodeInfo?: { kubeletVersion?: string } };
}

type Listed = Omit<Unread, 'reason' | 'missing'>;

/** Throws if the nodes cannot be listed; a node that cannot be read is in `unread`. */
export async function readEffectiveConfigs(cluster: Cluster, options: ReadOptions): Promise<EffectiveFleet> {
  const fleet: EffectiveFleet = { nodes: [], unread: [], documents: new Map() };
  const listed = await listNodes(cluster, options);
  const room = new Room(options.mostBytesOfAll);
  const take = (node: Listed, { document, own }: ReadDocument) => {
    if (!fleet.documents.has(document.id)) fleet.documents.set(document.id, document);
    fleet.nodes.push({ ...node, document: document.id, own });
  };
  const withheld = options.hasAgents
    ? await readReports(cluster, listed, { ...options, room, take })
    : new Map<string, string>();
  const forbidden = (node: Listed) => fleet.unread.push(forbiddenNode(node, withheld.get(node.name)));
  const failed = (node: Listed, reason: string) => fleet.unread.push({ ...node, reason });
  await askKubelets(cluster, listed, { ...options, room, take, forbidden, failed });
  fleet.nodes.sort(byName);
  fleet.unread.sort(byName);
  return fleet;
}

/** By name; a node leaves the map once it was read. */
async function listNodes(
  { client, signal }: Cluster,
  { selector, names = [] }: ReadOptions,
): Promise<Map<string, Listed>> {
  const listed = new Map<string, Listed>();
  const add = ({ metadata, status }: Node) => {
    const labels = Object.entries(metadata.labels ?? {}).map(([key, value]) => [oneLine(key), oneLine(value)]);
    listed.set(metadata.name, {
      name: metadata.name,
      labels: Object.fromEntries(labels) as Record<string, string>,
      kubeletVersion: oneLine(status?.nodeInfo?.kubeletVersion ?? ''),
    });
  };
  for (const name of new Set(names)) add(await client.get<Node>(nodes, { name }, { signal }));
  if (names.length > 0) return listed;
  const scope = selector === undefined ? {} : { labelSelector: selector };
  for await (const { items } of client.pages<Node>(nodes, { ...scope, signal, omitLists: ['images'] }))
    for (const item of items) add(item);
  return listed;
}

interface Reading {
  room: Room;
  take(node: Listed, read: ReadDocument): void;
}

/**
 * Nodes whose agent reports nothing usable stay in the map. Returns those whose config may not be read, with the namespace of its
 * ConfigMap.
 */
async function readReports(
  cluster: Cluster,
  listed: Map<string, Listed>,
  { nowMs, names = [], room, take }: ReadOptions & Reading,
): Promise<Map<string, string>> {
  const { client, signal } = cluster;
  const withheld = new Map<string, string>();
  const known = new Map<string, ReturnType<typeof reportedDocument>>();
  const one = async (object: NodeConfig) => {
    const node = listed.get(object.metadata.name);
    if (node === undefined) return;
    const set = claimOf(object)?.set;
    if (set !== undefined) node.set = oneLine(set);
    const report = usableReport(object, nowMs);
    if (report === undefined) return;
    const minor = parseMinor(node.kubeletVersion) ?? newestMinor;
    const text = jsonText([minor, report.local, report.flags, object.status?.config?.active]);
    const key = createHash('sha256').update(text).digest('base64');
    if (!known.has(key) && room.hasTaken(text.length)) known.set(key, reportedDocument(cluster, object, report, minor));
    const read = await known.get(key);
    if (read === undefined) return;
    if ('configMapsIn' in read) withheld.set(node.name, read.configMapsIn);
    else {
      listed.delete(node.name);
      take(node, read);
    }
  };
  if (names.length > 0)
    for (const name of [...listed.keys()])
      try {
        await one(await client.get<NodeConfig>(nodeConfigs, { name }, { signal }));
      } catch (error) {
        if (!isNotFound(error) && !isForbidden(error)) throw error;
      }
  else
    try {
      for await (const { items } of client.pages<NodeConfig>(nodeConfigs, { signal }))
        for (const item of items) await one(item);
    } catch (error) {
      // A user who may not list NodeConfigs may still have access to the kubelets.
      if (!isForbidden(error)) throw error;
    }
  return withheld;
}

interface Report {
  local: NonNullable<ReturnType<typeof readLocalConfig>['local']>;
  flags: KubeletFlag[];
}

/** A silent agent may have reported something that is no longer so. */
function usableReport(object: NodeConfig, nowMs: number): Report | undefined {
  if (agentPresence(agentSigns(object), nowMs).kind !== 'Present') return undefined;
  const { local } = readLocalConfig(object.status?.localConfig);
  const flags: unknown = object.status?.kubeletFlags;
  if (local === undefined || !Array.isArray(flags) || !flags.every(isFlag)) return undefined;
  return { local, flags };
}

const isFlag = (flag: unknown): flag is KubeletFlag =>
  isObject(flag) && typeof flag.name === 'string' && ['string', 'undefined'].includes(typeof flag.value);

/** Undefined if the very version that runs is no longer in the API. */
async function reportedDocument(
  cluster: Cluster,
  object: NodeConfig,
  { local, flags }: Report,
  minor: number,
): Promise<ReadDocument | Exclude<MissingRight, string> | undefined> {
  const ref = refOf(object.status?.config?.active);
  const files = local.files.map(({ path, dropIn, config }) => ({
    path,
    text: encode(config),
    ...(dropIn && { dropIn }),
  }));
  try {
    const payload = ref && (await readPayload(cluster, ref));
    if (ref && payload && !sameConfig(payload.source, ref, 'version')) return undefined;
    const active = ref && payload && { text: payload.text, name: formatRef({ ...ref }, 'short') };
    return documentFromReport({ minor, files, flags, active });
  } catch (error) {
    if (ref && isForbidden(error)) return { configMapsIn: ref.namespace };
    if (error instanceof ApiError || error instanceof CannotRun || error instanceof DecodeError) return undefined;
    throw error;
  }
}

interface Unreadable {
  forbidden(node: Listed): void;
  failed(node: Listed, reason: string): void;
}

async function askKubelets(
  cluster: Cluster,
  listed: ReadonlyMap<string, Listed>,
  { timeoutMs = 10_000, onProgress, room, ...on }: ReadOptions & Reading & Unreadable,
): Promise<void> {
  const left = [...listed.values()];
  const known = new Map<string, EffectiveDocument>();
  let [next, done, isForbiddenToAll] = [0, 0, false];
  const one = async (node: Listed): Promise<void> => {
    if (isForbiddenToAll) return on.forbidden(node);
    try {
      on.take(node, await askKubelet(cluster, node, { timeoutMs, known, room }));
    } catch (error) {
      cluster.signal.throwIfAborted();
      if (!isForbidden(error)) return on.failed(node, reasonOf(error));
      isForbiddenToAll = true;
      on.forbidden(node);
    }
  };
  const worker = async () => {
    for (let node = left[next++]; node !== undefined; node = left[next++]) {
      await one(node);
      onProgress?.(++done, left.length);
    }
  };
  await Promise.all(Array.from({ length: Math.min(mostAtOnce, left.length) }, worker));
}

function forbiddenNode(node: Listed, configMapsIn: string | undefined): Unread {
  if (configMapsIn === undefined)
    return {
      ...node,
      missing: 'nodes/proxy',
      reason: "no agent reports it, and 'get' on nodes/proxy is forbidden",
    };
  const reason = `'get' on ConfigMaps in ${configMapsIn}, where its config is, is forbidden, and on nodes/proxy too`;
  return { ...node, missing: { configMapsIn }, reason };
}

/** The right that would help, the one that reaches less far first. */
export function missingRight({ unread }: EffectiveFleet): MissingRight | undefined {
  const all = unread.flatMap(({ missing }) => missing ?? []);
  return all.find((one) => one !== 'nodes/proxy') ?? all[0];
}

/** The commands with which an administrator gives the right. */
export function rightCommands(missing: MissingRight, user: string): string[] {
  const [scope, role, resource] =
    missing === 'nodes/proxy'
      ? ['', 'clusterrole', 'nodes/proxy']
      : [`-n ${missing.configMapsIn} `, 'role', 'configmaps'];
  return [
    `kubectl ${scope}create ${role} relet-look --verb=get --resource=${resource}`,
    `kubectl ${scope}create ${role}binding relet-look --${role}=relet-look --user=${user}`,
  ];
}

async function askKubelet(
  { client, signal }: Cluster,
  { name, kubeletVersion }: Listed,
  { timeoutMs, ...kept }: { timeoutMs: number } & Kept,
) {
  const path = resourcePath(nodes, { name, subresource: 'proxy/configz' });
  for (let tries = 1; ; tries++)
    try {
      const { text } = await client.raw({ method: 'GET', path, signal, timeoutMs, maxBytes: mostBytes });
      return readAnswer(text, parseMinor(kubeletVersion) ?? newestMinor, kept);
    } catch (error) {
      signal.throwIfAborted();
      if (tries === mostTries || !isTransient(error)) throw error;
      await client.clock.sleep(200 * 2 ** tries, signal);
    }
}

interface Kept {
  known: Map<string, EffectiveDocument>;
  room: Room;
}

/** A text that differs only in the value of its own node is decoded once. */
function readAnswer(text: string, minor: number, { known, room }: Kept) {
  const provider = /"providerID":("(?:[^"\\]|\\.)*"),?/.exec(text);
  const key = createHash('sha256')
    .update(`${minor} ${provider === null ? text : text.replace(provider[0], '')}`)
    .digest('base64');
  const before = known.get(key);
  if (before !== undefined) {
    const providerID = provider === null ? '' : (JSON.parse(provider[1]!) as string);
    return { document: before, own: providerID === '' ? {} : { providerID } };
  }
  if (!room.hasTaken(text.length))
    throw new CannotRun('the configs of other nodes use up the memory for all of them; read fewer nodes at a time');
  const read = documentFromConfigz(text, minor);
  known.set(key, read.document);
  return read;
}

/** A kubelet that restarts, a connection that broke. A proxy that hangs is not tried again: the next try would hang as long. */
const isTransient = (error: unknown): boolean =>
  error instanceof ApiError ? error.code === 429 || error.code === 502 || error.code === 503 : isBroken(error);

const isBroken = (error: unknown): boolean => error instanceof Error && error.name === 'ConnectionError';

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return shorten(oneLine(error.message), longestReason);
}
