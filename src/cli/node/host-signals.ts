/** Creates the sampler of this host with the paths of its cgroups, which are mounted elsewhere in a pod. */
import { Sampler } from '../../agent/observe/sampler.js';
import { ownGroups, systemHost } from '../../agent/observe/system-host.js';
import type { NodeState } from '../../agent/state/node-state.js';
import { systemClock } from '../../clock.js';

/** The mount of the DaemonSet. A pod's own /sys/fs/cgroup shows the pod, or what its runtime lets it see. */
const mountInPod = '/host/cgroup';

export interface HostSignalsOptions {
  state: NodeState;
  bootId: string;
  /** Unit of the kubelet; undefined if relet is its parent, and it is in relet's own cgroup. */
  unit?: string;
  inPod?: boolean;
}

export const hostSignals = ({ state, bootId, unit, inPod = false }: HostSignalsOptions): Sampler =>
  new Sampler({
    host: systemHost,
    places: {
      mount: inPod ? mountInPod : '/sys/fs/cgroup',
      kubelet: unit === undefined ? ownGroups() : [`/system.slice/${unit}`],
    },
    state,
    bootId,
    clock: systemClock,
  });
