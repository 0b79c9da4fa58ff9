/** Fields whose values, and maps whose keys, are limited to a few that the kubelet knows. Pure. */
import { cpuOptions } from './forecast/cpu-manager.js';
import { evictionSignals } from './forecast/eviction.js';
import type { Option } from './forecast/manager-options.js';
import { topologyOptions } from './forecast/topology-manager.js';
import { gateAt, gatesOf } from './gates.js';
import type { Minor } from './model.js';

/** Values that make sense to the kubelet, where it takes only a few; an empty text counts as unset. */
const choices: Record<string, (minor: Minor) => string[]> = {
  'authorization.mode': () => ['AlwaysAllow', 'Webhook'],
  cgroupDriver: () => ['cgroupfs', 'systemd'],
  configMapAndSecretChangeDetectionStrategy: () => ['Get', 'Cache', 'Watch'],
  cpuManagerPolicy: () => ['none', 'static'],
  'enforceNodeAllocatable[]': (minor) => [
    'none',
    'pods',
    'system-reserved',
    ...(minor >= 32 ? ['system-reserved-compressible'] : []),
    'kube-reserved',
    ...(minor >= 32 ? ['kube-reserved-compressible'] : []),
  ],
  hairpinMode: () => ['promiscuous-bridge', 'hairpin-veth', 'none'],
  imagePullCredentialsVerificationPolicy: () => [
    'NeverVerify',
    'NeverVerifyPreloadedImages',
    'NeverVerifyAllowlistedImages',
    'AlwaysVerify',
  ],
  'logging.format': () => ['text', 'json'],
  memoryManagerPolicy: () => ['None', 'Static'],
  'memorySwap.swapBehavior': (minor) => (minor < 30 ? ['LimitedSwap', 'UnlimitedSwap'] : ['NoSwap', 'LimitedSwap']),
  memoryReservationPolicy: () => ['None', 'TieredReservation'],
  'registerWithTaints[].effect': () => ['NoSchedule', 'PreferNoSchedule', 'NoExecute'],
  topologyManagerPolicy: () => ['none', 'best-effort', 'restricted', 'single-numa-node'],
  topologyManagerScope: () => ['container', 'pod'],
};

/** Undefined if any value of the type may do. `path` as in a Field: `enforceNodeAllocatable[]` is an item of the list. */
export const choicesOf = (path: string, minor: Minor): string[] | undefined =>
  Object.hasOwn(choices, path) ? choices[path]!(minor) : undefined;

export const fieldsWithChoices: readonly string[] = Object.keys(choices);

export function gateNamesOf(minor: Minor): string[] {
  const groups = ['AllAlpha', 'AllBeta'].filter((group) => gateAt(group, minor) !== undefined);
  return [...groups, ...gatesOf(minor)];
}

const optionNames = (options: Record<string, Option>) => (minor: Minor) =>
  Object.keys(options).filter((name) => options[name]!.stages[0] <= minor);
const reservable = (minor: Minor) => ['cpu', 'memory', 'ephemeral-storage', ...(minor >= 14 ? ['pid'] : [])];

const mapKeys: Record<string, (minor: Minor) => string[]> = {
  cpuManagerPolicyOptions: optionNames(cpuOptions),
  evictionHard: evictionSignals,
  evictionMinimumReclaim: evictionSignals,
  evictionSoft: evictionSignals,
  evictionSoftGracePeriod: evictionSignals,
  featureGates: gateNamesOf,
  kubeReserved: reservable,
  qosReserved: () => ['memory'],
  systemReserved: reservable,
  topologyManagerPolicyOptions: optionNames(topologyOptions),
};

/** None if any key may do, or the field is not a map. */
export const mapKeysOf = (path: string, minor: Minor): string[] =>
  Object.hasOwn(mapKeys, path) ? mapKeys[path]!(minor) : [];
