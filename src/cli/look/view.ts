/** `relet view NODE`: one of the configs of a node as text; what the API does not have, it says where to find. */

import { formatRef, refOf, sameConfig } from '../../api/config-ref.js';
import { CannotRun } from '../../cannot-run.js';
import { encode } from '../../config/encode.js';
import type { Minor } from '../../config/model.js';
import { isOverlay, overlayHeader } from '../../config/overlay.js';
import { readPayload } from '../../fleet/config-maps.js';
import { asConfigText, readWritten } from '../../fleet/config-text.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { minorOf, nodeConfigReader } from '../../fleet/node-configs.js';
import { readOverlay } from '../../fleet/payload.js';
import { isNotFound } from '../../kube/api-error.js';
import type { ConnectionOptions } from '../command-line.js';
import { nodeName, type Session, withSession } from '../session.js';
import { printError } from '../terminal/terminal.js';

export type Which = 'assigned' | 'active' | 'lastKnownGood' | 'local' | 'effective';

export interface ViewOptions extends ConnectionOptions {
  assigned?: boolean;
  active?: boolean;
  lastKnownGood?: boolean;
  local?: boolean;
  effective?: boolean;
  output?: 'json';
}

export const view = (name: string, options: ViewOptions): Promise<void> =>
  withSession(options, async (session) => {
    const asked = (['assigned', 'active', 'lastKnownGood', 'local', 'effective'] as const).filter(
      (one) => options[one],
    );
    if (asked.length > 1) throw new CannotRun('one config at a time: keep one of the options');
    const node = await session.references.get(nodeName(name), { signal: session.signal });
    const text = await textOf(session, node, asked[0] ?? 'effective');
    session.terminal.printDocument(options.output === 'json' ? asJson(text, minorOf(node)) : text);
  });

const asJson = (text: string, minor: Minor): string =>
  encode(isOverlay(text) ? { ...overlayHeader, ...readOverlay(text, minor) } : readWritten(text, minor));

const onHost: Record<'assigned' | 'active' | 'lastKnownGood', string> = {
  assigned: 'relet node view assigned',
  active: 'relet node view active',
  lastKnownGood: 'relet node view last-known-good',
};

/** Throws with the way to it where the API does not have it. */
export async function textOf(session: Session, node: ConfiguredNode, which: Which): Promise<string> {
  if (which === 'effective') return effectiveText(session, node);
  const source = which === 'local' ? undefined : sourceOf(node, which);
  if (which === 'local' || source === undefined) return localText(session, node);
  try {
    const payload = await readPayload(session, source);
    const isThatVersion = source.resourceVersion === undefined || sameConfig(payload.source, source, 'version');
    if (isThatVersion) return payload.text;
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

async function effectiveText(session: Session, node: ConfiguredNode): Promise<string> {
  const { document, hasFlags } = await nodeConfigReader(session).runningOrActive(node);
  if (!hasFlags)
    printError(
      `relet: flags of the kubelet are not in this: the kubelet of ${node.name} cannot be asked (nodes/proxy)`,
    );
  return asConfigText(document, minorOf(node));
}

async function localText(session: Session, node: ConfiguredNode): Promise<string> {
  const { local, minor } = await nodeConfigReader(session).read(node);
  if (local !== undefined) return asConfigText(local, minor);
  throw new CannotRun(
    `the local config of ${node.name} is a file on that host, and its agent does not report it; look at the kubelet's --config there ('relet node status' on the host shows what runs)`,
  );
}
