/**
 * Signals of an analysis: names, units, and the range beyond which a value is ignored. Pure.
 *
 * A count is the number of workloads (owners of pods; a pod without one is its own) that were newly affected on the node in the window.
 * A level is one number for the window. It is raised to its floor before its logarithm is taken: below the floor, differences mean
 * nothing.
 */

export interface Signal {
  kind: 'count' | 'level';
  unit: 'workloads' | 'processes' | 'tasks' | 'share' | 'seconds' | 'cores' | 'bytes';
  /** Only for levels. */
  floor: number;
  most: number;
  /** Predicate for sentences, after `4 of 5 canaries`. */
  worse: string;
}

const count = (worse: string): Signal => ({ kind: 'count', unit: 'workloads', floor: 0, most: 1000, worse });
const share = (worse: string): Signal => ({ kind: 'level', unit: 'share', floor: 0.001, most: 1, worse });
const cores = (worse: string): Signal => ({ kind: 'level', unit: 'cores', floor: 0.001, most: 1024, worse });
const bytes = (worse: string): Signal => ({ kind: 'level', unit: 'bytes', floor: 1 << 20, most: 2 ** 50, worse });

export const signals = {
  oomKills: count('have more OOM kills than before'),
  evictions: count('evict more workloads than before'),
  restarts: count('restart containers of more workloads than before'),
  /** Kernel OOM kills outside of pods, such as of the runtime: processes, not workloads. cgroup v2 only. */
  systemOomKills: { ...count('kill more processes outside of pods for memory than before'), unit: 'processes' },
  /** Pods that the kubelet did not admit. One that ran before and is rejected at the restart makes its node failed as well. */
  rejectedPods: count('reject pods of more workloads than before'),
  /** Ready at the start of the window, and still there and not Ready at its end. */
  lostReady: count('have more workloads that stopped being Ready than before'),
  /** PSI `full`: the share of the window in which all tasks of kubepods waited for memory. */
  memoryPressure: share('wait for memory more than before'),
  /** From PodScheduled to ContainersReady, with image pulls: the median of the pods that started in the window. */
  podStartSeconds: { kind: 'level', unit: 'seconds', floor: 0.05, most: 3600, worse: 'start pods slower than before' },
  /** PSI `some`. */
  cpuPressure: share('wait for CPU more than before'),
  ioPressure: share('wait for disks more than before'),
  /** Periods of pods with a CPU limit in which the limit held the pod back, of all their periods. */
  cpuThrottled: share('throttle containers more than before'),
  kubeletCpu: cores('use more CPU for the kubelet than before'),
  kubeletMemory: bytes('use more memory for the kubelet than before'),
  runtimeCpu: cores('use more CPU for the container runtime than before'),
  runtimeMemory: bytes('use more memory for the container runtime than before'),
  /** The most since the runtime was started: only a new maximum shows. A mean of values a minute apart misses short bursts. */
  runtimeMemoryPeak: bytes('reach a higher peak of memory for the container runtime than before'),
  /** Processes and threads in pods: what podPidsLimit and pid.available count. */
  podTasks: { kind: 'level', unit: 'tasks', floor: 10, most: 2 ** 22, worse: 'run more tasks in pods than before' },
  /** Services of the host, with kubelet and runtime where they are in system.slice. */
  systemMemory: bytes('use more memory for system services than before'),
  /** PSI `full` of system.slice: what a limit on it does. cgroup v2 only. */
  systemMemoryPressure: share('wait for memory in system services more than before'),
} as const satisfies Record<string, Signal>;

export type SignalName = keyof typeof signals;

/** Compared where the strategy names none, beside those of the changed fields. */
export const defaultSignals: readonly SignalName[] = [
  'oomKills',
  'evictions',
  'restarts',
  'rejectedPods',
  'lostReady',
  'memoryPressure',
  'podStartSeconds',
];

export const isSignalName = (name: string): name is SignalName => Object.hasOwn(signals, name);
