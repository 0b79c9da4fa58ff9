/** Reads the output of `relet config upgrade-check --all -o json`, as far as the page shows it. Pure. */

export interface NodesReport {
  /** The config that these nodes are assigned. */
  file: string;
  nodes?: string[];
  from: string;
  to: string;
  startup?: 'ok' | 'fails';
  upgraded?: boolean;
  withoutFlags?: boolean;
  /** Why they could not be checked. */
  unknown?: string;
  findings: {
    severity: 'error' | 'warning' | 'note';
    change: string;
    since: string;
    path: string;
    message: string;
    remedy?: string;
  }[];
}

export function resultOf({ startup, upgraded, unknown, findings, to }: NodesReport): string {
  if (unknown !== undefined) return `Not checked: ${unknown}.`;
  if (upgraded) return `Its kubelet is at ${to} or later: there is nothing to upgrade.`;
  if (startup === 'fails') return 'The kubelet would not start with it.';
  return findings.every(({ severity }) => severity === 'note')
    ? 'It means the same.'
    : 'The kubelet starts with it, and some of it changes.';
}

/** From the minor after the oldest kubelet of the fleet to the newest that relet knows: `1.36`, `1.37`. */
export function versionsAfter(kubelets: string[], newest: number): string[] {
  const minors = kubelets.flatMap((version) => {
    const minor = /^v?1\.(\d+)/.exec(version)?.[1];
    return minor === undefined ? [] : [Number(minor)];
  });
  const oldest = minors.reduce((a, b) => Math.min(a, b), newest - 1);
  return Array.from({ length: newest - oldest }, (_, at) => `1.${oldest + 1 + at}`);
}
