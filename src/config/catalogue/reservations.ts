/** Catalogue entries for resources reserved for the system and for Kubernetes, and where the reservations are enforced. */
import { parseQuantity } from '../../go/quantity.js';
import type { Change } from '../diff.js';
import { getField, type KubeletConfig } from '../model.js';
import type { PodFacts } from '../node-facts.js';
import {
  both,
  direction,
  isLowered,
  isStaticCPU,
  isStaticMemory,
  keyOf,
  listAt,
  rejecting,
  textAt,
} from './directions.js';
import type { Case, Entries, Situation } from './entry.js';

const enforces = (config: KubeletConfig, which: 'system' | 'kube'): boolean =>
  listAt(config, 'enforceNodeAllocatable').some((one) => one.startsWith(`${which}-reserved`));

/** How many CPUs the static CPU manager sets aside: the whole sum, rounded up. */
const reservedCores = (config: KubeletConfig): number =>
  Math.ceil(
    ['kubeReserved', 'systemReserved'].reduce((sum, map) => {
      const cpu = (getField(config, map) as Record<string, unknown> | null)?.cpu;
      return sum + Number(parseQuantity(String(cpu ?? 0))?.nano ?? 0n) / 1e9;
    }, 0),
  );

const shrinks =
  'Allocatable shrinks. The kubelet admits every pod again after a restart, oldest first, and not all of them fit.';

/** Cases of systemReserved and kubeReserved, by resource and direction. */
const reserved = (which: 'system' | 'kube'): readonly Case[] => [
  {
    when: 'cpu, which reservedSystemCPUs replaces',
    applies: (change, situation) =>
      keyOf(change) === 'cpu' && both(situation, (config) => textAt(config, 'reservedSystemCPUs') !== ''),
    why: 'The kubelet takes the cpu part of reservations from reservedSystemCPUs.',
    risk: '',
  },
  {
    when: 'memory, with memory manager policy Static',
    applies: (change, { before, after }) =>
      keyOf(change) === 'memory' && (isStaticMemory(before) || isStaticMemory(after)),
    needs: 'state-file',
    why: 'reservedMemory has to change with it, and the kubelet does not start when it differs from memory_manager_state under its root directory.',
  },
  {
    when: 'cpu, with CPU manager policy static and another whole number of reserved CPUs',
    applies: (change, situation) =>
      keyOf(change) === 'cpu' &&
      both(situation, isStaticCPU) &&
      reservedCores(situation.before) !== reservedCores(situation.after) &&
      mayHoldCPUs(change, situation),
    needs: 'state-file',
    why: 'CPUs that the new reservation takes may be given to pods in cpu_manager_state under the kubelet root directory; the kubelet does not start then.',
  },
  {
    when: `lowered, while ${which}-reserved is enforced`,
    applies: (change, { after }) => direction(change) === -1 && enforces(after, which),
    risk: `The limit of the cgroup of the ${which === 'system' ? 'system daemons' : 'kubelet and the runtime'} is lowered too; with memory, the kernel kills what exceeds it.`,
  },
  { when: 'lowered', applies: isLowered, risk: 'The system has less for itself when pods use all that they may.' },
  {
    when: 'pid, raised',
    applies: (change) => keyOf(change) === 'pid',
    risk: 'Pods that run share fewer processes; when they have more already, none of them can start another.',
    pods: 'unknown',
  },
  ...rejecting({
    when: 'memory raised',
    applies: (change) => keyOf(change) === 'memory',
    reasons: ['OutOfmemory'],
    why: shrinks,
    risk: 'The youngest pods that no longer fit fail with OutOfmemory, and a rollback does not bring them back. Others are evicted when they use more than is left.',
    otherwise: {
      risk: 'The limit over all pods is lowered; pods are evicted when they use more.',
      pods: 'may be evicted',
    },
  }),
  ...rejecting({
    when: 'raised',
    applies: () => true,
    reasons: ['OutOf'],
    why: shrinks,
    risk: 'The youngest pods that no longer fit fail with OutOfcpu or OutOfephemeral-storage, and a rollback does not bring them back.',
  }),
];

/** With strict-cpu-reservation any other set is refused; otherwise only a larger one, while pods may hold CPUs. */
function mayHoldCPUs(change: Change, { after, facts }: Situation): boolean {
  if (textAt(after, 'cpuManagerPolicyOptions.strict-cpu-reservation') === 'true') return true;
  const holds = ({ qosClass, requests }: PodFacts) => qosClass === 'Guaranteed' && (requests.cpu ?? 0n) >= 10n ** 9n;
  return direction(change) === 1 && (facts.pods?.some(holds) ?? true);
}

