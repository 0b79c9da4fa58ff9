/** `relet view NODE`: one of the configs of a node as text; what the API does not have, it says where to find. */

import { formatRef, refOf, sameConfig } from '../../api/config-ref.js';
import { CannotRun } from '../../cannot-run.js';
import { encode } from '../../config/encode.js';
import { readPayload } from '../../fleet/config-maps.js';
import { readWritten } from '../../fleet/config-text.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { minorOf, readEffective } from '../../fleet/effective-config.js';
import { isNotFound } from '../../kube/api-error.js';
import type { ConnectionOptions } from '../command-line.js';
import { nodeName, type Session, withSession } from '../session.js';

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
    session.terminal.printDocument(options.output === 'json' ? encode(readWritten(text, minorOf(node))) : text);
  });

const onHost: Record<'assigned' | 'active' | 'lastKnownGood', string> = {
  assigned: 'relet node view assigned',
  active: 'relet node view active',
  lastKnownGood: 'relet node view last-known-good',
};

/** Throws with the way to it where the API does not have it. */
export async function textOf(session: Session, node: ConfiguredNode, which: Which): Promise<string> {
  if (which === 'effective') return (await readEffective(session, node)).text;
  if (which === 'local')
    throw new CannotRun(
      `the local config of ${node.name} is a file on that host, the API does not have it; look at the kubelet's --config there ('relet node status' on the host shows what runs)`,
    );
  const source = refOf(node.status[which]) ?? (which === 'assigned' ? refOf(node.configSource) : undefined);
  if (source === undefined)
    throw new CannotRun(
      `${node.name}: its ${words[which]} config is the local one, a file on that host; the API does not have it`,
    );
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

const words = { assigned: 'assigned', active: 'active', lastKnownGood: 'last known good' };
