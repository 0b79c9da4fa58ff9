/** Isolation checks: changes that would cut this node off. Pure; the facts about the host are given. */

import type { Objection } from '../../config/field-policy.js';
import { getField, type KubeletConfig } from '../../config/model.js';

export interface NodeFacts {
  /** Whether the local config's static pod directory holds manifests. */
  hasStaticPods: boolean;
  /** Node.spec.providerID as last seen; undefined while unknown. */
  providerID?: string;
}

export function cutOffs(candidate: KubeletConfig, local: KubeletConfig, facts: NodeFacts): Objection[] {
  return [
    ...staticPods(candidate, local, facts),
    ...foreignProvider(candidate, local, facts),
    ...noServer(candidate, local),
  ];
}

function staticPods(candidate: KubeletConfig, local: KubeletConfig, { hasStaticPods }: NodeFacts): Objection[] {
  const [before, after] = [getField(local, 'staticPodPath') || '', getField(candidate, 'staticPodPath') || ''];
  if (!hasStaticPods || before === after) return [];
  return [
    {
      field: 'staticPodPath',
      message: `staticPodPath: ${JSON.stringify(after)} would stop the static pods in ${before}, on a control-plane node the API server itself`,
    },
  ];
}

/** A providerID names one machine, so a shared config that sets it gives several nodes the same identity. */
function foreignProvider(candidate: KubeletConfig, local: KubeletConfig, { providerID }: NodeFacts): Objection[] {
  const wanted = getField(candidate, 'providerID') || '';
  const own = providerID || getField(local, 'providerID') || '';
  if (wanted === '' || wanted === own) return [];
  return [
    {
      field: 'providerID',
      message: `providerID: ${JSON.stringify(wanted)} is not this machine's (${own === '' ? 'none is known' : own}); two nodes with one providerID are taken for one`,
    },
  ];
}

function noServer(candidate: KubeletConfig, local: KubeletConfig): Objection[] {
  if (getField(candidate, 'enableServer') !== false || getField(local, 'enableServer') === false) return [];
  return [
    {
      field: 'enableServer',
      message:
        'enableServer: false would close the kubelet API: kubectl logs, exec and port-forward and the metrics of this node would stop working',
    },
  ];
}
