/**
 * The configs of a node, as far as the API has them: the assigned config, the config its kubelet was started with, and its local
 * config. The agent reports the local config in the NodeConfig, and ConfigMaps hold the rest. Only if that is not enough (no
 * NodeConfig, or an earlier agent) the kubelet is queried: `/configz`, which needs `get` on nodes/proxy. Without that permission a user
 * sees less, and can still change the node.
 */
import { type ConfigRef, formatRef, refOf, sameConfig } from '../api/config-ref.js';
import { readLocalConfig } from '../api/local-config.js';
import type { KubeletFlag } from '../api/node-config.js';
import type { ConfigMap } from '../api/object.js';
import { ApiError, isForbidden } from '../api/status.js';
import { CannotRun } from '../cannot-run.js';
import { DecodeError } from '../config/decode.js';
import { encode } from '../config/encode.js';
import { anyValueOf } from '../config/flags.js';
import { type LocalFile, mergeLocal } from '../config/merge.js';
import { type KubeletConfig, type Minor, newestMinor, parseMinor } from '../config/model.js';
import { isObject } from '../json.js';
import { nodes, resourcePath } from '../kube/resource-type.js';
import type { AcceptingKubelet } from './acceptance.js';
import { type Cluster, type Payload, readPayload } from './config-maps.js';
import { readConfigz, readWritten } from './config-text.js';
import type { ConfigReferences, ConfiguredNode } from './configured-node.js';
import { documentOf, writtenLocally } from './payload.js';

/** Default: the newest known minor, if the node does not report its version. */
export function minorOf({ kubeletVersion }: Pick<ConfiguredNode, 'kubeletVersion'>): Minor {
  return parseMinor(kubeletVersion) ?? newestMinor;
}

/** The kubelet sets these when it starts, where its config does not. */
export const filledIn: ReadonlySet<string> = new Set(['tlsCertFile', 'tlsPrivateKeyFile', 'providerID']);

export interface NodeConfigs {
  node: ConfiguredNode;
  minor: Minor;
  assigned: Assigned;
  /** As written, drop-ins merged, without defaults. Undefined if it is not known. */
  local: KubeletConfig | undefined;
  /** Config that the kubelet was started with, as written: without defaults and flags. Undefined if it is not known. */
  active: KubeletConfig | undefined;
  /** The payload that it was made from; undefined: local. `gone`: the API no longer has that version. */
  activeText: string | undefined | 'gone';
  /** The files of the local config, as the agent reports them; undefined if it does not. */
  localFiles: LocalFile[] | undefined;
  /** The arguments of its kubelet, with some value in place of those that are not shown; undefined if they are not reported. */
  flags: string[] | undefined;
}

export interface Assigned {
  /** Undefined: local. */
  ref: ConfigRef | undefined;
  /** The payload; undefined for local, and where it cannot be read. */
  text: string | undefined;
  /** The object that has it, with its signatures. */
  configMap?: ConfigMap;
  /** Why it cannot be read. */
  problem?: string;
}

export interface NodeConfigReader {
  read(node: ConfiguredNode): Promise<NodeConfigs>;
  /** The running config, flags included; undefined if the kubelet cannot be queried. */
  askRunning(node: ConfiguredNode): Promise<KubeletConfig | undefined>;
  /** The same or, if the kubelet does not answer, the config it was started with. Throws if neither is known. */
  runningOrActive(node: ConfiguredNode): Promise<{ document: KubeletConfig; hasFlags: boolean }>;
}

/**
 * For one command: each ConfigMap is read once, and after a 403 no other kubelet is asked. `local`: a document that is the local
 * config of nodes that report none.
 */
