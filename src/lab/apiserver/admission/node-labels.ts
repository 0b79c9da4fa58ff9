/** Which labels a kubelet may set on its own Node: with others it could attract workloads of other nodes. */

const kubeletLabels = new Set([
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
]);
const kubeletPrefixes = ['kubelet.kubernetes.io', 'node.kubernetes.io'];

type Labels = Record<string, string> | undefined;

/** The labels that were added, changed or removed and that a kubelet may not change, sorted. */
export function forbiddenLabels(now: Labels, before: Labels): string[] {
  const keys = new Set([...Object.keys(now ?? {}), ...Object.keys(before ?? {})]);
  return [...keys].filter((key) => value(now, key) !== value(before, key) && isForbidden(key)).sort();
}

const value = (labels: Labels, key: string) => (labels && Object.hasOwn(labels, key) ? labels[key] : undefined);

function isForbidden(key: string): boolean {
  const prefix = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
  if (within(prefix, 'node-restriction.kubernetes.io')) return true;
  const ofKubernetes = within(prefix, 'kubernetes.io') || within(prefix, 'k8s.io');
  return ofKubernetes && !kubeletLabels.has(key) && !kubeletPrefixes.some((allowed) => within(prefix, allowed));
}

const within = (prefix: string, domain: string) => prefix === domain || prefix.endsWith(`.${domain}`);
