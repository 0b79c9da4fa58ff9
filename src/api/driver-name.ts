/** Names of the agent's drivers in the status of a NodeConfig: how the agent starts and stops its kubelet. */

/** The kubelet is a part of k3s or RKE2: it is restarted with all of that program. */
export type EmbeddedDriver = `${'k3s' | 'rke2'}-${'agent' | 'server'}`;

/** A restart of the kubelet is one of the API server of this host. */
export const restartsApiServer = (driver: string | undefined): boolean =>
  driver === 'k3s-server' || driver === 'rke2-server';

const embedded: readonly string[] = ['k3s-agent', 'k3s-server', 'rke2-agent', 'rke2-server'] satisfies EmbeddedDriver[];

/** relet is beside the kubelet, in attached mode, and not its parent. */
export const isAttached = (driver: string | undefined): boolean =>
  driver === 'systemd' || (driver !== undefined && embedded.includes(driver));
