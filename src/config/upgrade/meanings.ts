/**
 * Changes of meaning between minors without a change of text or default: fields that begin to have an effect, change it, or lose it.
 * Each was verified in the kubelet's source on both sides of the minor.
 */
import { flagAt } from '../flags.js';
import { getField, type Minor } from '../model.js';
import type { ConfigView } from '../rules/config-view.js';

export interface Meaning {
  field: string;
  since: Minor;
  /** `meaning`: of interest where an upgrade crosses that minor. `deprecated`: of interest in every kubelet from then on. */
  change: 'meaning' | 'deprecated';
  severity: 'warning' | 'note';
  /** Whether this config is affected; both views are of the same document. */
  affects(after: ConfigView, before: ConfigView): boolean;
  what: string;
  remedy: string;
  /** The smallest config that is affected, as YAML. */
  example: string;
}

/** Whether the field is set, in the document or by a flag. */
const isSet = ({ context, minor }: ConfigView, field: string): boolean =>
  (getField(context.document ?? {}, field) ?? null) !== null ||
  [...context.flags.keys()].some((name) => flagAt(name, minor)?.field === field);

/** Fields that the kubelet ignores while their gate is off, and the minor in which it is on by default. */
const gated: readonly (readonly [field: string, gate: string, since: Minor, value: string, effect: string])[] = [
  ['podPidsLimit', 'SupportPodPidsLimit', 14, '1000', 'the kubelet limits the processes of a pod'],
  ['nodeLeaseDurationSeconds', 'NodeLease', 14, '20', 'the kubelet renews a Lease'],
  ['nodeStatusReportFrequency', 'NodeLease', 14, '2m', 'an unchanged status is posted only so often'],
  ['memoryManagerPolicy', 'MemoryManager', 22, 'Static', 'the kubelet runs the memory manager'],
  [
    'memoryThrottlingFactor',
    'MemoryQoS',
    37,
    '0.9',
    'on cgroup v2 the kubelet sets memory.high of Burstable and BestEffort containers, which slows them down near their limit',
  ],
];

const takesEffect = gated.map(([field, gate, since, value, effect]): Meaning => {
  return {
    field,
    since,
    change: 'meaning',
    severity: 'warning',
    affects: (after, before) =>
      isSet(after, field) &&
      after.gate(gate) &&
      !before.gate(gate) &&
      after.text(field) !== 'None' &&
      !(gate === 'MemoryQoS' && after.host.cgroupVersion === 1),
    what: `it begins to have an effect, since the feature gate ${gate} is on by default: ${effect}`,
    remedy: `remove it, or set the gate ${gate} to false, to keep what 1.${since - 1} does`,
    example: `${field}: ${value}`,
  };
});

/** Set without an effect. */
const effectless = (field: string, since: Minor, value: string, why: string): Meaning => ({
  field,
  since,
  change: 'deprecated',
  severity: 'note',
  affects: (after) => isSet(after, field),
  what: `it has no effect: ${why}`,
  remedy: 'remove it',
  example: `${field}: ${value}`,
});

const countsHugePages = (field: string, example: string): Meaning => ({
  field,
  since: 37,
  change: 'meaning',
  severity: 'note',
  affects: (after) =>
    isSet(after, field) && 'memory.available' in after.map(field) && after.gate('HugepageAwareEviction'),
  what: 'memory.available no longer counts free huge pages, since the feature gate HugepageAwareEviction is on by default: pods are evicted earlier on a host that has some',
  remedy: 'nothing on hosts without huge pages; set the gate to false to keep what 1.36 does',
  example,
});

const noRules = 'the kubelet no longer makes iptables rules with such a mark';
const dockershim = 'it was for dockershim, which is gone';

