/** Catalogue entries for pods: how many per node, DNS, CPU quota and PIDs, sysctls, volumes, crash-loop backoff and shutdown. */
import { isLowered, isRaised, isTurnedOff, isTurnedOn, rejecting } from './directions.js';
import type { Case, Entries } from './entry.js';

const readmitted = 'The kubelet admits every pod again after a restart, oldest first, against the new value.';
const newContainers =
  'Given to containers when they are created. Those that run keep what they have, and can stay beside new ones.';
const newSandboxes =
  'Written when the sandbox of a pod is created. Pods that run keep the old settings until they are created again, and can stay beside new ones.';

const strings = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

const withoutUserNamespaces: readonly Case[] = [
  {
    when: 'no pod that runs has a user namespace',
    applies: (_change, { facts }) => facts.pods?.every(({ hasUserNamespace }) => !hasUserNamespace) ?? false,
    needs: 'restart',
    why: 'Only the mappings of pods with a user namespace of their own (hostUsers: false) must fit the setting.',
    pods: 'unaffected',
  },
];

const fewerPods = (applies: Case['applies']) =>
  rejecting({
    when: 'lowered',
    applies,
    reasons: ['OutOfpods'],
    why: 'The kubelet admits every pod again after a restart, oldest first, and more run than it will admit.',
    risk: 'The youngest pods beyond the new limit fail with OutOfpods, and a rollback does not bring them back.',
  });

