/** The parts of a Node and of its NodeConfig that the controller caches: few, since there may be thousands of nodes. Pure. */
import { drainAnnotation } from '../api/drain.js';
import type { MeasuredNodeConfig } from '../api/local-config.js';
import type { NodeCondition } from '../api/node-condition.js';
import type { LocalConfig } from '../api/node-config.js';
import { holdAnnotation } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import { maintenanceConditions } from './drain/maintenance.js';

export interface ClusterNode extends KubeObject {
  spec?: { unschedulable?: boolean; taints?: { key: string; effect?: string; value?: string }[] };
  status?: { conditions?: NodeCondition[]; nodeInfo?: { kubeletVersion?: string } };
  /** The node has NVIDIA GPUs. */
  hasGpus?: boolean;
}

/** Keeps what sets and grants need of a Node. */
export function keptNode(node: KubeObject): ClusterNode {
  const { metadata, spec = {}, status = {} } = node as ClusterNode;
  const { configSource } = spec as { configSource?: unknown };
  const { name, uid, labels, creationTimestamp, resourceVersion, annotations } = metadata;
  const kept = Object.entries(annotations ?? {}).filter(([key]) => key === holdAnnotation || key === drainAnnotation);
  const { capacity = {} } = status as { capacity?: Record<string, string> };
  const gpus = Object.keys(capacity).some((key) => key === 'nvidia.com/gpu' || key.startsWith('nvidia.com/mig-'));
  const conditions = status.conditions
    ?.filter(({ type }) => keptConditions.has(type))
    .map(({ type, status, reason, lastTransitionTime }) => ({
      type,
      status,
      ...(reason && { reason }),
      ...(lastTransitionTime && { lastTransitionTime }),
    }));
  return {
    apiVersion: node.apiVersion,
    kind: node.kind,
    metadata: {
      name,
      ...(uid && { uid }),
      ...(labels && { labels }),
      ...(creationTimestamp && { creationTimestamp }),
      ...(resourceVersion && { resourceVersion }),
      ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }),
    },
    spec: {
      ...(configSource !== undefined && { configSource }),
      ...(spec.unschedulable && { unschedulable: true }),
      ...(spec.taints && { taints: spec.taints }),
    },
    status: {
      ...(conditions && { conditions }),
      nodeInfo: { kubeletVersion: status.nodeInfo?.kubeletVersion ?? '' },
    },
    ...(gpus && { hasGpus: true }),
  };
}

const keptConditions = new Set(['Ready', ...maintenanceConditions]);

/** Nodes of a pool have the same local config: it is kept once, and its identity shows which nodes are alike. */
export function sharedLocals(): (object: MeasuredNodeConfig) => MeasuredNodeConfig {
  const locals = new Map<string, LocalConfig>();
  return (object) => {
    const { status } = object;
    if (status?.localConfig === undefined) return object;
    const text = JSON.stringify(status.localConfig);
    const localConfig = locals.get(text) ?? status.localConfig;
    if (locals.size > 1000) locals.clear();
    locals.set(text, localConfig);
    return { ...object, status: { ...status, localConfig } };
  };
}
