/** The parts of a Pod that this server uses, and its QoS class. */
import type { KubeObject } from '../../api/object.js';

export interface Container {
  name: string;
  image?: string;
  imagePullPolicy?: string;
  terminationMessagePath?: string;
  terminationMessagePolicy?: string;
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  ports?: { name?: string; containerPort: number; hostPort?: number; protocol?: string }[];
  env?: { name: string; valueFrom?: { fieldRef?: { apiVersion?: string } } }[];
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
}

export interface Probe {
  timeoutSeconds?: number;
  periodSeconds?: number;
  successThreshold?: number;
  failureThreshold?: number;
  httpGet?: { scheme?: string; path?: string };
}

export interface PodSpec {
  containers?: Container[];
  initContainers?: Container[];
  volumes?: Record<string, unknown>[];
  nodeName?: string;
  serviceAccountName?: string;
  serviceAccount?: string;
  restartPolicy?: string;
  dnsPolicy?: string;
  schedulerName?: string;
  securityContext?: Record<string, unknown>;
  terminationGracePeriodSeconds?: number;
  activeDeadlineSeconds?: number;
  enableServiceLinks?: boolean;
  hostNetwork?: boolean;
  tolerations?: Record<string, unknown>[];
}

export interface ContainerState {
  waiting?: { reason?: string };
  running?: object;
  terminated?: { reason?: string; exitCode?: number };
}

export interface ContainerStatus {
  name: string;
  ready?: boolean;
  restartCount?: number;
  state?: ContainerState;
}

export interface PodStatus {
  phase?: string;
  reason?: string;
  conditions?: { type: string; status: string; reason?: string }[];
  podIP?: string;
  podIPs?: { ip?: string }[];
  nominatedNodeName?: string;
  containerStatuses?: ContainerStatus[];
}

export const podSpec = (pod: KubeObject) => (pod.spec ?? {}) as PodSpec;
export const podStatus = (pod: KubeObject) => (pod.status ?? {}) as PodStatus;

/**
 * Guaranteed where every container's limits equal its requests for cpu and memory; BestEffort where there are no
 * requests.
 */
export function qosClass(spec: PodSpec): string {
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const asked = (which: 'requests' | 'limits', container: Container) =>
    Object.entries(container.resources?.[which] ?? {}).filter(
      ([name, quantity]) => (name === 'cpu' || name === 'memory') && quantity !== '0',
    );
  const all = containers.flatMap((container) => [...asked('requests', container), ...asked('limits', container)]);
  if (all.length === 0) return 'BestEffort';
  const isGuaranteed = containers.every((container) => {
    const limits = Object.fromEntries(asked('limits', container));
    const requests = Object.fromEntries(asked('requests', container));
    return ['cpu', 'memory'].every(
      (name) => limits[name] !== undefined && (requests[name] ?? limits[name]) === limits[name],
    );
  });
  return isGuaranteed ? 'Guaranteed' : 'Burstable';
}