export const meanings: readonly Meaning[] = [
  ...takesEffect,
  effectless('hairpinMode', 24, 'hairpin-veth', dockershim),
  effectless('streamingConnectionIdleTimeout', 24, '1h', dockershim),
  {
    field: 'failSwapOn',
    since: 28,
    change: 'meaning',
    severity: 'warning',
    affects: (after) => !after.bool('failSwapOn') && !after.gate('NodeSwap') && after.host.swap !== false,
    what: 'while the feature gate NodeSwap is off, the kubelet gives no swap to containers; before, it set no limit and they could swap',
    remedy:
      'nothing if the host has no swap; else set NodeSwap and memorySwap.swapBehavior for containers that need it',
    example: 'failSwapOn: false',
  },
  {
    field: 'memorySwap.swapBehavior',
    since: 28,
    change: 'meaning',
    severity: 'warning',
    affects: (after, before) => before.gate('NodeSwap') && after.text('memorySwap.swapBehavior') === 'LimitedSwap',
    what: 'LimitedSwap gives swap only to containers of Burstable pods, in proportion to their memory request, and none on cgroup v1',
    remedy: 'look at what containers that swap need before the upgrade',
    example: 'featureGates: {NodeSwap: true}\nmemorySwap: {swapBehavior: LimitedSwap}',
  },
  {
    field: 'memorySwap.swapBehavior',
    since: 28,
    change: 'meaning',
    severity: 'warning',
    affects: (after, before) => before.gate('NodeSwap') && after.text('memorySwap.swapBehavior') === '',
    what: 'without a value it means UnlimitedSwap instead of LimitedSwap',
    remedy: 'write the value that you want',
    example: 'featureGates: {NodeSwap: true}',
  },
  effectless('iptablesDropBit', 28, '13', noRules),
  effectless('iptablesMasqueradeBit', 28, '13', noRules),
  {
    field: 'memorySwap.swapBehavior',
    since: 30,
    change: 'meaning',
    severity: 'warning',
    affects: (after, before) => before.gate('NodeSwap') && after.text('memorySwap.swapBehavior') === '',
    what: 'without a value it means NoSwap instead of UnlimitedSwap',
    remedy: 'write LimitedSwap for containers that need swap',
    example: 'featureGates: {NodeSwap: true}',
  },
  {
    field: 'cgroupDriver',
    since: 31,
    change: 'deprecated',
    severity: 'note',
    affects: (after) => isSet(after, 'cgroupDriver') && (after.minor >= 34 || after.gate('KubeletCgroupDriverFromCRI')),
    what: 'a container runtime that reports its own driver (containerd 2.0, CRI-O 1.28) overrides it; kubelet 1.38 will need such a runtime',
    remedy: 'nothing while both are the same; upgrade older runtimes before kubelet 1.38',
    example: 'cgroupDriver: systemd',
  },
  {
    field: 'cpuManagerPolicy',
    since: 33,
    change: 'meaning',
    severity: 'warning',
    affects: (after) => after.text('cpuManagerPolicy') === 'static' && after.gate('DisableCPUQuotaWithExclusiveCPUs'),
    what: 'containers with exclusive CPUs have no CPU quota any more, since the feature gate DisableCPUQuotaWithExclusiveCPUs is on by default',
    remedy: 'nothing for most; up to 1.36 setting the gate to false keeps the quota',
    example: 'cpuManagerPolicy: static\nkubeReserved: {cpu: "1"}',
  },
  {
    field: 'staticPodPath',
    since: 34,
    change: 'meaning',
    severity: 'note',
    affects: (after) =>
      after.text('staticPodPath') !== '' && (after.minor >= 37 || after.gate('PreventStaticPodAPIReferences')),
    what: 'static pods that refer to other objects of the API, such as ConfigMaps, Secrets or a ServiceAccount, are rejected',
    remedy: 'look through the static pods of the node',
    example: 'staticPodPath: /etc/kubernetes/manifests',
  },
  {
    field: 'failCgroupV1',
    since: 35,
    change: 'deprecated',
    severity: 'note',
    affects: (after) => after.get('failCgroupV1') === false && after.host.cgroupVersion !== 2,
    what: 'cgroup v1 is unsupported since 1.35 and will be removed in a later release',
    remedy: 'move hosts to cgroup v2',
    example: 'failCgroupV1: false',
  },
  {
    field: 'userNamespaces.idsPerPod',
    since: 35,
    change: 'meaning',
    severity: 'warning',
    affects: (after) => isSet(after, 'userNamespaces.idsPerPod') && after.number('userNamespaces.idsPerPod') !== 65536,
    what: 'it begins to have an effect: 1.33 and 1.34 give each pod 65536 user ids, whatever it says',
    remedy:
      'remove it to keep that, or drain the node first: the kubelet does not start while pods with user namespaces of another size are left',
    example: 'userNamespaces: {idsPerPod: 131072}',
  },
  countsHugePages('evictionHard', 'evictionHard: {memory.available: 200Mi}'),
  countsHugePages(
    'evictionSoft',
    'evictionSoft: {memory.available: 200Mi}\nevictionSoftGracePeriod: {memory.available: 1m}',
  ),
  {
    field: 'enforceNodeAllocatable',
    since: 37,
    change: 'meaning',
    severity: 'warning',
    affects: (after, before) =>
      after.list('enforceNodeAllocatable').some((one) => one === 'kube-reserved' || one === 'system-reserved') &&
      after.gate('MemoryQoS') &&
      !before.gate('MemoryQoS') &&
      after.host.cgroupVersion !== 1,
    what: 'on cgroup v2 the reserved memory is also guaranteed to these cgroups (memory.min), since the feature gate MemoryQoS is on by default',
    remedy: 'nothing for most; set the gate MemoryQoS to false to keep what 1.36 does',
    example: 'enforceNodeAllocatable: [pods, kube-reserved]\nkubeReservedCgroup: /kube\nkubeReserved: {memory: 1Gi}',
  },
  {
    field: 'eventRecordQPS',
    since: 37,
    change: 'meaning',
    severity: 'warning',
    affects: (after) => after.number('eventRecordQPS') === 0,
    what: '0 means no limit; before, the kubelet creates at most 5 events a second with it',
    remedy: 'write eventRecordQPS: 5 to keep that, or remove it for the default, 50',
    example: 'eventRecordQPS: 0',
  },
];
