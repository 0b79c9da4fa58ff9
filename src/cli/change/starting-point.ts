/**
 * What `set` and `edit` start from: the config that the node is assigned, as it is written in its ConfigMap; where that is
 * the local one, what the API shows of it. `/configz` itself is never written down: it has values of one host in it.
 *
 *   assigned, and not failed ─► its ConfigMap
 *   failed ─► set: what runs;  edit: the config that failed, so that it can be corrected
 */

import { formatRef, refOf } from '../../api/config-ref.js';
import { CannotRun } from '../../cannot-run.js';
import type { KubeletConfig } from '../../config/model.js';
import { readPayload } from '../../fleet/config-maps.js';
import { configState } from '../../fleet/config-state.js';
import { asConfigText, type RunningConfig } from '../../fleet/config-text.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import {
  askConfigz,
  minorOf,
  pinnedNow,
  readActive,
  unreadable,
  writtenLocally,
} from '../../fleet/effective-config.js';
import { ApiError } from '../../kube/api-error.js';
import type { Session } from '../session.js';

export interface StartingPoint {
  /** As it is written; a person may edit it. */
  text: string;
  /** What differences are shown against. The same, unless `text` is a config that failed. */
  before: string;
  /** Everything that runs, where the kubelet could be asked. */
  running: KubeletConfig | undefined;
  /** The assigned config that does not run: any change replaces it. */
  failed: { source: string; state: 'rejected' | 'rolled back' } | undefined;
  notes: string[];
}

type Written = Pick<StartingPoint, 'text' | 'notes'>;

/** Throws when nothing leads there, with the reason and what to do. */
export async function startingPoint(
  session: Session,
  node: ConfiguredNode,
  verb: 'set' | 'edit',
): Promise<StartingPoint> {
  const state = configState(node);
  const wanted = refOf(node.configSource);
  const failed =
    state === 'rejected' || state === 'rolled back' ? { source: formatRef(wanted, 'short'), state } : undefined;
  const [configz, assigned] = [await askConfigz(session, node), await readAssigned(session, node)];
  const running = configz instanceof ApiError ? undefined : configz.document;
  if (assigned !== undefined && failed === undefined) return { ...assigned, before: assigned.text, running, failed };
  const runs = await whatRuns(session, node, configz);
  const start = verb === 'edit' && failed && assigned ? assigned : runs;
  return { ...start, before: runs.text, running, failed };
}

async function whatRuns(session: Session, node: ConfiguredNode, configz: RunningConfig | ApiError): Promise<Written> {
  const minor = minorOf(node);
  const active = await readActive(session, node);
  if (active !== undefined) return { text: active.text, notes: [] };
  if (configz instanceof ApiError) throw unreadable(node, configz);
  const pinned = (await pinnedNow(session, node, configz.document)).map(({ path }) => path);
  const { document, assumed } = writtenLocally(configz.document, pinned, minor);
  const notExpressible = configz.notExpressible.filter((path) => !pinned.includes(path));
  return {
    text: asConfigText(document, minor),
    notes: [
      ...(notExpressible.length > 0
        ? [`flags set these to values that a config cannot express; they do not change: ${notExpressible.join(', ')}.`]
        : []),
      // relet on the node knows its local config, and warns when that names them.
      ...(assumed.length > 0 && node.agentVersion === undefined
        ? [
            `${assumed.join(' and ')} are left out: by their names the kubelet made these files itself. If its local config names them, set them too.`,
          ]
        : []),
    ],
  };
}

/** Undefined where it is local, or cannot be read. */
async function readAssigned(session: Session, node: ConfiguredNode): Promise<Written | undefined> {
  const source = refOf(node.configSource);
  if (source === undefined) return undefined;
  try {
    return { text: (await readPayload(session, source)).text, notes: [] };
  } catch (error) {
    if (error instanceof ApiError || error instanceof CannotRun) return undefined;
    throw error;
  }
}
