/**
 * The configs of a node, as far as the API shows them: what it is assigned, what its kubelet was started with, and its local config.
 * The agent reports the local config in the NodeConfig, and ConfigMaps hold the rest. Only where that is not enough, on a Node
 * without a NodeConfig or with an earlier agent, the kubelet is asked (`/configz`, which needs `get` on nodes/proxy); who may not do
 * that sees less, and can change the node all the same. And the errors that the node's kubelet would have with another text.
 */
import { type ConfigRef, formatRef, refOf, sameConfig } from '../api/config-ref.js';
import type { KubeletFlag, LocalConfig } from '../api/node-config.js';
import { ApiError, isForbidden } from '../api/status.js';
import { CannotRun } from '../cannot-run.js';
import { check } from '../config/check.js';
import { checkOverlay } from '../config/check-overlay.js';
import { DecodeError } from '../config/decode.js';
import { encode } from '../config/encode.js';
import { anyValueOf } from '../config/flags.js';
import { type LocalFile, mergeLocal } from '../config/merge.js';
import { type Finding, type KubeletConfig, type Minor, newestMinor, parseMinor } from '../config/model.js';
import { decodeOverlay, isOverlay } from '../config/overlay.js';
import { withSetting } from '../config/set-field.js';
import { isObject } from '../json.js';
import { nodes, resourcePath } from '../kube/resource-type.js';
import { type Cluster, type Payload, readPayload } from './config-maps.js';
import { asConfigText, readConfigz, readWritten } from './config-text.js';
import type { ConfigReferences, ConfiguredNode } from './configured-node.js';
import { documentOf, localFile, writtenLocally } from './payload.js';

/** The newest known where the node does not say. */
export function minorOf({ kubeletVersion }: Pick<ConfiguredNode, 'kubeletVersion'>): Minor {
  return parseMinor(kubeletVersion) ?? newestMinor;
}

/** The kubelet sets these when it starts, where its config does not. */
export const filledIn: ReadonlySet<string> = new Set(['tlsCertFile', 'tlsPrivateKeyFile', 'providerID']);

export interface NodeConfigs {
  node: ConfiguredNode;
  minor: Minor;
  assigned: Assigned;
  /** As written, drop-ins merged, without defaults. Undefined where it is not known. */
  local: KubeletConfig | undefined;
  /** What the kubelet was started with, as written: without defaults and flags. Undefined where it is not known. */
  active: KubeletConfig | undefined;
  /** The payload that it was made from; undefined: local. `gone`: the API no longer has that version. */
  activeText: string | undefined | 'gone';
  /** The files of the local config, as the agent reports them; undefined where it does not. */
  localFiles: LocalFile[] | undefined;
  /** The arguments of its kubelet, with some value in place of those that are not shown; undefined where they are not reported. */
  flags: string[] | undefined;
}

export interface Assigned {
  /** Undefined: local. */
  ref: ConfigRef | undefined;
  /** The payload; undefined for local, and where it cannot be read. */
  text: string | undefined;
  /** Why it cannot be read. */
  problem?: string;
}

export interface NodeConfigReader {
  read(node: ConfiguredNode): Promise<NodeConfigs>;
  /** What runs, flags included; undefined where the kubelet cannot be asked. */
  askRunning(node: ConfiguredNode): Promise<KubeletConfig | undefined>;
  /** The same or, where the kubelet cannot be asked, what it was started with. Throws where neither is known. */
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
    // What runs is the local config, or else something that the API does not have: then local stays unknown.
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
  // Nobody has written the spec of an unset NodeConfig: the node keeps what it was assigned before.
  const ref = refOf(node.unset ? node.status.assigned : node.configSource);
  if (ref === undefined) return { ref, text: undefined };
  try {
    return { ref, text: (await payload(ref)).text };
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

/** A node writes it: what cannot be a config, or flags, is not believed. */
async function readReported(
  { references, signal }: { references: ConfigReferences; signal: AbortSignal },
  { name }: ConfiguredNode,
  minor: Minor,
): Promise<Pick<NodeConfigs, 'local' | 'localFiles' | 'flags'>> {
  const { localConfig, kubeletFlags } = await references.reportedLocal(name, { signal });
  const flags = Array.isArray(kubeletFlags) && kubeletFlags.every(isFlag) ? kubeletFlags.map(asArgument) : undefined;
  const files = isObject(localConfig) ? localConfig.files : undefined;
  if (!Array.isArray(files) || !files.every(isLocalFile)) return { local: undefined, localFiles: undefined, flags };
  const localFiles = files.map(({ path, dropIn, config }) => ({
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

const isLocalFile = (file: unknown): file is LocalConfig['files'][number] =>
  isObject(file) && typeof file.path === 'string' && isObject(file.config);

/** The error where the kubelet cannot be asked. */
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

/**
 * The errors of a text for this node's kubelet, with their lines. Not those that its local config has alone, since the kubelet runs
 * with that; nor those about fields that a flag sets, since the flag wins.
 */
export function errorsIn({ node, local: known, active, minor }: NodeConfigs, text: string): Finding[] {
  // Where the local config is not known, what runs is nearest to it.
  const local = known ?? active;
  const errors = errorsOf(text, local, minor);
  if (errors.length === 0) return errors;
  const isIn = (others: Finding[]) => (error: Finding) =>
    others.some(({ path, message }) => error.path === path && error.message === message);
  const ofLocal = isOverlay(text) && local ? errorsOf(asConfigText(local, minor), undefined, minor) : [];
  const found = errors.filter((error) => !isIn(ofLocal)(error));
  const pinned = node.pinnedByFlags ?? [];
  if (found.length === 0 || pinned.length === 0) return found;
  try {
    const document = documentOf(text, local, minor);
    if (document === undefined) return found;
    const rest = pinned.reduce((one, path) => withSetting(one, { path: path.split('.'), value: undefined }), document);
    return found.filter(isIn(errorsOf(asConfigText(rest, minor), local, minor)));
  } catch (error) {
    if (error instanceof DecodeError) return found;
    throw error;
  }
}

/** Without the local config of a node only an overlay itself can be checked. */
function errorsOf(text: string, local: KubeletConfig | undefined, minor: number): Finding[] {
  const found = !isOverlay(text)
    ? check(text, { minor }).findings
    : local === undefined
      ? decodeErrors(text, minor)
      : checkOverlay(text, { minor, local: [localFile(local)] }).findings;
  return found.filter(({ severity }) => severity === 'error');
}

function decodeErrors(text: string, minor: number): Finding[] {
  try {
    return decodeOverlay(text, { minor, strictKeys: true }).findings;
  } catch (error) {
    if (error instanceof DecodeError) return error.findings;
    throw error;
  }
}

export const errorLines = (errors: readonly Finding[]): string =>
  errors
    .map(
      ({ path, message, remedy }) => `  ${path === '' ? '' : `${path}: `}${message}${remedy ? `\n    ${remedy}` : ''}`,
    )
    .join('\n');
