/** Writes a hold, a release or an adoption of one node, with its entry in the history. */
import { isConflict } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { rfc3339 } from '../../clock.js';
import type { ConfiguredNode, NodeMark } from '../../fleet/configured-node.js';
import { holdText } from '../../fleet/state-text.js';
import type { Session } from '../session.js';

interface Person {
  /** Now, unless it is given. */
  at?: string;
  by: string;
  verb: 'hold' | 'release' | 'adopt';
  why?: string | undefined;
}

/** After other writes to the same object it tries again, unless somebody has held or released the node meanwhile. */
export async function markNode(
  { references, client, signal }: Session,
  node: ConfiguredNode,
  { dryRun = false, ...mark }: Omit<NodeMark, 'entry'> & { dryRun?: boolean },
  person: Person,
): Promise<void> {
  const entry = { at: rfc3339(client.clock.now()), ...person };
  let present = node;
  for (let tries = 0; ; tries++) {
    try {
      return await references.mark(present, { ...mark, entry }, { signal, dryRun });
    } catch (error) {
      if (!isConflict(error) || tries >= 10) throw error;
    }
    present = await references.get(node.name, { signal });
    if (present.hold?.why !== node.hold?.why)
      throw new CannotRun(
        `${node.name} was ${present.hold === undefined ? 'released' : holdText(present.hold)} by somebody else meanwhile; nothing was changed there`,
      );
  }
}
