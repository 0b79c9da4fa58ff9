/** Input of an answer: the cluster as one person sees it, their rights, and the time. */
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
