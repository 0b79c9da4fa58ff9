/** Eviction: when the kubelet takes pods down to save the node. */
import type { Entries } from './entry.js';

const watcher = 'Thresholds are read once, when the eviction manager starts; it applies them within seconds.';

export const eviction: Entries = {
  evictionHard: {
    what: 'Thresholds at which pods are killed at once, such as memory.available: 100Mi. Naming one drops the defaults of the others.',
    needs: 'restart',
    why: watcher,
    pods: 'may be evicted',
    risk: 'Raised above what is free now, pods die within seconds. An unknown signal or a bad quantity stops the kubelet at start. It also lowers allocatable.',
  },
  evictionSoft: {
    what: 'Thresholds that must be crossed for a while before pods are evicted. Each needs a grace period.',
    needs: 'restart',
    why: watcher,
    pods: 'may be evicted',
    risk: 'A signal without its grace period, or a bad quantity, stops the kubelet at start.',
  },
  evictionSoftGracePeriod: {
    what: 'How long a soft threshold must be crossed before pods are evicted.',
    needs: 'restart',
    why: watcher,
    pods: 'may be evicted',
    risk: 'Short periods turn brief peaks into evictions.',
  },
  evictionPressureTransitionPeriod: {
    what: 'How long a node reports pressure after it is over.',
    needs: 'restart',
    why: watcher,
    pods: 'may be evicted',
    risk: 'Short values make the condition flap and pods come back too early; 0 counts as unset.',
  },
  evictionMaxPodGracePeriod: {
    what: 'Longest time, in seconds, a pod gets to end in a soft eviction.',
    needs: 'restart',
    why: watcher,
    pods: 'may be evicted',
    risk: 'Short values cut off clean-up; long ones let the node run into the hard threshold.',
  },
  evictionMinimumReclaim: {
    what: 'How far below a threshold an eviction must bring the use.',
    needs: 'restart',
    why: watcher,
    pods: 'may be evicted',
    risk: 'Large values evict more pods than needed; none lets the node hover at the threshold.',
  },
  mergeDefaultEvictionSettings: {
    what: 'Whether thresholds left out of evictionHard keep their defaults.',
    needs: 'restart',
    why: watcher,
    pods: 'may be evicted',
    risk: 'Turned on, thresholds come back that the node ran without until now, and pods may be evicted at once.',
  },
  kernelMemcgNotification: {
    what: 'Whether the kernel reports crossed memory thresholds, besides polling.',
    needs: 'restart',
    why: 'The listener is set up at start.',
    risk: 'Reacts faster, and also to peaks a poll would not have seen.',
  },
};
