/** What a node runs with now: its kubelet's `/configz` through the API server; where that is shut, its active ConfigMap. */
import { sameExactSource, sourceName } from '../api/config-state.js';
import { CannotRun } from '../cannot-run.js';
import { type KubeletConfig, type Minor, newestMinor, parseMinor } from '../config/model.js';
import type { ConfiguredNode } from '../fleet/config-references.js';
import { ApiError } from '../kube/api-error.js';
import { nodes, resourcePath } from '../kube/resource-type.js';
import { type Payload, readPayload } from './config-maps.js';
import { type RunningConfig, readConfigz } from './config-text.js';
import type { Session } from './session.js';
import { asYaml } from './yaml-text.js';

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
export async function readEffective(session: Session, node: ConfiguredNode): Promise<Effective> {
  const configz = await askConfigz(session, node);
  if (!(configz instanceof ApiError)) return { text: asYaml(configz.document), running: configz.document };
  const active = await readActive(session, node);
  if (active === undefined) throw unreadable(node, configz);
  return { text: active.text };
}

export const unreadable = (node: ConfiguredNode, { message }: ApiError): CannotRun =>
  new CannotRun(
    `cannot read what ${node.name} runs with (${message}), and no ConfigMap has it either; it needs 'get' on nodes/proxy and a kubelet that answers. Or write the config to a file, then 'relet push FILE' and 'relet assign'`,
  );

/** The error where the kubelet cannot be asked. */
export async function askConfigz({ client, signal }: Session, node: ConfiguredNode): Promise<RunningConfig | ApiError> {
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
export async function askRunning(session: Session, node: ConfiguredNode): Promise<KubeletConfig | undefined> {
  const configz = await askConfigz(session, node);
  return configz instanceof ApiError ? undefined : configz.document;
}

/** The very version that runs; undefined when it is local, or the API has it no longer. */
export async function readActive(session: Session, { status }: ConfiguredNode): Promise<Payload | undefined> {
  const source = sourceName(status.active);
  if (source === undefined) return undefined;
  try {
    const payload = await readPayload(session, source);
    return sameExactSource(payload.source, source) ? payload : undefined;
  } catch (error) {
    if (error instanceof ApiError || error instanceof CannotRun) return undefined;
    throw error;
  }
}
