/**
 * Reads the effective config of every node, for `relet inventory` and `relet audit`: from the report of its agent, else from its
 * kubelet, /configz through the API server's proxy, which needs `get` on nodes/proxy. Nodes that cannot be read are named with the
 * reason. Nothing is written. Of thousands of nodes only distinct documents are kept.
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
}

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
  onProgress?(done: number, of: number): void;
}

/** Requests to kubelets at the same time. */
const mostAtOnce = 32;
const mostTries = 3;
const mostBytes = 1024 * 1024;
const longestReason = 300;

interface Node extends KubeObject {
  status?: { nodeInfo?: { kubeletVersion?: string } };
}

type Listed = Omit<Unread, 'reason'>;

/** Throws where the nodes cannot be listed; a node that cannot be read is in `unread`. */
export async function readEffectiveConfigs(cluster: Cluster, options: ReadOptions): Promise<EffectiveFleet> {
  const fleet: EffectiveFleet = { nodes: [], unread: [], documents: new Map() };
  const listed = await listNodes(cluster, options);
  const take = (node: Listed, { document, own }: ReadDocument) => {
    if (!fleet.documents.has(document.id)) fleet.documents.set(document.id, document);
    fleet.nodes.push({ ...node, document: document.id, own });
  };
  if (options.hasAgents) await readReports(cluster, listed, options, take);
  await askKubelets(cluster, listed, options, take, (node, reason) => fleet.unread.push({ ...node, reason }));
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

type Take = (node: Listed, read: ReadDocument) => void;

/** Nodes whose agent reports nothing usable stay in the map. */
async function readReports(
  cluster: Cluster,
  listed: Map<string, Listed>,
  { nowMs, names = [] }: ReadOptions,
  take: Take,
): Promise<void> {
  const { client, signal } = cluster;
  const known = new Map<string, Promise<ReadDocument | undefined>>();
  const one = async (object: NodeConfig) => {
    const node = listed.get(object.metadata.name);
    if (node === undefined) return;
    const set = claimOf(object)?.set;
    if (set !== undefined) node.set = oneLine(set);
    const report = usableReport(object, nowMs);
    if (report === undefined) return;
    const minor = parseMinor(node.kubeletVersion) ?? newestMinor;
    const key = createHash('sha256')
      .update(jsonText([minor, report.local, report.flags, object.status?.config?.active]))
      .digest('base64');
    if (!known.has(key)) known.set(key, reportedDocument(cluster, object, report, minor));
    const read = await known.get(key)!;
    if (read === undefined) return;
    listed.delete(node.name);
    take(node, read);
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
      // Somebody who may not list them can still ask the kubelets.
      if (!isForbidden(error)) throw error;
    }
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

/** Undefined where the very version that runs is no longer in the API, or may not be read. */
async function reportedDocument(
  cluster: Cluster,
  object: NodeConfig,
  { local, flags }: Report,
  minor: number,
): Promise<ReadDocument | undefined> {
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
    if (error instanceof ApiError || error instanceof CannotRun || error instanceof DecodeError) return undefined;
    throw error;
  }
}

async function askKubelets(
  cluster: Cluster,
  listed: ReadonlyMap<string, Listed>,
  { timeoutMs = 10_000, onProgress }: ReadOptions,
  take: Take,
  leave: (node: Listed, reason: string) => void,
): Promise<void> {
  const left = [...listed.values()];
  const known = new Map<string, EffectiveDocument>();
  let [next, done, forbidden] = [0, 0, ''];
  const worker = async () => {
    for (let node = left[next++]; node !== undefined; node = left[next++]) {
      if (forbidden !== '') leave(node, forbidden);
      else
        try {
          take(node, await askKubelet(cluster, node, { timeoutMs, known }));
        } catch (error) {
          cluster.signal.throwIfAborted();
          if (isForbidden(error)) forbidden = missingRight;
          leave(node, isForbidden(error) ? missingRight : reasonOf(error));
        }
      onProgress?.(++done, left.length);
    }
  };
  await Promise.all(Array.from({ length: Math.min(mostAtOnce, left.length) }, worker));
}

export const missingRight = "no agent reports it, and 'get' on nodes/proxy is forbidden";

async function askKubelet(
  { client, signal }: Cluster,
  { name, kubeletVersion }: Listed,
  { timeoutMs, known }: { timeoutMs: number; known: Map<string, EffectiveDocument> },
) {
  const path = resourcePath(nodes, { name, subresource: 'proxy/configz' });
  for (let tries = 1; ; tries++)
    try {
      const { text } = await client.raw({ method: 'GET', path, signal, timeoutMs, maxBytes: mostBytes });
      return readAnswer(text, parseMinor(kubeletVersion) ?? newestMinor, known);
    } catch (error) {
      signal.throwIfAborted();
      if (tries === mostTries || !isTransient(error)) throw error;
      await client.clock.sleep(200 * 2 ** tries, signal);
    }
}

/** A text that differs only in the value of its own node is decoded once. */
function readAnswer(text: string, minor: number, known: Map<string, EffectiveDocument>) {
  const provider = /"providerID":("(?:[^"\\]|\\.)*"),?/.exec(text);
  const key = createHash('sha256')
    .update(`${minor} ${provider === null ? text : text.replace(provider[0], '')}`)
    .digest('base64');
  const before = known.get(key);
  if (before !== undefined)
    return { document: before, own: provider === null ? {} : { providerID: JSON.parse(provider[1]!) as string } };
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
