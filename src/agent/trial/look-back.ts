/** How the node is, asked just before its kubelet is stopped: what is not there now cannot be missed afterwards. */

import type { Choice } from '../choose.js';
import type { Host } from '../host/host.js';
import type { ApiSide } from '../sync/api-side.js';
import { isReady } from './health.js';
import type { NodeBefore } from './trial.js';

const timeoutMs = 1000;

export async function lookBack(api: ApiSide | undefined, host: Host, running: Choice): Promise<NodeBefore> {
  const { staticPodPath } = running.accepted;
  const staticPods = staticPodPath !== undefined && host.hasEntries(staticPodPath);
  try {
    const node = await api?.view.node(AbortSignal.timeout(timeoutMs));
    return { apiAnswered: api !== undefined, nodeReady: isReady(node), staticPods };
  } catch {
    return { apiAnswered: false, nodeReady: false, staticPods };
  }
}
