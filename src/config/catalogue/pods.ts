/** Pods: how many, what is given to them, what is checked when they come, how they end. */
import { isLowered, isRaised, rejects } from './directions.js';
import type { Entries } from './entry.js';

const readmitted = 'The kubelet admits every pod again after a restart, oldest first, against the new value.';
const newContainers = 'Given to containers when they are created; those that run keep what they have.';

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
        pods: 'unaffected',
      },
      {
        when: 'lowered',
        applies: isLowered,
        risk: 'The youngest pods beyond the new limit fail with OutOfpods and are not started again here, not even after a rollback.',
        pods: rejects('OutOfpods'),
      },
    ],
  },
  podsPerCore: {
    what: 'Most pods per CPU core; the smaller of this and maxPods holds. 0 for no such limit.',
    needs: 'restart',
    why: readmitted,
    risk: 'Lowered below what runs, the youngest pods fail with OutOfpods.',
    cases: [{ when: 'always', applies: () => true, pods: rejects('OutOfpods') }],
  },
  podPidsLimit: {
    what: 'Most processes in one pod; -1 for no limit of its own.',
    needs: 'restart',
    why: 'Written when the cgroup of a pod is created. Pods that run keep the old limit until they are recreated.',
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
    needs: 'drain',
    why: 'resolv.conf is written when a pod sandbox is created. Old and new pods would look for different names.',
    risk: 'It must be what the cluster DNS serves, on all nodes; otherwise short service names stop resolving.',
  },
  clusterDNS: {
    what: 'DNS servers given to pods with the ClusterFirst policy.',
    needs: 'drain',
    why: 'resolv.conf is written when a pod sandbox is created. Pods that stay keep asking the old servers.',
    risk: 'An address that does not answer leaves every new pod without names; old pods break when the old server goes.',
  },
  resolvConf: {
    what: 'File that DNS settings of pods are derived from; empty for none.',
    needs: 'drain',
    why: 'Copied when a pod sandbox is created. Pods that stay keep the old settings.',
    risk: 'A file that points to a stub on loopback makes the cluster DNS ask itself. A missing file fails every new pod.',
  },
  cpuCFSQuota: {
    what: 'Whether CPU limits are enforced by CFS quota.',
    needs: 'restart',
    why: newContainers,
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
    needs: 'drain',
    why: 'A container gets its profile when it is created. Without a drain each pod changes at the hour of its next container restart.',
    risk: 'Programs that need uncommon system calls fail. Try a few nodes first.',
  },
  allowedUnsafeSysctls: {
    what: 'Unsafe sysctls, or patterns ending in *, that pods of this node may set.',
    needs: 'restart',
    why: 'Checked when a pod is admitted, and pods are admitted again after the restart.',
    risk: 'Removing an entry fails running pods that use it, with SysctlForbidden. A malformed pattern stops the kubelet at start.',
    cases: [{ when: 'always', applies: () => true, pods: rejects('SysctlForbidden') }],
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
    why: 'Switched off, the node no longer reports ephemeral storage, and running pods that request it are refused at the restart.',
    risk: 'Pods with ephemeral-storage requests cannot run here while it is off; disk use has no limit per pod.',
  },
  userNamespaces: {
    what: 'Settings of user namespaces for pods.',
    needs: 'drain',
    why: 'Mappings of running pods are kept on disk and must fit the setting when the kubelet starts.',
    risk: 'See idsPerPod.',
  },
  'userNamespaces.idsPerPod': {
    what: 'How many UIDs and GIDs each pod with a user namespace gets; a multiple of 65536.',
    needs: 'drain',
    why: 'The kubelet reads the mappings of running pods at start and exits when their length differs from the new value.',
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
  },
  shutdownGracePeriodCriticalPods: {
    what: 'Share of shutdownGracePeriod that is kept for critical pods, at its end.',
    needs: 'restart',
    why: 'Taken by the shutdown manager at start.',
    risk: 'As long as the whole period, ordinary pods get no time at all.',
  },
  shutdownGracePeriodByPodPriority: {
    what: 'Shutdown time by pod priority, instead of the two periods.',
    needs: 'restart',
    why: 'Taken by the shutdown manager at start.',
    risk: 'Set together with the two periods it is refused. The sum of all times must fit what logind allows.',
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
