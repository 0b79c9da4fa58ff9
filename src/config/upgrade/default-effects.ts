/** Explains changed defaults whose effect on a node the value alone does not show. */
import type { ConfigView } from '../rules/config-view.js';

export interface DefaultEffect {
  /** In docs and in findings, after the two values. */
  effect: string;
  /** Instead of writing the old value. */
  remedy?: string;
  /** Whether the config, or the host, makes it matter. Otherwise it is only a note. Default true. */
  matters?(after: ConfigView, before: ConfigView): boolean;
}

/** By field. */
export const defaultEffects: Readonly<Record<string, DefaultEffect>> = {
  'crashLoopBackOff.maxContainerRestartPeriod': {
    effect: 'kubelets before that have the same limit without showing it',
    matters: () => false,
  },
  evictionHard: {
    effect: 'pods are evicted when the inodes of the image file system run low',
    remedy: 'write evictionHard with all thresholds that you want',
  },
  failCgroupV1: {
    effect: 'on a host with cgroup v1 the kubelet does not start',
    remedy: 'move hosts to cgroup v2, or write failCgroupV1: false until then',
    matters: ({ host }) => host.cgroupVersion !== 2,
  },
  imagePullCredentialsVerificationPolicy: {
    effect: 'an image that was pulled with a Secret is given to other pods only if their own Secrets can pull it',
    remedy:
      'write imagePullCredentialsVerificationPolicy: NeverVerify together with the upgrade to keep what 1.34 does; 1.33 and 1.34 reject it',
  },
  memoryThrottlingFactor: {
    effect: 'it is used only on cgroup v2 and with the feature gate MemoryQoS; without a value, memory.high is not set',
    matters: (after, before) => before.gate('MemoryQoS') && after.gate('MemoryQoS') && after.host.cgroupVersion !== 1,
  },
  nodeStatusReportFrequency: {
    effect: 'an unchanged node status is posted less often; the Lease shows that it is alive',
  },
};
