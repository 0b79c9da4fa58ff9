/**
 * Decides which guards keep a node from writing the NodeConfigs of others. Pure.
 *
 * There are two kinds: admission policies (Kubernetes 1.30 and later; one binding lets all nodes write status, and the policies
 * restrict each node to its own), or a role for each node that names its NodeConfig. With neither, nodes may not write at all.
 */
import { isDeepStrictEqual } from 'node:util';
import { configNamespace, guardedByPolicies, guardsLease } from '../api/node-config.js';
import type { KubeObject } from '../api/object.js';
import { guardPolicies, policyBindingObject, policyObject } from './guard-policies.js';

/** auto: policies where they are complete, else roles. */
export type GuardChoice = 'auto' | 'policy' | 'roles';

export interface GuardFacts {
  /** The server has admission policies: 1.30 and later. */
  served: boolean;
  policy(name: string): KubeObject | undefined;
  binding(name: string): KubeObject | undefined;
}

export interface GuardState {
  inForce: 'policies' | 'roles' | 'nothing';
  /** Guards that are missing or were changed. */
  problems: string[];
}

export function decideGuards(choice: GuardChoice, facts: GuardFacts): GuardState {
  if (choice === 'roles') return { inForce: 'roles', problems: [] };
  const problems = facts.served ? guardPolicies.flatMap((guard) => problemsWith(guard, facts)) : [];
  if (facts.served && problems.length === 0) return { inForce: 'policies', problems };
  if (choice === 'auto') return { inForce: 'roles', problems };
  const unserved = 'the API server has no admission policies; it must be 1.30 or later, or --guards=roles';
  return { inForce: 'nothing', problems: facts.served ? problems : [unserved] };
}

function problemsWith(guard: (typeof guardPolicies)[number], { policy, binding }: GuardFacts): string[] {
  const { name } = guard;
  const [found, bound] = [policy(name), binding(name)];
  const problems: string[] = [];
  if (found === undefined) problems.push(`ValidatingAdmissionPolicy ${name} is missing`);
  else if (!isDeepStrictEqual(found.spec, policyObject(guard).spec))
    problems.push(`ValidatingAdmissionPolicy ${name} was changed`);
  if (bound === undefined) problems.push(`ValidatingAdmissionPolicyBinding ${name} is missing`);
  else if (!isDeepStrictEqual(bound.spec, policyBindingObject(guard).spec))
    problems.push(`ValidatingAdmissionPolicyBinding ${name} was changed`);
  return problems;
}

export interface GuardedCondition {
  type: 'Guarded';
  status: 'True' | 'False';
  reason: typeof guardedByPolicies | 'PerNodeRoles' | 'GuardsMissing';
  message: string;
}

const rolesOnly =
  'each node has a role for its own NodeConfig; who may write NodeConfigs and labelled ConfigMaps is decided by roles alone';

const asOf = `, as of the last check (renewTime of Lease ${configNamespace}/${guardsLease})`;

export function guardedCondition({ inForce, problems }: GuardState): GuardedCondition {
  const type = 'Guarded';
  if (inForce === 'policies')
    return {
      type,
      status: 'True',
      reason: guardedByPolicies,
      message: `admission policies guard NodeConfigs and labelled ConfigMaps${asOf}`,
    };
  if (inForce === 'roles' && problems.length === 0)
    return { type, status: 'True', reason: 'PerNodeRoles', message: `${rolesOnly}${asOf}` };
  const meanwhile = inForce === 'roles' ? `Meanwhile ${rolesOnly}` : 'Meanwhile nodes may not report';
  return { type, status: 'False', reason: 'GuardsMissing', message: `${problems.join(', ')}. ${meanwhile}.` };
}
