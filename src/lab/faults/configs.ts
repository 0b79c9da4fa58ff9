/**
 * The configs of a schedule. How a kubelet behaves with one is in its cluster domain, so that both the simulated kubelet and the model
 * can read it from any document that a kubelet was started with.
 */
import type { Behaviour } from '../../agent/drivers/fake.js';

export const behaviours = ['good', 'invalid', 'crashing', 'flapping', 'unhealthy', 'taken', 'brief', 'slow'] as const;
/** Good for a kubelet, and started by no host with a trust file: without a signature, or with one of a key that it does not list. */
export const notSigned = ['unsigned', 'foreign'] as const;
export type ConfigClass = (typeof behaviours | typeof notSigned)[number];

/** One version of the data of a ConfigMap. */
export interface ConfigVersion {
  /** Name of the ConfigMap. */
  name: string;
  /** Counts its edits. */
  version: number;
  class: ConfigClass;
  isOverlay: boolean;
  /** Signed once more: the same text under another statement. */
  isRenewed?: boolean;
  /** Its statement ends at this time of the simulation. */
  endsAtMs?: number;
}

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

export const localText = `${header}clusterDomain: local.test\nmaxPods: 110\n# end\n`;

/** Unique for the version of a config. */
export const domainOf = ({ name, version, class: behaviour }: ConfigVersion) => `${name}-${version}.${behaviour}.test`;

export function textOf(config: ConfigVersion): string {
  const fields = [`clusterDomain: ${domainOf(config)}`, ...(config.class === 'invalid' ? ['maxPods: -1'] : [])];
  if (!config.isOverlay) return `${header}${fields.join('\n')}\n# end\n`;
  const kind = 'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\n';
  return `${kind}config:\n${fields.map((field) => `  ${field}\n`).join('')}# end\n`;
}

/** Config with which a kubelet was started. */
export interface StartedText {
  /** `local.test` for the local config. */
  domain: string;
  /** Nothing is missing. */
  isWhole: boolean;
}

/** In any document: YAML or JSON, whole, merged or an overlay. */
export const domainIn = (text: string): string => /clusterDomain"?: "?([\w.-]+)/.exec(text)?.[1] ?? '';

export function readStarted(text: string): StartedText {
  const domain = domainIn(text);
  // A merged document has no comments, and its last field is a local one.
  const isMerged = !text.includes('#') && /^maxPods: -?\d+\n/m.test(text);
  const isWhole = text.includes('kind: KubeletConfiguration\n') && (text.endsWith('# end\n') || isMerged);
  return { domain, isWhole };
}

/** The name of the config in a domain such as c1-2.good.test; `local.test` for the local one. */
export const configIn = (domain: string): string => domain.split('-')[0]!;

export const classOf = (domain: string): ConfigClass | 'local' | undefined =>
  domain === 'local.test'
    ? 'local'
    : [...behaviours, ...notSigned].find((behaviour) => domain.endsWith(`.${behaviour}.test`));

/** No host of the schedule starts it. */
export const isRejected = (behaviour: string | undefined): boolean =>
  ['invalid', ...notSigned].some((one) => one === behaviour);

const crash = ['panic: simulated', 'goroutine 1 [running]:'];

export function behaviourOf(behaviour: ConfigClass | 'local' | undefined): Behaviour {
  switch (behaviour) {
    case 'crashing':
      return { healthyAfterMs: Number.POSITIVE_INFINITY, exits: { afterMs: 700, code: 1 }, log: crash };
    // Its port is another process's, which answers in its place.
    case 'taken':
      return {
        healthyAfterMs: Number.POSITIVE_INFINITY,
        exits: { afterMs: 900, code: 1 },
        portsTakenBy: 'pid 9',
        log: crash,
      };
    // It answers, and exits at once, because another process has its other port.
    case 'brief':
      return { healthyAfterMs: 880, exits: { afterMs: 900, code: 1 }, portsTakenBy: 'pid 9', log: crash };
    case 'flapping':
      return { healthyAfterMs: 1000, exits: { afterMs: 6000, code: 2 }, log: crash };
    case 'unhealthy':
      return { healthyAfterMs: Number.POSITIVE_INFINITY };
    case 'slow':
      return { healthyAfterMs: 30_000 };
    default:
      return { healthyAfterMs: 1500 };
  }
}