export function nodeConfigReader(
  cluster: Cluster & { references: ConfigReferences },
  { local: given }: { local?: string } = {},
): NodeConfigReader {
  const payloads = new Map<string, Promise<Payload>>();
  let mayAsk = true;
  const payload = (ref: ConfigRef): Promise<Payload> => {
    const key = formatRef(ref, 'short');
    if (!payloads.has(key)) payloads.set(key, readPayload(cluster, ref));
    return payloads.get(key)!;
  };
  const askRunning = async (node: ConfiguredNode) => {
    const answer = mayAsk ? await askConfigz(cluster, node) : undefined;
    if (answer instanceof ApiError && isForbidden(answer)) mayAsk = false;
    return answer instanceof ApiError ? undefined : answer;
  };
  const read = async (node: ConfiguredNode): Promise<NodeConfigs> => {
    const minor = minorOf(node);
    const [assigned, active, reported] = await Promise.all([
      readAssigned(payload, node),
      readActive(payload, node),
      readReported(cluster, node, minor),
    ]);
    const { localFiles, flags } = reported;
    const fixed = { node, minor, assigned, activeText: active, localFiles, flags };
    const known = documents({
      active,
      local: reported.local ?? (given ? readWritten(given, minor) : undefined),
      minor,
    });
    if (known.active !== undefined) return { ...fixed, ...known };
    const running = await askRunning(node);
    const written = running && writtenLocally(running, node.pinnedByFlags ?? [], minor);
    // The running config is the local one, or else one that the API does not have: then local stays unknown.
    const local = active === undefined ? written : known.local;
    return { ...fixed, local, active: written };
  };
  return {
    read,
    askRunning,
    async runningOrActive(node) {
      const running = await askRunning(node);
      const document = running ?? (await read(node)).active;
      if (document !== undefined) return { document, hasFlags: running !== undefined };
      throw new CannotRun(
        `what ${node.name} runs with is not known: neither its NodeConfig nor a ConfigMap has it, and its kubelet cannot be asked ('get' on nodes/proxy, and a kubelet that answers on /configz). The agent of a later relet reports it; 'relet node status' on the host shows it`,
      );
    },
  };
}

function documents({
  active,
  local,
  minor,
}: {
  active: NodeConfigs['activeText'];
  local: KubeletConfig | undefined;
  minor: Minor;
}) {
  if (active === 'gone') return { local, active: undefined };
  try {
    return { local, active: documentOf(active, local, minor) };
  } catch (error) {
    if (error instanceof DecodeError) return { local, active: undefined };
    throw error;
  }
}

async function readAssigned(payload: (ref: ConfigRef) => Promise<Payload>, node: ConfiguredNode): Promise<Assigned> {
  // The spec of an unset NodeConfig was never written: the node keeps its previous assignment.
  const ref = refOf(node.unset ? node.status.assigned : node.configSource);
  if (ref === undefined) return { ref, text: undefined };
  try {
    const { text, configMap } = await payload(ref);
    return { ref, text, configMap };
  } catch (error) {
    if (!(error instanceof ApiError) && !(error instanceof CannotRun)) throw error;
    return { ref, text: undefined, problem: error.message };
  }
}

/** The very version that runs. */
async function readActive(
  payload: (ref: ConfigRef) => Promise<Payload>,
  { status }: ConfiguredNode,
): Promise<NodeConfigs['activeText']> {
  const ref = refOf(status.active);
  if (ref === undefined) return undefined;
  try {
    const { text, source } = await payload(ref);
    return sameConfig(source, ref, 'version') ? text : 'gone';
  } catch (error) {
    if (error instanceof ApiError || error instanceof CannotRun) return 'gone';
    throw error;
  }
}

/** A node writes it: a local config or flags that cannot be used are ignored. */
async function readReported(
  { references, signal }: { references: ConfigReferences; signal: AbortSignal },
  { name }: ConfiguredNode,
  minor: Minor,
): Promise<Pick<NodeConfigs, 'local' | 'localFiles' | 'flags'>> {
  const { localConfig, kubeletFlags } = await references.reportedLocal(name, { signal });
  const { local } = readLocalConfig(localConfig);
  const flags = Array.isArray(kubeletFlags) && kubeletFlags.every(isFlag) ? kubeletFlags.map(asArgument) : undefined;
  if (local === undefined) return { local: undefined, localFiles: undefined, flags };
  const localFiles = local.files.map(({ path, dropIn, config }) => ({
    path,
    text: encode(config),
    ...(dropIn && { dropIn }),
  }));
  try {
    return { local: mergeLocal({ minor, local: localFiles }).config, localFiles, flags };
  } catch (error) {
    if (error instanceof DecodeError) return { local: undefined, localFiles: undefined, flags };
    throw error;
  }
}

const isFlag = (flag: unknown): flag is KubeletFlag =>
  isObject(flag) && typeof flag.name === 'string' && ['string', 'undefined'].includes(typeof flag.value);

const asArgument = ({ name, value }: KubeletFlag): string => `--${name}=${value ?? anyValueOf(name)}`;

/** The error if the kubelet cannot be queried. */
async function askConfigz({ client, signal }: Cluster, node: ConfiguredNode): Promise<KubeletConfig | ApiError> {
  const path = resourcePath(nodes, { name: node.name, subresource: 'proxy/configz' });
  try {
    const { text } = await client.raw({ method: 'GET', path, signal });
    return readConfigz(text, minorOf(node));
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** If the local config is not known, the active one is nearest to it. */
export const kubeletOf = ({ node, local, active, minor }: NodeConfigs): AcceptingKubelet => ({
  minor,
  local: local ?? active,
  pinned: node.pinnedByFlags ?? [],
});
