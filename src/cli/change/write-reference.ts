/** Writes one node's reference and its history in one request, unless another hand was on it meanwhile. */

import { formatRef, refOf, sameConfig } from '../../api/config-ref.js';
import { CannotRun } from '../../cannot-run.js';
import { withEntry } from '../../fleet/config-history.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { isConflict } from '../../kube/api-error.js';
import { rfc3339 } from '../../time.js';
import type { Session } from '../session.js';
import type { NodeChange } from './change.js';

export interface Asking {
  by: string;
  verb: string;
  why?: string;
  dryRun?: boolean;
}

/** Returns the node as written. Other writes to the same object (heartbeats, labels) are no reason to give up; another hand on the reference is. */
export async function writeReference(
  session: Session,
  { node, to }: NodeChange,
  asking: Asking,
): Promise<ConfiguredNode> {
  const before = refOf(node.configSource);
  for (let present = node, tries = 0; ; tries++) {
    if (!sameConfig(before, refOf(present.configSource), 'name'))
      throw new CannotRun(
        `${node.name} was changed by somebody else meanwhile: it is now assigned ${formatRef(refOf(present.configSource), 'short')}; look at it ('relet history ${node.name}') and try again`,
      );
    const { by, verb, why } = asking;
    const entry = { at: rfc3339(Date.now()), by, verb, ...(why && { why }) };
    const history = withEntry(present.history, {
      ...entry,
      from: formatRef(before, 'short'),
      to: formatRef(refOf(to), 'short'),
    });
    try {
      return await session.references.assign(present, to, { history, dryRun: asking.dryRun ?? false });
    } catch (error) {
      if (!isConflict(error) || tries >= 10) throw error;
    }
    present = await session.references.get(node.name);
  }
}
