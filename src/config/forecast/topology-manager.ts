/** Forecast for the topology manager: its policy until 1.19, its options, and the number of NUMA nodes that it supports. */
import { quote } from '../../go/quote.js';
import { forecastOptions, type Option } from './manager-options.js';
import type { Outlook } from './outlook.js';

export const topologyOptions: Record<string, Option> = {
  'prefer-closest-numa-nodes': { stages: [26, 28, 32], kind: 'bool' },
  'max-allowable-numa-nodes': { stages: [31, 31, 35], kind: 'numa-count' },
};

export function forecastTopologyManager(outlook: Outlook): void {
  const { view } = outlook;
  if (view.minor < 16 || (view.minor <= 26 && !view.gate('TopologyManager'))) return;
  const policy = view.text('topologyManagerPolicy');
  // From 1.20 on validation knows the policies.
  if (view.minor <= 19 && !['none', 'best-effort', 'restricted', 'single-numa-node'].includes(policy))
    outlook.stops('topologyManagerPolicy', {
      why: `${quote(policy)} is not a valid topology manager policy`,
      says: `unknown policy: "${policy}"`,
      remedy: 'use none, best-effort, restricted or single-numa-node',
    });
  if (view.minor >= 26) forecastTopologyOptions(outlook, policy);
  const nodes = view.host.numaNodes ?? 0;
  const given = view.map('topologyManagerPolicyOptions')['max-allowable-numa-nodes'];
  const most = view.minor >= 31 ? Number(given ?? 8) : 8;
  if (policy !== 'none' && nodes > most)
    outlook.stops('topologyManagerPolicy', {
      why: `the topology manager serves at most ${most} NUMA nodes and this host has ${nodes}`,
      says: `unsupported on machines with more than ${most} NUMA Nodes`,
      remedy: view.minor >= 31 ? 'set the option max-allowable-numa-nodes, or the policy none' : 'set the policy none',
    });
}

function forecastTopologyOptions(outlook: Outlook, policy: string): void {
  const { view } = outlook;
  const field = 'topologyManagerPolicyOptions';
  if (!view.gate('TopologyManagerPolicyOptions')) {
    if (view.isSet(field))
      outlook.stops(field, {
        why: 'options of the topology manager need the feature gate TopologyManagerPolicyOptions',
        remedy: 'turn the gate on, or remove the options',
      });
    return;
  }
  // Since 1.28 the kubelet ignores them with the policy none.
  if (policy !== 'none' || view.minor <= 27) forecastOptions(outlook, field, topologyOptions, 'TopologyManager');
}
