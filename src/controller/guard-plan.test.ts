/** Which guards are in force after changes to them; and that deploy/ has the guards that the controller expects. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../api/object.js';
import { decideGuards, type GuardFacts, guardedCondition } from './guard-plan.js';
import { guardPolicies, policyBindingObject, policyObject } from './guard-policies.js';

const asServed = (object: object) => structuredClone(object) as unknown as KubeObject;

function facts(change: (objects: Map<string, KubeObject>) => void = () => {}, served = true): GuardFacts {
  const objects = new Map<string, KubeObject>();
  for (const guard of guardPolicies) {
    objects.set(`policy/${guard.name}`, asServed(policyObject(guard)));
    objects.set(`binding/${guard.name}`, asServed(policyBindingObject(guard)));
  }
  change(objects);
  return { served, policy: (name) => objects.get(`policy/${name}`), binding: (name) => objects.get(`binding/${name}`) };
}

const name = 'relet-who-authors';
const specOf = (objects: Map<string, KubeObject>, key: string) => objects.get(key)!.spec as Record<string, unknown>;

describe('the guards in force', () => {
  test('complete policies are in force', () => {
    const state = decideGuards('auto', facts());
    expect(state).toEqual({ inForce: 'policies', problems: [] });
    expect(guardedCondition(state)).toMatchObject({ status: 'True', reason: 'AdmissionPolicies' });
  });

  test('on a server without admission policies roles are in force, and Guarded is True', () => {
    const state = decideGuards(
      'auto',
      facts((objects) => objects.clear(), false),
    );
    expect(guardedCondition(state)).toMatchObject({ status: 'True', reason: 'PerNodeRoles' });
  });

  test.each<[string, (objects: Map<string, KubeObject>) => void, string]>([
    [
      'a policy was deleted',
      (all) => all.delete(`policy/${name}`),
      'ValidatingAdmissionPolicy relet-who-authors is missing',
    ],
    ['a binding was deleted', (all) => all.delete(`binding/${name}`), 'Binding relet-who-authors is missing'],
    [
      'a binding only warns',
      (all) => (specOf(all, `binding/${name}`).validationActions = ['Warn']),
      'Binding relet-who-authors was changed',
    ],
    [
      'a binding excludes a namespace',
      (all) => (specOf(all, `binding/${name}`).matchResources = { namespaceSelector: { matchLabels: { a: 'b' } } }),
      'Binding relet-who-authors was changed',
    ],
    [
      'a policy ignores failures',
      (all) => (specOf(all, `policy/${name}`).failurePolicy = 'Ignore'),
      'relet-who-authors was changed',
    ],
    [
      'a policy has one more condition',
      (all) => (specOf(all, `policy/${name}`).matchConditions as object[]).push({ name: 'never', expression: 'false' }),
      'relet-who-authors was changed',
    ],
    [
      'a policy excludes a resource',
      (all) => Object.assign(specOf(all, `policy/${name}`).matchConstraints as object, { excludeResourceRules: [{}] }),
      'relet-who-authors was changed',
    ],
  ])('%s: it is reported, and roles are in force instead', (_what, change, problem) => {
    const state = decideGuards('auto', facts(change));
    expect(state.inForce).toBe('roles');
    expect(guardedCondition(state)).toMatchObject({ status: 'False', reason: 'GuardsMissing' });
    expect(guardedCondition(state).message).toContain(problem);
    expect(decideGuards('policy', facts(change)).inForce).toBe('nothing');
  });

  test('with --guards=policy on a server without admission policies nodes may not write', () => {
    const state = decideGuards('policy', facts(undefined, false));
    expect(state.inForce).toBe('nothing');
    expect(guardedCondition(state).message).toContain('must be 1.30 or later');
  });
});

test('deploy/guards has exactly these policies', () => {
  const text = readFileSync(join(import.meta.dirname, '../../deploy/guards/policies.yaml'), 'utf8');
  const applied = parseAllDocuments(text).map((document) => document.toJS());
  expect(applied).toEqual(guardPolicies.flatMap((guard) => [policyObject(guard), policyBindingObject(guard)]));
});

test('deploy/ is deploy/base and the guards', () => {
  const resources = (path: string): string[] =>
    parseAllDocuments(readFileSync(join(import.meta.dirname, '../../deploy', path), 'utf8'))[0]!.toJS().resources;
  const base = resources('base/kustomization.yaml').map((name) => `base/${name}`);
  expect(resources('kustomization.yaml')).toEqual([
    ...base,
    'guards/policies.yaml',
    'guards/field-policy-admission.yaml',
    'guards/controller-nodes.yaml',
  ]);
});
