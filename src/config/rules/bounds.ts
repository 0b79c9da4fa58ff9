/** Range checks of numeric fields with the kubelet's messages: a table, since only names and bounds differ. */
import type { ConfigView } from './config-view.js';

interface Bound {
  flag: string;
  min: number;
  max?: number;
  /** Zero means off and is always taken. */
  zeroIsOff?: boolean;
  /** The lower bound in the message, where the kubelet's text differs from its rule. */
  saidMin?: number;
}

const percent = { min: 0, max: 100 };
const iptablesBit = { min: 0, max: 31 };
const port = { min: 1, max: 65535 };

const bounds = {
  eventBurst: { flag: 'event-burst', min: 0 },
  eventRecordQPS: { flag: 'event-qps', min: 0 },
  healthzPort: { flag: 'healthz-port', ...port, zeroIsOff: true },
  imageGCHighThresholdPercent: { flag: 'image-gc-high-threshold', ...percent },
  imageGCLowThresholdPercent: { flag: 'image-gc-low-threshold', ...percent },
  iptablesDropBit: { flag: 'iptables-drop-bit', ...iptablesBit },
  iptablesMasqueradeBit: { flag: 'iptables-masquerade-bit', ...iptablesBit },
  kubeAPIBurst: { flag: 'kube-api-burst', min: 0 },
  kubeAPIQPS: { flag: 'kube-api-qps', min: 0 },
  maxOpenFiles: { flag: 'max-open-files', min: 0 },
  maxPods: { flag: 'max-pods', min: 0 },
  oomScoreAdj: { flag: 'oom-score-adj', min: -1000, max: 1000 },
  podsPerCore: { flag: 'pods-per-core', min: 0 },
  port: { flag: 'port', ...port },
  readOnlyPort: { flag: 'read-only-port', ...port, zeroIsOff: true, saidMin: 0 },
  registryBurst: { flag: 'registry-burst', min: 0 },
  registryPullQPS: { flag: 'registry-qps', min: 0 },
} satisfies Record<string, Bound>;

/** Checks these fields against their bounds, in this order. */
export function checkBounds(view: ConfigView, fields: readonly (keyof typeof bounds)[]): void {
  for (const field of fields) {
    const bound: Bound = bounds[field];
    const value = view.number(field);
    if ((bound.zeroIsOff && value === 0) || (value >= bound.min && value <= (bound.max ?? Infinity))) continue;
    const rule =
      bound.max === undefined
        ? 'must not be a negative number'
        : `must be between ${bound.saidMin ?? bound.min} and ${bound.max}, inclusive`;
    view.report(
      field,
      `invalid configuration: ${spell(field, view.minor)} (--${bound.flag}) ${print(view, field)} ${rule}`,
    );
  }
}

/** The kubelet named fields as its Go struct does until 1.19, as the document does since. */
export function spell(field: string, minor: number): string {
  if (minor >= 20) return field;
  return field.replace(/^(iptables|oom|cpu(?=CFS)|[a-z])/, (start) =>
    start === 'iptables' ? 'IPTables' : start.toUpperCase(),
  );
}

/** A number exactly as written, also beyond 2^53. */
export function print(view: ConfigView, path: string): string {
  return String(view.get(path) ?? 0);
}
