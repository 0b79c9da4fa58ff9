/** How the node is, asked just before its kubelet is stopped: what is not there now cannot be missed afterwards. */

import type { Choice } from '../choose.js';
import type { HostFiles } from '../host-files.js';
import type { ApiSide } from '../sync/api-side.js';
import { isReady } from './health.js';
import { rejectedUids } from './rejected-pods.js';
import type { NodeBefore } from './trial.js';

const timeoutMs = 1000;

export interface Before extends NodeBefore {
  /** Uids of the pods that were rejected already; undefined where nobody could be asked. Not recorded. */
  rejectedPods?: ReadonlySet<string> | undefined;
}

export async function lookBack(api: ApiSide | undefined, hostFiles: HostFiles, running: Choice): Promise<Before> {
  const { staticPodPath } = running.accepted;
  const staticPods = staticPodPath !== undefined && hostFiles.hasEntries(staticPodPath);
  try {
    const limit = AbortSignal.timeout(timeoutMs);
    const [node, pods] = await Promise.all([api?.view.node(limit), api?.view.pods(limit).catch(() => undefined)]);
    const rejectedPods = pods && rejectedUids(pods);
    return { apiAnswered: api !== undefined, nodeReady: isReady(node), staticPods, rejectedPods };
  } catch {
    return { apiAnswered: false, nodeReady: false, staticPods };
  }
}
