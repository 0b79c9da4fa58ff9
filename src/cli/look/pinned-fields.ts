/**
 * Which fields the flags of a node's kubelet pin. The API does not show flags; it shows what runs (`/configz`) and what the
 * config says, and where the two differ a flag has won.
 */
import { decode } from '../../config/decode.js';
import { diff } from '../../config/diff.js';
import { getField, type KubeletConfig, type Minor } from '../../config/model.js';
import type { ConfiguredNode } from '../../fleet/config-references.js';

import { minorOf, readActive } from '../effective-config.js';
import type { Session } from '../session.js';
import { asYaml } from '../yaml-text.js';

export interface PinnedField {
  path: string;
  /** What the config says, and what runs nevertheless. */
  said: unknown;
  runs: unknown;
}

/** The kubelet fills these in by itself when it starts, where nothing is said. */
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
  session: Session,
  node: ConfiguredNode,
  running: KubeletConfig,
): Promise<PinnedField[]> {
  const active = await readActive(session, node);
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