export const pods: Entries = {
  maxPods: {
    what: 'Most pods the node runs; reported as its pod capacity.',
    needs: 'restart',
    why: readmitted,
    risk: 'Lowered below what runs, the youngest pods fail with OutOfpods. Raised beyond the pod CIDR, new pods get no address.',
    cases: [
      {
        when: 'raised',
        applies: isRaised,
        risk: 'Raised beyond the addresses of the pod CIDR, new pods get none and do not start.',
      },
      ...fewerPods(isLowered),
    ],
  },
  podsPerCore: {
    what: 'Most pods per CPU core; the smaller of this and maxPods holds. 0 for no such limit.',
    needs: 'restart',
    why: readmitted,
    risk: 'Lowered below what runs, the youngest pods fail with OutOfpods.',
    cases: [
      {
        when: 'raised, or no longer a limit',
        applies: ({ before, after }) => after === 0 || (before !== 0 && Number(after) > Number(before)),
        risk: '',
      },
      ...fewerPods(() => true),
    ],
  },
  podPidsLimit: {
    what: 'Most processes in one pod; -1 for no limit of its own.',
    needs: 'restart',
    why: 'Written when the cgroup of a pod is created. Pods that run keep the old limit until they are created again.',
    pods: 'new containers only',
    risk: 'A low limit makes new pods fail to fork, which shows as odd errors of the application.',
  },
  syncFrequency: {
    what: 'Longest time between two looks at a pod that nothing happened to.',
    needs: 'restart',
    why: 'The sync loop takes its period at start.',
    risk: 'Short values cost CPU with every pod; long ones delay mounted ConfigMaps and Secrets.',
  },
  clusterDomain: {
    what: 'DNS domain of the cluster, put into the search list of pods.',
    needs: 'restart',
    why: newSandboxes,
    risk: 'It must be what the cluster DNS serves, on all nodes; otherwise short service names stop resolving in new pods. Old and new pods look for different names until all are created again.',
    pods: 'new containers only',
  },
  clusterDNS: {
    what: 'DNS servers given to pods with the ClusterFirst policy.',
    needs: 'restart',
    why: newSandboxes,
    risk: 'An address that does not answer leaves every new pod without names. Pods that run keep asking the old servers, and break when these go before the pods are created again.',
    pods: 'new containers only',
  },
  resolvConf: {
    what: 'File that DNS settings of pods are derived from; empty for none.',
    needs: 'restart',
    why: newSandboxes,
    pods: 'new containers only',
    risk: 'A file that points to a stub on loopback makes the cluster DNS ask itself. A missing file fails every new pod.',
    atBoot: 'A file that another service writes may not be there yet when the kubelet starts at a boot.',
  },
  cpuCFSQuota: {
    what: 'Whether CPU limits are enforced by CFS quota.',
    needs: 'restart',
    why: newContainers,
    pods: 'new containers only',
    risk: 'Off, a container may take all CPUs that are free; on again, workloads tuned without it are throttled.',
  },
  cpuCFSQuotaPeriod: {
    what: 'Period of CFS quota, needs gate CustomCPUCFSQuotaPeriod.',
    needs: 'drain',
    why: 'The cgroup of a running pod keeps the old period while containers restarted in it get the new one.',
    risk: 'Short periods throttle bursty workloads harder; containers may fail to start in an old pod cgroup.',
  },
  seccompDefault: {
    what: 'Whether pods that name no seccomp profile get RuntimeDefault.',
    needs: 'restart',
    why: newContainers,
    risk: 'Programs that need uncommon system calls fail, each when its container is created the next time. Drain a few nodes first to see it at once.',
    pods: 'new containers only',
    cases: [{ when: 'turned off', applies: isTurnedOff, risk: 'New containers run without a seccomp profile.' }],
  },
  allowedUnsafeSysctls: {
    what: 'Unsafe sysctls, or patterns ending in *, that pods of this node may set.',
    needs: 'restart',
    why: 'Checked when a pod is admitted, and pods are admitted again after the restart.',
    risk: 'Removing an entry fails running pods that use it, with SysctlForbidden. A malformed pattern stops the kubelet at start.',
    cases: [
      {
        when: 'only added to',
        applies: ({ before, after }) => {
          const allowed = new Set(strings(after));
          return strings(before).every((pattern) => allowed.has(pattern));
        },
        risk: 'Pods of this node may set more of the kernel. A malformed pattern stops the kubelet at start.',
      },
      ...rejecting({
        when: 'an entry removed',
        applies: () => true,
        reasons: ['SysctlForbidden'],
        why: 'The sysctls of a pod are checked when it is admitted, and pods are admitted again after the restart.',
        risk: 'Pods that use a sysctl of the removed entry fail with SysctlForbidden, and a rollback does not bring them back.',
      }),
    ],
  },
  defaultPodSysctls: {
    what: 'Sysctls set in pods that do not set them, needs gate DefaultPodSysctls. Not in pods that share that namespace with the host.',
    needs: 'restart',
    why: newSandboxes,
    pods: 'new containers only',
    risk: 'A value that the kernel does not take keeps every new pod of the node from starting. Pods are not asked: one that was tuned for the old value gets the new one when it is created again.',
  },
  enableControllerAttachDetach: {
    what: 'Whether the attach/detach controller, not the kubelet, attaches volumes.',
    needs: 'drain',
    why: 'The duty changes hands at the restart; volumes attached by one side are not known to the other.',
    risk: 'Volumes that neither side detaches, so that pods cannot move to another node.',
  },
  volumePluginDir: {
    what: 'Directory of FlexVolume drivers.',
    needs: 'drain',
    why: 'Volumes that are mounted need their driver, under the new path, to be unmounted.',
    risk: 'Pods with such volumes hang while terminating. A user who may write the directory runs code as root.',
  },
  volumeStatsAggPeriod: {
    what: 'How often disk use of volumes is measured; negative turns it off.',
    needs: 'restart',
    why: 'The measuring loop takes its period at start.',
    risk: 'Short values cost much I/O on volumes with many files; off, eviction by ephemeral storage loses sight of volumes.',
  },
  localStorageCapacityIsolation: {
    what: 'Whether ephemeral storage is counted, reported and limited.',
    needs: 'drain',
    why: 'Turned off, the node no longer reports ephemeral storage, and running pods that request it are rejected at the restart.',
    risk: 'Pods with ephemeral-storage requests cannot run here while it is off; disk use has no limit per pod.',
    cases: [
      {
        when: 'turned on',
        applies: isTurnedOn,
        needs: 'restart',
        why: 'Requests are counted, and limits of running pods are enforced, from the restart on.',
        risk: 'Running pods that use more ephemeral storage than their limit are evicted.',
        pods: 'may be evicted',
      },
      {
        when: 'turned off, and no pod that runs requests ephemeral storage',
        applies: (_change, { facts }) => facts.pods?.every(({ requests }) => !requests['ephemeral-storage']) ?? false,
        needs: 'restart',
        why: 'Only pods that request ephemeral storage are rejected at the restart.',
        pods: 'unaffected',
      },
    ],
  },
  userNamespaces: {
    what: 'Settings of user namespaces for pods.',
    needs: 'drain',
    why: 'Mappings of running pods are kept on disk and must fit the setting when the kubelet starts.',
    cases: withoutUserNamespaces,
    risk: 'See idsPerPod.',
  },
  'userNamespaces.idsPerPod': {
    what: 'How many UIDs and GIDs each pod with a user namespace gets; a multiple of 65536.',
    needs: 'drain',
    why: 'The kubelet reads the mappings of running pods at start and exits when their length differs from the new value.',
    cases: withoutUserNamespaces,
    risk: 'A kubelet that does not start while such a pod is left on disk; too large a value leaves too few ranges for maxPods.',
  },
  crashLoopBackOff: {
    what: 'How long crashing containers wait.',
    needs: 'restart',
    why: 'The back-off is created at start; waiting times start again.',
    risk: 'See maxContainerRestartPeriod.',
  },
  'crashLoopBackOff.maxContainerRestartPeriod': {
    what: 'Longest wait between restarts of a crashing container, needs gate KubeletCrashLoopBackOffMax.',
    needs: 'restart',
    why: 'The back-off is created at start; waiting times start again.',
    risk: 'Short values let crashing pods load the node, the registry and the API server.',
  },
  shutdownGracePeriod: {
    what: 'How long a system shutdown is held up so that pods can end; 0 turns this off.',
    needs: 'restart',
    why: 'The kubelet takes its shutdown lock from systemd-logind, and raises the allowed delay there, at start.',
    risk: 'Without logind, or where the delay cannot be raised, it has no effect. Must not be shorter than the share for critical pods.',
    atBoot: 'It takes effect only when the host shuts down.',
  },
  shutdownGracePeriodCriticalPods: {
    what: 'Share of shutdownGracePeriod that is kept for critical pods, at its end.',
    needs: 'restart',
    why: 'Taken by the shutdown manager at start.',
    risk: 'As long as the whole period, ordinary pods get no time at all.',
    atBoot: 'It takes effect only when the host shuts down.',
  },
  shutdownGracePeriodByPodPriority: {
    what: 'Shutdown time by pod priority, instead of the two periods.',
    needs: 'restart',
    why: 'Taken by the shutdown manager at start.',
    risk: 'Set together with the two periods it is refused. The sum of all times must fit what logind allows.',
    atBoot: 'It takes effect only when the host shuts down.',
  },
  'shutdownGracePeriodByPodPriority[].priority': {
    what: 'Lowest priority this time is for.',
    needs: 'restart',
    why: 'Taken by the shutdown manager at start.',
    risk: 'Pods below the lowest entry get the time of that entry.',
  },
  'shutdownGracePeriodByPodPriority[].shutdownGracePeriodSeconds': {
    what: 'Time, in seconds, for pods of this priority.',
    needs: 'restart',
    why: 'Taken by the shutdown manager at start.',
    risk: 'Long times add up and hold the reboot of the host.',
  },
};
