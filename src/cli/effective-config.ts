/** What a node runs with now: its kubelet's `/configz` through the API server; where that is shut, its active ConfigMap. */
import { sameExactSource, sourceName } from '../api/config-state.js';
import { decode } from '../config/decode.js';
import { type KubeletConfig, type Minor, newestMinor, parseMinor } from '../config/model.js';
import { ApiError } from '../kube/api-error.js';
import type { ConfiguredNode } from '../kube/config-reference.js';
import { nodes, resourcePath } from '../kube/resource-type.js';
import { CannotRun } from './cannot-run.js';
import { type Payload, readPayload } from './config-maps.js';
import { readConfigz } from './config-text.js';
import type { Session } from './session.js';
import { asYaml } from './yaml-text.js';

export interface EffectiveConfig {
  /** Without kubelet defaults filled in beyond what the origin shows. */
  document: KubeletConfig;
  text: string;
  origin: 'configz' | 'ConfigMap';
  unsayable: string[];
}

/** The newest known where the node does not say. */
export function minorOf({ kubeletVersion }: Pick<ConfiguredNode, 'kubeletVersion'>): Minor {
  return parseMinor(kubeletVersion) ?? newestMinor;
}

/** Throws when neither way leads there, with the reason and what to do. */
export async function readEffective(session: Session, node: ConfiguredNode): Promise<EffectiveConfig> {
  const minor = minorOf(node);
  let reason: string;
  try {
    const { document, unsayable } = readConfigz(await askConfigz(session, node.name), minor);
    return { document, unsayable, text: asYaml(document), origin: 'configz' };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    reason = error.message;
  }
  const active = await readActive(session, node);
  if (active === undefined)
    throw new CannotRun(
      `cannot read what ${node.name} runs with (${reason}), and no ConfigMap has it either; it needs 'get' on nodes/proxy and a kubelet that answers. Or write the config to a file, then 'relet push FILE' and 'relet assign'`,
    );
  const { config } = decode(active.text, { minor, strict: false });
  return { document: config, text: active.text, unsayable: [], origin: 'ConfigMap' };
}

async function askConfigz({ client, signal }: Session, node: string): Promise<string> {
  const path = resourcePath(nodes, { name: node, subresource: 'proxy/configz' });
  return (await client.raw({ method: 'GET', path, signal })).text;
}

/** What runs now; undefined where the kubelet cannot be asked. */
export async function askRunning(session: Session, node: ConfiguredNode): Promise<KubeletConfig | undefined> {
  try {
    return readConfigz(await askConfigz(session, node.name), minorOf(node)).document;
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
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
