/** The Node, its Lease and its pods as the API server shows them. */
import type { KubeObject } from '../../api/object.js';

/** What health checks need from the API; each throws when the API does not answer. */
export interface NodeView {
  node(signal: AbortSignal): Promise<KubeObject | undefined>;
  lease(signal: AbortSignal): Promise<KubeObject | undefined>;
  pods(signal: AbortSignal): Promise<KubeObject[]>;
}

export function isReady(node: KubeObject | undefined): boolean {
  return readyCondition(node)?.status === 'True';
}

interface Condition {
  type: string;
  status: string;
  lastHeartbeatTime?: string;
}

export function readyCondition(node: KubeObject | undefined): Condition | undefined {
  const { conditions } = (node?.status ?? {}) as { conditions?: Condition[] };
  return conditions?.find(({ type }) => type === 'Ready');
}
