/** The Node object of a config: capacity, allocatable resources, addresses, taints. Pure. */

import type { KubeObject } from '../../api/object.js';
import type { KubeletConfig } from '../../config/model.js';
import { formatQuantity, parseQuantity, type Quantity } from '../../go/quantity.js';

/** Facts of the machine; read once by the caller. */
export interface Machine {
  hostname: string;
  cpus: number;
  memoryBytes: number;
  storageBytes: number;
  /** Copied into nodeInfo. */
  info: { machineID: string; systemUUID: string; bootID: string; kernelVersion: string; osImage: string };
  /** As Go names it: amd64, arm64. */
  architecture: string;
}

export interface HollowNodeFacts {
  name: string;
  /** Without the v. */
  version: string;
  address: string;
  labels: Record<string, string>;
  config: KubeletConfig;
  machine: Machine;
}

export const hollowTaint = { key: 'relet.dev/hollow', value: 'true', effect: 'NoSchedule' };
const whatItIs = 'a hollow kubelet: it stands in for a kubelet and runs no pods';

export function nodeObject(facts: HollowNodeFacts): KubeObject {
  const { name, config, labels, machine } = facts;
  const taints = [hollowTaint, ...((config.registerWithTaints as object[] | null) ?? [])];
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': machine.hostname,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': machine.architecture,
        'beta.kubernetes.io/os': 'linux',
        'beta.kubernetes.io/arch': machine.architecture,
        'relet.dev/hollow': 'true',
        ...labels,
      },
      annotations: {
        'relet.dev/hollow': whatItIs,
        'volumes.kubernetes.io/controller-managed-attach-detach': String(config.enableControllerAttachDetach ?? true),
      },
    },
    spec: { taints, ...(config.providerID ? { providerID: config.providerID } : {}) },
    status: nodeStatus(facts),
  };
}

/** All of the status but its conditions. */
export function nodeStatus({ version, address, config, machine }: HollowNodeFacts): Record<string, unknown> {
  const { capacity, allocatable } = resources(config, machine);
  return {
    addresses: [
      { type: 'InternalIP', address },
      { type: 'Hostname', address: machine.hostname },
    ],
    capacity,
    allocatable,
    daemonEndpoints: { kubeletEndpoint: { Port: config.port } },
    nodeInfo: {
      ...machine.info,
      containerRuntimeVersion: 'hollow://relet',
      kubeletVersion: `v${version}`,
      kubeProxyVersion: `v${version}`,
      operatingSystem: 'linux',
      architecture: machine.architecture,
    },
  };
}

/**
 * Example: 8 GiB of memory, kubeReserved 1Gi, evictionHard memory.available 512Mi → 6.5 GiB allocatable. Excessive
 * reservations leave 0, never less.
 */
export function resources(config: KubeletConfig, machine: Machine) {
  const maxPods = Number(config.maxPods);
  const podsPerCore = Number(config.podsPerCore ?? 0);
  const pods = String(podsPerCore > 0 ? Math.min(maxPods, podsPerCore * machine.cpus) : maxPods);
  const has = {
    cpu: quantity(String(machine.cpus)),
    memory: quantity(`${Math.floor(machine.memoryBytes / 1024)}Ki`),
    'ephemeral-storage': quantity(`${Math.floor(machine.storageBytes / 1024)}Ki`),
  };
  const evicts = (config.evictionHard as Record<string, string> | null) ?? {};
  const left = Object.entries(has).map(([name, all]) => {
    const signal = { memory: 'memory.available', 'ephemeral-storage': 'nodefs.available' }[name];
    const threshold = signal === undefined ? 0n : thresholdNano(evicts[signal], all.nano);
    const nano = all.nano - reserved(config.kubeReserved, name) - reserved(config.systemReserved, name) - threshold;
    return [name, formatQuantity({ ...all, nano: nano > 0n ? wholeBytes(nano, name) : 0n })];
  });
  return {
    capacity: { ...Object.fromEntries(Object.entries(has).map(([name, all]) => [name, formatQuantity(all)])), pods },
    allocatable: { ...Object.fromEntries(left), pods },
  };
}

function wholeBytes(nano: bigint, name: string): bigint {
  return name === 'cpu' ? nano : nano - (nano % 1_000_000_000n);
}

function quantity(text: string): Quantity {
  return parseQuantity(text) ?? { nano: 0n, format: 'DecimalSI' };
}

function reserved(map: unknown, name: string): bigint {
  const text = (map as Record<string, string> | null | undefined)?.[name];
  return text === undefined ? 0n : quantity(text).nano;
}

/** `100Mi`, or `10%` of the capacity. */
function thresholdNano(text: string | undefined, all: bigint): bigint {
  if (text === undefined) return 0n;
  if (!text.endsWith('%')) return quantity(text).nano;
  const share = Number(text.slice(0, -1));
  return Number.isFinite(share) ? (all * BigInt(Math.round(share * 1000))) / 100_000n : 0n;
}

export interface Condition {
  type: string;
  status: 'True' | 'False';
  reason: string;
  message: string;
  lastHeartbeatTime: string;
  lastTransitionTime: string;
}

/** `before` are the conditions the Node has; an unchanged one keeps the time of its last transition. */
export function conditions(ready: boolean, nowIso: string, before: readonly Condition[]): Condition[] {
  const condition = (type: string, status: 'True' | 'False', reason: string, message: string): Condition => {
    const old = before.find((other) => other.type === type);
    const since = old?.status === status ? old.lastTransitionTime : nowIso;
    return { type, status, reason, message, lastHeartbeatTime: nowIso, lastTransitionTime: since };
  };
  return [
    condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
    condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
    condition('PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
    ready
      ? condition('Ready', 'True', 'KubeletReady', `kubelet is posting ready status (${whatItIs})`)
      : condition('Ready', 'False', 'KubeletNotReady', 'the hollow kubelet is unhealthy on demand'),
  ];
}