/** Cases of systemReservedCgroup and kubeReservedCgroup: without enforcement nothing was written on the old one. */
const reservedCgroup = (which: 'system' | 'kube'): readonly Case[] => [
  {
    when: `${which}-reserved is not enforced`,
    applies: (_change, situation) => both(situation, (config) => !enforces(config, which)),
    needs: 'restart',
    why: `Nothing is written on this cgroup while enforceNodeAllocatable does not name ${which}-reserved.`,
    risk: '',
  },
  {
    when: `${which}-reserved is enforced only from now on`,
    applies: (_change, { before }) => !enforces(before, which),
    needs: 'restart',
    why: 'No limit was written on the old cgroup; that of the new one is written at start.',
    pods: 'unknown',
  },
];

const has = (value: unknown, one: string): boolean => Array.isArray(value) && value.includes(one);
const gains = (one: string) => (change: Change) => !has(change.before, one) && has(change.after, one);
const loses = (one: string) => (change: Change) => has(change.before, one) && !has(change.after, one);
const parts = ['system-reserved', 'kube-reserved', 'system-reserved-compressible', 'kube-reserved-compressible'];

export const reservations: Entries = {
  systemReserved: {
    what: 'CPU, memory, storage and PIDs set aside for the operating system; taken from what pods may use.',
    needs: 'restart',
    why: 'Allocatable is computed at start, and the limit over all pods is written again. No pod has to move while it fits.',
    risk: 'Grown beyond what is free, pods fail with OutOfcpu or OutOfmemory at the restart, or are evicted. With static CPU or memory manager the kubelet may refuse its state file.',
    cases: reserved('system'),
  },
  kubeReserved: {
    what: 'CPU, memory, storage and PIDs set aside for the kubelet and the runtime; taken from what pods may use.',
    needs: 'restart',
    why: 'Allocatable is computed at start, and the limit over all pods is written again. No pod has to move while it fits.',
    risk: 'Grown beyond what is free, pods fail with OutOfcpu or OutOfmemory at the restart, or are evicted. With static CPU or memory manager the kubelet may refuse its state file.',
    cases: reserved('kube'),
  },
  systemReservedCgroup: {
    what: 'Cgroup of the system daemons, on which systemReserved is enforced.',
    needs: 'reboot',
    why: 'Limits already written on the old cgroup stay there.',
    risk: 'A cgroup that does not exist stops the kubelet when system-reserved is enforced; a wrong one starves what lives in it.',
    atBoot: 'A cgroup that exists now may not exist yet when the kubelet starts at a boot.',
    cases: reservedCgroup('system'),
  },
  kubeReservedCgroup: {
    what: 'Cgroup of kubelet and runtime, on which kubeReserved is enforced.',
    needs: 'reboot',
    why: 'Limits already written on the old cgroup stay there.',
    risk: 'A cgroup that does not exist stops the kubelet when kube-reserved is enforced; too small a limit kills the runtime.',
    atBoot: 'A cgroup that exists now may not exist yet when the kubelet starts at a boot.',
    cases: reservedCgroup('kube'),
  },
  enforceNodeAllocatable: {
    what: 'Which reservations are enforced by cgroup limits: pods, system-reserved, kube-reserved and their compressible forms.',
    needs: 'restart',
    why: 'Limits are written at start. Only what was enforced on reserved cgroups stays until a reboot when it is taken out.',
    risk: 'Enforcing a reservation that is too small kills system daemons or the kubelet itself; enforcing none lets pods starve them.',
    cases: [
      {
        when: 'system-reserved or kube-reserved is taken out',
        applies: (change) => parts.some((one) => loses(one)(change)),
        needs: 'reboot',
        why: 'The limits that were written on the cgroup of the reservation stay there; the kubelet does not lift them.',
        risk: 'Until the reboot system daemons, or kubelet and runtime, keep limits that no config shows any more.',
      },
      {
        when: 'system-reserved or kube-reserved is added',
        applies: (change) => ['system-reserved', 'kube-reserved'].some((one) => gains(one)(change)),
        risk: 'The kernel kills system daemons, the runtime or the kubelet itself when they use more memory than is reserved for them.',
        pods: 'unknown',
      },
      {
        when: 'a compressible reservation is added',
        applies: (change) => parts.slice(2).some((one) => gains(one)(change)),
        risk: 'System daemons, or kubelet and runtime, get only the CPU share that is reserved when all CPUs are busy.',
      },
      {
        when: 'pods is added',
        applies: gains('pods'),
        why: 'The limit over all pods is lowered at start, from all of the host to allocatable.',
        risk: 'Pods are evicted when together they use more memory than the limit.',
        pods: 'may be evicted',
      },
      {
        when: 'pods is taken out',
        applies: loses('pods'),
        why: 'The limit over all pods is raised at start, to all of the host.',
        risk: 'Nothing keeps pods from using what is reserved for the system.',
      },
    ],
  },
};
