/** Catalogue entries for the node's network, as far as the kubelet still configures it. */
import { isRemoved } from './directions.js';
import type { Entries } from './entry.js';

export const network: Entries = {
  podCIDR: {
    what: 'Address range of pods, for a kubelet without an API server.',
    needs: 'never',
    why: 'With an API server the range of the Node object replaces it within seconds; one config for many nodes would hand the same range to all.',
    risk: 'Until then the runtime may hand out addresses that belong to another node.',
    cases: [
      {
        when: 'removed',
        applies: isRemoved,
        needs: 'restart',
        why: 'The range of the Node object is what the kubelet uses anyway.',
        risk: '',
        pods: 'unaffected',
      },
    ],
  },
  hairpinMode: {
    what: 'How a pod may reach itself through its Service, with the built-in Docker support.',
    needs: 'reboot',
    why: 'Bridge and interfaces of running pods keep the old mode, and the bridge is not created again.',
    risk: 'promiscuous-bridge duplicates packets on some kernels; none breaks pods that call their own Service.',
    later: { from: 24, needs: 'none', why: 'Built-in Docker support is gone; the network plugin decides.' },
  },
  makeIPTablesUtilChains: {
    what: 'Whether the kubelet keeps its few iptables chains in place.',
    needs: 'restart',
    why: 'The repairing loop is started, or not, at start.',
    risk: 'Off, chains that others rely on are not repaired any more; old ones stay until a reboot.',
    atBoot: 'Chains that a kubelet has written stay until a boot, and who relies on them misses them only then.',
    pods: 'unknown',
  },
  iptablesMasqueradeBit: {
    what: 'Packet mark bit for source NAT; must equal the one of kube-proxy.',
    needs: 'reboot',
    why: 'Rules with the old bit stay in the kernel beside the new ones.',
    risk: 'Differing from kube-proxy, return traffic of Services is lost. Must differ from iptablesDropBit.',
    later: { from: 28, needs: 'none', why: 'The kubelet no longer writes rules that use it.' },
  },
  iptablesDropBit: {
    what: 'Packet mark bit for packets to drop.',
    needs: 'reboot',
    why: 'Rules with the old bit stay in the kernel beside the new ones.',
    risk: 'A bit that something else uses drops its packets. Must differ from iptablesMasqueradeBit.',
    later: { from: 28, needs: 'none', why: 'The kubelet no longer writes rules that use it.' },
  },
};
