/** CPU, memory and topology managers. Their decisions for running pods are on disk, in state files the next start must accept. */
import type { Entries } from './entry.js';

const cpuState = 'cpu_manager_state under the kubelet root directory';
const memoryState = 'memory_manager_state under the kubelet root directory';

export const resourceManagers: Entries = {
  cpuManagerPolicy: {
    what: 'none, or static to give whole CPUs to Guaranteed pods with whole CPU requests.',
    needs: 'state-file',
    why: `The policy is recorded in ${cpuState}. The kubelet does not start when it differs; drain, remove the file, then change.`,
    risk: 'A crash loop while the old file is there; removed under running pods, CPUs are given out twice.',
  },
  cpuManagerPolicyOptions: {
    what: 'Fine tuning of the static CPU policy, such as full-pcpus-only.',
    needs: 'state-file',
    why: `Options decide which CPUs are shared and which are handed out; ${cpuState} still has the old division, and strict-cpu-reservation does not start on it.`,
    risk: 'Unknown options, or options whose gate is off, stop the kubelet at start.',
  },
  cpuManagerReconcilePeriod: {
    what: 'How often CPU assignments are written to containers again.',
    needs: 'restart',
    why: 'The loop takes its period at start.',
    risk: 'Short values cost calls to the runtime for each container.',
  },
  reservedSystemCPUs: {
    what: 'List of CPUs for system and Kubernetes daemons; replaces the cpu part of the reservations.',
    needs: 'state-file',
    why: `With the static policy the reserved CPUs must agree with ${cpuState}; the kubelet does not start otherwise. Without it a restart is enough.`,
    risk: 'A CPU the host does not have, or one given to a pod already, stops the kubelet.',
  },
  memoryManagerPolicy: {
    what: 'None, or Static to keep memory of Guaranteed pods on chosen NUMA nodes.',
    needs: 'state-file',
    why: `The policy is recorded in ${memoryState}. The kubelet does not start when it differs; drain, remove the file, then change.`,
    risk: 'A crash loop while the old file is there. Static needs reservedMemory that adds up exactly.',
  },
  reservedMemory: {
    what: 'Memory reserved on each NUMA node, for the static memory manager.',
    needs: 'state-file',
    why: `Part of the machine state in ${memoryState}; the kubelet does not start when the two differ.`,
    risk: 'The sum must equal kubeReserved + systemReserved + hard eviction threshold of memory; otherwise the kubelet does not start.',
  },
  'reservedMemory[].numaNode': {
    what: 'Number of the NUMA node.',
    needs: 'state-file',
    why: `Part of the machine state in ${memoryState}.`,
    risk: 'A NUMA node the host does not have stops the kubelet.',
  },
  'reservedMemory[].limits': {
    what: 'Amounts of memory and huge pages reserved on that NUMA node.',
    needs: 'state-file',
    why: `Part of the machine state in ${memoryState}.`,
    risk: 'The sum over all NUMA nodes must equal what the node reserves in all; otherwise the kubelet does not start.',
  },
  topologyManagerPolicy: {
    what: 'How strictly CPUs, memory and devices of a pod must lie on the same NUMA node.',
    needs: 'drain',
    why: 'Pods are admitted again after the restart. One that runs across NUMA nodes is refused by a stricter policy.',
    risk: 'Running pods fail with TopologyAffinityError; the scheduler sends new ones to a node that keeps refusing them.',
  },
  topologyManagerScope: {
    what: 'Whether alignment is sought for each container or for the pod as a whole.',
    needs: 'drain',
    why: 'Pods are admitted again after the restart, by the new scope; what was aligned by container may not be as a pod.',
    risk: 'Running pods fail with TopologyAffinityError.',
  },
  topologyManagerPolicyOptions: {
    what: 'Fine tuning of the topology policy, such as prefer-closest-numa-nodes.',
    needs: 'drain',
    why: 'Pods are admitted again after the restart, by the new rules.',
    risk: 'Unknown options, or options whose gate is off, stop the kubelet at start.',
  },
};
