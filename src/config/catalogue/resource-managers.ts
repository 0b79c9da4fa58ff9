/**
 * Catalogue entries for the CPU, memory and topology managers. They keep their assignments to running pods in state files, which the
 * next start must accept.
 */
import { both, isStaticCPU, isStaticMemory, keyOf, rejecting, textAt } from './directions.js';
import type { Case, Entries } from './entry.js';

const cpuState = 'cpu_manager_state under the kubelet root directory';
const memoryState = 'memory_manager_state under the kubelet root directory';

/** Case of fields that only the static CPU manager reads. */
const withoutStaticCPU: Case = {
  when: 'the CPU manager policy is none',
  applies: (_change, situation) => both(situation, (config) => !isStaticCPU(config)),
  needs: 'restart',
  why: 'Without the static policy no CPU is given to a pod, and the state file has none to disagree about.',
  risk: '',
};

const withoutStaticMemory: readonly Case[] = [
  {
    when: 'the memory manager policy is None',
    applies: (_change, situation) => both(situation, (config) => !isStaticMemory(config)),
    needs: 'restart',
    why: 'Without the policy Static the memory manager keeps no machine state on disk.',
    risk: '',
  },
];

/** With policy none the list only counts: it is what allocatable loses of cpu. */
const fewerCPUs: readonly Case[] = rejecting({
  when: 'the CPU manager policy is none',
  applies: withoutStaticCPU.applies,
  reasons: ['OutOfcpu'],
  why: 'Allocatable shrinks. The kubelet admits every pod again after a restart, oldest first, and not all of them fit.',
  risk: 'Where more is reserved, the youngest pods that no longer fit fail with OutOfcpu, and a rollback does not bring them back.',
}).map((one) => ({ needs: 'restart', why: withoutStaticCPU.why!, ...one }));

/** none and best-effort reject no pod, however it lies. */
const rejectsNothing: readonly Case[] = [
  {
    when: 'the topology manager policy is none or best-effort from now on',
    applies: (_change, { after }) => ['', 'none', 'best-effort'].includes(textAt(after, 'topologyManagerPolicy')),
    needs: 'restart',
    why: 'These policies reject no pod. Pods that run keep the CPUs, memory and devices that they have.',
    risk: 'New pods may lie across NUMA nodes, and run slower.',
    pods: 'new containers only',
  },
];

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
    cases: [
      withoutStaticCPU,
      {
        when: 'full-pcpus-only turned on',
        applies: (change) => keyOf(change) === 'full-pcpus-only' && String(change.after) === 'true',
        needs: 'drain',
        why: 'Pods are admitted again after the restart. One whose CPUs are not whole cores is rejected.',
        risk: 'Running pods fail with SMTAlignmentError.',
      },
      {
        when: 'any option but strict-cpu-reservation',
        applies: (change) => keyOf(change) !== 'strict-cpu-reservation',
        needs: 'restart',
        why: 'The option decides only which CPUs a new container gets. Those that run keep what they have.',
        pods: 'new containers only',
      },
    ],
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
    why: `With the static policy the reserved CPUs must agree with ${cpuState}; the kubelet does not start otherwise. With policy none a restart is enough.`,
    risk: 'A CPU the host does not have, or one given to a pod already, stops the kubelet.',
    cases: fewerCPUs,
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
    cases: withoutStaticMemory,
  },
  'reservedMemory[].numaNode': {
    what: 'Number of the NUMA node.',
    needs: 'state-file',
    why: `Part of the machine state in ${memoryState}.`,
    risk: 'A NUMA node the host does not have stops the kubelet.',
    cases: withoutStaticMemory,
  },
  'reservedMemory[].limits': {
    what: 'Amounts of memory and huge pages reserved on that NUMA node.',
    needs: 'state-file',
    why: `Part of the machine state in ${memoryState}.`,
    risk: 'The sum over all NUMA nodes must equal what the node reserves in all; otherwise the kubelet does not start.',
    cases: withoutStaticMemory,
  },
  topologyManagerPolicy: {
    what: 'How strictly CPUs, memory and devices of a pod must lie on the same NUMA node.',
    needs: 'drain',
    why: 'Pods are admitted again after the restart. One that runs across NUMA nodes is rejected by a stricter policy.',
    risk: 'Running pods fail with TopologyAffinityError; the scheduler sends new ones to a node that keeps rejecting them.',
    cases: rejectsNothing,
  },
  topologyManagerScope: {
    what: 'Whether alignment is sought for each container or for the pod as a whole.',
    needs: 'drain',
    why: 'Pods are admitted again after the restart, by the new scope; what was aligned by container may not be as a pod.',
    risk: 'Running pods fail with TopologyAffinityError.',
    cases: rejectsNothing,
  },
  topologyManagerPolicyOptions: {
    what: 'Fine tuning of the topology policy, such as prefer-closest-numa-nodes.',
    needs: 'drain',
    why: 'Pods are admitted again after the restart, by the new rules.',
    risk: 'Unknown options, or options whose gate is off, stop the kubelet at start.',
    cases: rejectsNothing,
  },
};
