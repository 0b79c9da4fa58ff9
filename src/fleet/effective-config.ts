/** What a node runs with now: its kubelet's `/configz` through the API server; where that is shut, its active ConfigMap. */
import { dirname } from 'node:path';
import { refOf, sameConfig } from '../api/config-ref.js';
import { CannotRun } from '../cannot-run.js';
import { decode } from '../config/decode.js';
import { diff } from '../config/diff.js';
import { getField, type KubeletConfig, type Minor, newestMinor, parseMinor } from '../config/model.js';
import { withSetting } from '../config/set-field.js';
import { withoutDefaults } from '../config/without-defaults.js';
import { asYaml } from '../go/yaml/write.js';
import { ApiError } from '../kube/api-error.js';
import { nodes, resourcePath } from '../kube/resource-type.js';
import { type Cluster, type Payload, readPayload } from './config-maps.js';
import { type RunningConfig, readConfigz } from './config-text.js';
import type { ConfiguredNode } from './configured-node.js';

/** The newest known where the node does not say. */
export function minorOf({ kubeletVersion }: Pick<ConfiguredNode, 'kubeletVersion'>): Minor {
  return parseMinor(kubeletVersion) ?? newestMinor;
}

interface Effective {
  text: string;
  /** Where the kubelet could be asked. */
  running?: KubeletConfig;
}

/** Throws when neither way leads there, with the reason and what to do. */
export async function readEffective(cluster: Cluster, node: ConfiguredNode): Promise<Effective> {
  const configz = await askConfigz(cluster, node);
  if (!(configz instanceof ApiError)) return { text: asYaml(configz.document), running: configz.document };
  const active = await readActive(cluster, node);
  if (active === undefined) throw unreadable(node, configz);
  return { text: active.text };
}

export const unreadable = (node: ConfiguredNode, { message }: ApiError): CannotRun =>
  new CannotRun(
    `cannot read what ${node.name} runs with (${message}), and no ConfigMap has it either; it needs 'get' on nodes/proxy and a kubelet that answers. Or write the config to a file, then 'relet push FILE' and 'relet assign'`,
  );

/** The error where the kubelet cannot be asked. */
export async function askConfigz({ client, signal }: Cluster, node: ConfiguredNode): Promise<RunningConfig | ApiError> {
  const path = resourcePath(nodes, { name: node.name, subresource: 'proxy/configz' });
  try {
    const { text } = await client.raw({ method: 'GET', path, signal });
    return readConfigz(text, minorOf(node));
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** What runs now; undefined where the kubelet cannot be asked. */
export async function askRunning(cluster: Cluster, node: ConfiguredNode): Promise<KubeletConfig | undefined> {
  const configz = await askConfigz(cluster, node);
  return configz instanceof ApiError ? undefined : configz.document;
}

/** The very version that runs; undefined when it is local, or the API has it no longer. */
export async function readActive(cluster: Cluster, { status }: ConfiguredNode): Promise<Payload | undefined> {
  const source = refOf(status.active);
  if (source === undefined) return undefined;
  try {
    const payload = await readPayload(cluster, source);
    return sameConfig(payload.source, source, 'version') ? payload : undefined;
  } catch (error) {
    if (error instanceof ApiError || error instanceof CannotRun) return undefined;
    throw error;
  }
}

export interface PinnedField {
  path: string;
  /** What the config says, and what runs nevertheless. */
  said: unknown;
  runs: unknown;
}

/** The kubelet sets these when it starts, where its config does not. */
export const filledIn: ReadonlySet<string> = new Set(['tlsCertFile', 'tlsPrivateKeyFile', 'providerID']);

export function pinnedFields(text: string, running: KubeletConfig, minor: Minor): PinnedField[] {
  const read = (document: string) => decode(document, { minor, strict: false }).config;
  return diff(read(text), read(asYaml(running)), minor)
    .filter(({ path, before }) => !(filledIn.has(path) && before === ''))
    .map(({ path, before, after }) => ({ path, said: before, runs: after }));
}

/** Whether a change at this path, `evictionHard[memory.available]`, is one of that field. */
const isWithin = (path: string, field: string): boolean =>
  path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);

/** Of what would change, what a flag keeps as it is. */
export const isPinned = (path: string, pinned: readonly PinnedField[]): boolean =>
  pinned.some((field) => isWithin(path, field.path));

/** Where the node does not tell, known only while a ConfigMap is active and the API still has that version of it. */
export async function pinnedNow(
  cluster: Cluster,
  node: ConfiguredNode,
  running: KubeletConfig,
): Promise<PinnedField[]> {
  const active = await readActive(cluster, node);
  if (node.pinnedByFlags !== undefined) {
    const said = active && decode(active.text, { minor: minorOf(node), strict: false }).config;
    return node.pinnedByFlags.map((path) => ({
      path,
      said: said && getField(said, path),
      runs: getField(running, path),
    }));
  }
  return active === undefined ? [] : pinnedFields(active.text, running, minorOf(node));
}

/** The kubelet's own --cert-dir, unless a flag says otherwise. */
const defaultCertDir = '/var/lib/kubelet/pki';

export interface WrittenLocally {
  document: KubeletConfig;
  /** Left out for their names alone: a local config could name the same files. */
  assumed: string[];
}

export function writtenLocally(running: KubeletConfig, pinned: readonly string[], minor: Minor): WrittenLocally {
  const pair = ownCertificate(running);
  // Gates of a flag are merged into those of the file, and the API does not show which are which.
  const hostOnly = ['providerID', ...pair, ...pinned.filter((path) => path !== 'featureGates')];
  const document = hostOnly
    .filter((path) => getField(running, path) !== undefined)
    .reduce((kept, path) => withSetting(kept, { path: path.split('.'), value: undefined }), running);
  const isAssumed = pair.length > 0 && dirname(String(running.tlsCertFile)) !== defaultCertDir;
  return { document: withoutDefaults(document, minor), assumed: isAssumed ? pair : [] };
}

/** Where no certificate is named, the kubelet makes kubelet.crt and kubelet.key in its --cert-dir and names those. */
function ownCertificate({ tlsCertFile, tlsPrivateKeyFile }: KubeletConfig): string[] {
  const [cert, key] = [String(tlsCertFile ?? ''), String(tlsPrivateKeyFile ?? '')];
  const isOwn = cert.endsWith('/kubelet.crt') && key === cert.replace(/crt$/, 'key');
  return isOwn ? ['tlsCertFile', 'tlsPrivateKeyFile'] : [];
}
