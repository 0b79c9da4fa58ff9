/** Catalogue entries for cgroups, memory and swap: where pods and the kubelet run, and what the kernel does to them. */
import { isTurnedOff } from './directions.js';
import type { Entries } from './entry.js';

const newContainers =
  'Written when a container is created. Those that run keep what they have, and can stay beside new ones.';

const treeMoves =
  'Pods live in the cgroup tree the old value made. The kubelet would start a second tree beside it and lose sight of them.';

export const cgroups: Entries = {
  cgroupDriver: {
    what: 'Who manages cgroups: cgroupfs or systemd. Must equal the setting of the container runtime.',
    needs: 'reboot',
    why: 'Kubelet and runtime must change together, and running pods stay in cgroups named the old way. Only a reboot clears both.',
    risk: 'Different drivers fail every new pod. Kubelets from 1.28 can take the driver from the runtime and then ignore this field.',
  },
  cgroupRoot: {
    what: 'Cgroup below which all pod cgroups are made; empty for the root.',
    needs: 'reboot',
    why: treeMoves,
    risk: 'A root that does not exist stops the kubelet; two trees count the same memory twice.',
    atBoot: 'A cgroup that exists now may not exist yet when the kubelet starts at a boot.',
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
    cases: [
      {
        when: 'added or changed, not removed',
        applies: ({ after }) => after !== undefined,
        needs: 'restart',
        why: 'The limits of the QoS cgroups are written again with every value, within a minute of the start.',
        pods: 'unknown',
      },
    ],
  },
  failCgroupV1: {
    what: 'Whether the kubelet refuses to start on a host with cgroup v1.',
    needs: 'restart',
    why: 'Checked at start.',
    risk: 'True, which is the default from 1.35 on, is a crash loop on every cgroup v1 host.',
    cases: [{ when: 'turned off', applies: isTurnedOff, risk: '' }],
  },
  singleProcessOOMKill: {
    what: 'Whether the kernel kills one process of a container, instead of all, when its memory is used up. Cgroup v2.',
    needs: 'restart',
    why: newContainers,
    pods: 'new containers only',
    risk: 'Programs with several processes may live on half dead. False on cgroup v1 is refused.',
  },
  memoryThrottlingFactor: {
    what: 'Share of the memory limit at which a container is slowed down, needs gate MemoryQoS and cgroup v2. Unset, since 1.37, none is.',
    needs: 'restart',
    why: newContainers,
    pods: 'new containers only',
    risk: 'Low values slow down containers that were fine. Without the gate, 1.37 rejects every value but 0.9.',
  },
  memoryReservationPolicy: {
    what: 'Whether requested memory of pods is protected from reclaim, needs gate MemoryQoS and cgroup v2.',
    needs: 'restart',
    why: 'Written on the QoS cgroups at start, and on those of pods and containers when they are created. Pods that run keep what they have.',
    pods: 'new containers only',
    risk: 'Much protected memory leaves the kernel nothing to reclaim; the system itself may run out. Until all are created again, pods without protection pay for those with it.',
  },
  memorySwap: {
    what: 'How pods may use swap.',
    needs: 'restart',
    why: newContainers,
    pods: 'new containers only',
    risk: 'See swapBehavior.',
  },
  'memorySwap.swapBehavior': {
    what: 'NoSwap, LimitedSwap or, before 1.30, UnlimitedSwap.',
    needs: 'restart',
    why: newContainers,
    pods: 'new containers only',
    risk: 'Swapping pods slow down their neighbours; secrets in memory may reach the disk.',
  },
  failSwapOn: {
    what: 'Whether the kubelet refuses to start while swap is on.',
    needs: 'restart',
    why: 'Checked at start.',
    risk: 'True on a host with swap is a crash loop.',
    atBoot: 'Swap that is off now is on after a boot where the host turns it on, as by /etc/fstab.',
    cases: [{ when: 'turned off', applies: isTurnedOff, risk: '', atBoot: '' }],
  },
  protectKernelDefaults: {
    what: 'Whether the kubelet refuses to start, instead of setting them, when kernel settings differ from what it expects.',
    needs: 'restart',
    why: 'Checked at start.',
    risk: 'True on a host with other values of vm.overcommit_memory, vm.panic_on_oom, kernel.panic and the like is a crash loop.',
    atBoot:
      'A kubelet without it has set these kernel settings until the next boot: a trial passes, and the kubelet may exit at the boot.',
    cases: [
      {
        when: 'turned off',
        applies: isTurnedOff,
        risk: 'The kubelet writes the kernel settings that it expects, over those that the host has.',
        atBoot: '',
      },
    ],
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
