/** The input of a query: the cluster as one user sees it, the user's permissions, and the time. */
import type { ConfigReferences } from '../../fleet/configured-node.js';
import type { KubeClient } from '../../kube/client.js';
import type { May } from '../wire.js';

export interface Reader {
  client: KubeClient;
  references: ConfigReferences;
  may: May;
  nowMs: number;
  signal: AbortSignal;
}
