/** Cgroups and reservations: how the machine is divided between pods, Kubernetes and the system. */
import { isLowered, isRaised, rejects } from './directions.js';
import type { Case, Entries } from './entry.js';

const treeMoves =
  'Pods live in the cgroup tree the old value made. The kubelet would start a second tree beside it and lose sight of them.';

const reserved: readonly Case[] = [
  {
    when: 'lowered',
    applies: isLowered,
    risk: 'The system has less left for itself when pods use all they may.',
    pods: 'unaffected',
  },
  { when: 'raised', applies: isRaised, pods: rejects('OutOf') },
];

export const cgroups: Entries = {
  cgroupDriver: {
    what: 'Who manages cgroups: cgroupfs or systemd. Must equal the setting of the container runtime.',
    needs: 'reboot',
    why: 'Kubelet and runtime must change together, and running pods stay in cgroups named the old way. Only a fresh boot has neither.',
    risk: 'Different drivers fail every new pod. Kubelets from 1.28 can take the driver from the runtime and then ignore this field.',
  },
  cgroupRoot: {
    what: 'Cgroup below which all pod cgroups are made; empty for the root.',
    needs: 'reboot',
    why: treeMoves,
    risk: 'A root that does not exist stops the kubelet; two trees count the same memory twice.',
  },
  cgroupsPerQOS: {
    what: 'Whether pods get cgroups of their own, below one for each QoS class.',
    needs: 'reboot',
    why: treeMoves,
    risk: 'Off, enforceNodeAllocatable must be empty too, and nothing bounds a pod as a whole.',
  },
  kubeletCgroups: {
    what: 'Cgroup the kubelet moves itself into.',
    needs: 'reboot',
    why: 'The old cgroup stays, with its limits and whatever else lives there; memory and CPU of the kubelet are then counted in two places.',
    risk: 'A name outside the tree of the service manager fights with systemd over the process.',
  },
  systemCgroups: {
    what: 'Cgroup into which the kubelet moves all processes that have none. Needs cgroupRoot.',
    needs: 'reboot',
    why: 'Moving processes cannot be undone: their former cgroups are not recorded.',
    risk: '/ is refused at start; a wrong name takes system daemons away from systemd.',
  },
  qosReserved: {
    what: 'Share of requested memory that lower QoS classes may not touch, needs gate QOSReserved.',
    needs: 'reboot',
    why: 'Limits are written on the QoS cgroups; taking the setting out does not lift them.',
    risk: 'Burstable and BestEffort pods are killed for memory that is free but reserved.',
  },
  systemReserved: {
    what: 'CPU, memory, storage and PIDs set aside for the operating system; taken from what pods may use.',
    needs: 'restart',
    why: 'Allocatable is computed at start, and the limit over all pods is written again. No pod has to move while it fits.',
    risk: 'Grown beyond what is free, pods fail with OutOfcpu or OutOfmemory at the restart, or are evicted. With static CPU or memory manager the kubelet may refuse its state file.',
    cases: reserved,
  },
  kubeReserved: {
    what: 'CPU, memory, storage and PIDs set aside for the kubelet and the runtime; taken from what pods may use.',
    needs: 'restart',
    why: 'Allocatable is computed at start, and the limit over all pods is written again. No pod has to move while it fits.',
    risk: 'Grown beyond what is free, pods fail with OutOfcpu or OutOfmemory at the restart, or are evicted. With static CPU or memory manager the kubelet may refuse its state file.',
    cases: reserved,
  },
  systemReservedCgroup: {
    what: 'Cgroup of the system daemons, on which systemReserved is enforced.',
    needs: 'reboot',
    why: 'Limits already written on the old cgroup stay there.',
    risk: 'A cgroup that does not exist stops the kubelet when system-reserved is enforced; a wrong one starves what lives in it.',
  },
  kubeReservedCgroup: {
    what: 'Cgroup of kubelet and runtime, on which kubeReserved is enforced.',
    needs: 'reboot',
    why: 'Limits already written on the old cgroup stay there.',
    risk: 'A cgroup that does not exist stops the kubelet when kube-reserved is enforced; too small a limit kills the runtime.',
  },
  enforceNodeAllocatable: {
    what: 'Which reservations are enforced by cgroup limits: pods, system-reserved, kube-reserved and their compressible forms.',
    needs: 'restart',
    why: 'Limits are written at start. Only what was enforced on reserved cgroups stays until a reboot when it is taken out.',
    risk: 'Enforcing a reservation that is too small kills system daemons or the kubelet itself; enforcing none lets pods starve them.',
  },
  failCgroupV1: {
    what: 'Whether the kubelet refuses to start on a host with cgroup v1.',
    needs: 'restart',
    why: 'Checked at start.',
    risk: 'True, which is the default from 1.35 on, is a crash loop on every cgroup v1 host.',
  },
  singleProcessOOMKill: {
    what: 'Whether the kernel kills one process of a container, instead of all, when its memory is used up. Cgroup v2.',
    needs: 'restart',
    why: 'Written when a container is created; those that run keep what they have.',
    risk: 'Programs with several processes may live on half dead. False on cgroup v1 is refused.',
  },
  memoryThrottlingFactor: {
    what: 'Share of the memory limit at which a container is slowed down, needs gate MemoryQoS and cgroup v2.',
    needs: 'restart',
    why: 'Written when a container is created; those that run keep what they have.',
    risk: 'Low values slow down containers that were fine.',
  },
  memoryReservationPolicy: {
    what: 'Whether requested memory of pods is protected from reclaim, needs gate MemoryQoS and cgroup v2.',
    needs: 'drain',
    why: 'Written when pod and container cgroups are created. Half of the pods protected means that the other half pays for it.',
    risk: 'Much protected memory leaves the kernel nothing to reclaim; the system itself may run out.',
  },
  memorySwap: {
    what: 'How pods may use swap.',
    needs: 'drain',
    why: 'Swap limits are written when a container is created.',
    risk: 'See swapBehavior.',
  },
  'memorySwap.swapBehavior': {
    what: 'NoSwap, LimitedSwap or, before 1.30, UnlimitedSwap.',
    needs: 'drain',
    why: 'Swap limits are written when a container is created. Old and new pods would share the swap by different rules.',
    risk: 'Swapping pods slow down their neighbours; secrets in memory may reach the disk.',
  },
  failSwapOn: {
    what: 'Whether the kubelet refuses to start while swap is on.',
    needs: 'restart',
    why: 'Checked at start.',
    risk: 'True on a host with swap is a crash loop.',
  },
  protectKernelDefaults: {
    what: 'Whether the kubelet refuses to start, instead of setting them, when kernel settings differ from what it expects.',
    needs: 'restart',
    why: 'Checked at start.',
    risk: 'True on a host with other values of vm.overcommit_memory, vm.panic_on_oom, kernel.panic and the like is a crash loop.',
  },
  oomScoreAdj: {
    what: 'How unlikely the kernel is to kill the kubelet when memory runs out; -1000 to 1000.',
    needs: 'restart',
    why: 'Written for the process at start.',
    risk: 'High values make the kubelet a victim, and with it the view of the node.',
  },
  maxOpenFiles: {
    what: 'How many files the kubelet may have open.',
    needs: 'restart',
    why: 'Set for the process at start.',
    risk: 'Too few, and mounts, logs and connections fail on dense nodes.',
  },
};
