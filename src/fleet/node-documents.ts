/** The configs of a node as text, and the difference between two of them. If the API does not have one, the error says where to find it. */
import { formatRef, refOf, sameConfig } from '../api/config-ref.js';
import { isNotFound } from '../api/status.js';
import { CannotRun } from '../cannot-run.js';
import type { ImpactContext } from '../config/catalogue.js';
import { decode } from '../config/decode.js';
import { header } from '../config/header.js';
import type { KubeletConfig } from '../config/model.js';
import { asYaml } from '../go/yaml/write.js';
import { type Cluster, readPayload } from './config-maps.js';
import { asConfigText } from './config-text.js';
import type { ConfigReferences, ConfiguredNode } from './configured-node.js';
import { filledIn, minorOf, nodeConfigReader } from './node-configs.js';
import { type FieldChange, previewChanges } from './preview.js';

export const documentNames = ['assigned', 'active', 'lastKnownGood', 'local', 'effective'] as const;
export type DocumentName = (typeof documentNames)[number];

interface Document {
  text: string;
  /** Without the kubelet's flags, because the kubelet cannot be queried. */
  withoutFlags?: true;
}

type Reader = Cluster & { references: ConfigReferences };

const onHost: Record<'assigned' | 'active' | 'lastKnownGood', string> = {
  assigned: 'relet node view assigned',
  active: 'relet node view active',
  lastKnownGood: 'relet node view last-known-good',
};

/** Throws with the way to it where the API does not have it. */
export async function nodeDocument(cluster: Reader, node: ConfiguredNode, which: DocumentName): Promise<Document> {
  if (which === 'effective') return effectiveText(cluster, node);
  const source = which === 'local' ? undefined : sourceOf(node, which);
  if (which === 'local' || source === undefined) return localText(cluster, node);
  try {
    const payload = await readPayload(cluster, source);
    const isThatVersion = source.resourceVersion === undefined || sameConfig(payload.source, source, 'version');
    if (isThatVersion) return { text: payload.text };
    throw new CannotRun(
      `${formatRef(source, 'short')} was changed since ${node.name} took it, the API no longer has that version; '${onHost[which]}' on the host prints it`,
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new CannotRun(
      `${formatRef(source, 'short')} is gone from the API; '${onHost[which]}' on the host of ${node.name} prints it`,
    );
  }
}

const sourceOf = ({ status, configSource }: ConfiguredNode, which: 'assigned' | 'active' | 'lastKnownGood') =>
  refOf(status[which]) ?? (which === 'assigned' ? refOf(configSource) : undefined);

async function effectiveText(cluster: Reader, node: ConfiguredNode): Promise<Document> {
  const { document, hasFlags } = await nodeConfigReader(cluster).runningOrActive(node);
  return { text: asConfigText(document, minorOf(node)), ...(!hasFlags && { withoutFlags: true as const }) };
}

async function localText(cluster: Reader, node: ConfiguredNode): Promise<Document> {
  const { local, minor } = await nodeConfigReader(cluster).read(node);
  if (local !== undefined) return { text: asConfigText(local, minor) };
  throw new CannotRun(
    `the local config of ${node.name} is a file on that host, and its agent does not report it; look at the kubelet's --config there ('relet node status' on the host shows what runs)`,
  );
}

/** By meaning. What a kubelet fills in by itself when it starts is not a difference. */
export function documentChanges({ before, after, minor, facts }: Required<ImpactContext>): FieldChange[] {
  const read = (document: KubeletConfig) => decode(asYaml({ ...document, ...header }), { minor, strict: false }).config;
  return previewChanges({ before: read(before), after: read(after), minor, facts }).changes.filter(
    ({ path, after: to }) => !(filledIn.has(path) && to === ''),
  );
}
