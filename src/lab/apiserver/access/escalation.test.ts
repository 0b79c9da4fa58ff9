/** The escalation check: users cannot grant permissions that they do not have. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../api/object.js';
import type { AdmissionRequest } from '../../../memory-api/admission.js';
import type { Resource } from '../../../memory-api/resource.js';
import { escalationCheck } from './escalation.js';
import type { PolicyRule } from './policy-rule.js';
import { RbacAuthorizer, rbacGroup } from './rbac.js';

const object = (fields: Record<string, unknown>, metadata = {}): KubeObject =>
  ({ apiVersion: `${rbacGroup}/v1`, kind: '', metadata: { name: 'x', ...metadata }, ...fields }) as KubeObject;
const rule = (verbs: string[], resources: string[], more: Partial<PolicyRule> = {}): PolicyRule => ({
  verbs,
  apiGroups: [''],
  resources,
  ...more,
});

const rbac = new RbacAuthorizer();
const grant = (user: string, rules: PolicyRule[]) => {
  rbac.apply('roles', 'ns', user, object({ rules }));
  const binding = { roleRef: { kind: 'Role', name: user }, subjects: [{ kind: 'User', name: user }] };
  rbac.apply('rolebindings', 'ns', user, object(binding));
};
const onRoles = (verbs: string[], resourceNames?: string[]): PolicyRule => ({
  ...rule(verbs, ['roles', 'clusterroles'], { apiGroups: [rbacGroup] }),
  ...(resourceNames ? { resourceNames } : {}),
});
grant('eve', [rule(['get', 'list'], ['configmaps'])]);
grant('trent', [onRoles(['bind'], ['big']), onRoles(['escalate'])]);
rbac.apply('roles', 'ns', 'big', object({ rules: [rule(['*'], ['secrets'])] }));
rbac.apply('roles', 'ns', 'small', object({ rules: [rule(['get'], ['configmaps'])] }));

function write(user: string, plural: string, next: KubeObject, old?: KubeObject, groups = ['system:authenticated']) {
  const request: AdmissionRequest = {
    attributes: {
      ...{ user: { name: user, groups }, verb: 'create', isResource: true, path: '', apiGroup: rbacGroup },
      ...{ apiVersion: 'v1', resource: plural, subresource: '', namespace: 'ns', name: 'x' },
    },
    operation: old === undefined ? 'CREATE' : 'UPDATE',
    resource: { group: rbacGroup, plural, namespaced: true } as Resource,
    object: next,
    ...(old === undefined ? {} : { oldObject: old }),
    options: {},
    dryRun: false,
    warn() {},
  };
  try {
    escalationCheck(rbac, rbac).mutate(request);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const binding = (kind: string, name: string, subjects: unknown[] = []) => object({ roleRef: { kind, name }, subjects });

describe('writing a role', () => {
  test('a role whose rules the user has, wholly or in part, may be written', () => {
    expect(
      write('eve', 'roles', object({ rules: [rule(['get'], ['configmaps'], { resourceNames: ['a'] })] })),
    ).toBeUndefined();
  });

  test('a role with other rules is rejected, and each missing rule is named', () => {
    const rules = [
      rule(['get', 'create', 'delete'], ['configmaps']),
      rule(['get'], ['secrets'], { resourceNames: ['a'] }),
    ];
    expect(write('eve', 'roles', object({ rules }))).toBe(
      [
        'roles.rbac.authorization.k8s.io "x" is forbidden: user "eve" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:',
        '{APIGroups:[""], Resources:["configmaps"], Verbs:["create" "delete"]}',
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get"]}',
      ].join('\n'),
    );
  });

  test('a user with the verb escalate, and system:masters, may write any role', () => {
    const everything = object({ rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] });
    expect(write('trent', 'roles', everything)).toBeUndefined();
    expect(write('root', 'roles', everything, undefined, ['system:masters'])).toBeUndefined();
  });

  test('a change that keeps the rules is not a grant', () => {
    const big = { rules: [rule(['*'], ['secrets'])] };
    expect(write('eve', 'roles', object(big, { labels: { a: 'b' } }), object(big))).toBeUndefined();
  });
});

describe('binding a role', () => {
  test('a binding that grants no more than the user has is allowed', () => {
    expect(write('eve', 'rolebindings', binding('Role', 'small'))).toBeUndefined();
  });
  test('a binding that grants more than the user has is rejected', () => {
    expect(write('eve', 'rolebindings', binding('Role', 'big'))).toContain(
      '{APIGroups:[""], Resources:["secrets"], Verbs:["*"]}',
    );
  });
  test('the verb bind allows binding of that role only', () => {
    expect(write('trent', 'rolebindings', binding('Role', 'big'))).toBeUndefined();
    expect(write('trent', 'rolebindings', binding('Role', 'small'))).toContain('is attempting to grant');
  });
  test('a binding to a missing role is rejected', () => {
    expect(write('eve', 'rolebindings', binding('Role', 'gone'))).toBe(
      'roles.rbac.authorization.k8s.io "gone" not found',
    );
  });
  test('another subject is a new grant', () => {
    const old = binding('Role', 'big');
    expect(write('eve', 'rolebindings', object({ ...old, labels: {} }), old)).toBeUndefined();
    expect(write('eve', 'rolebindings', binding('Role', 'big', [{ kind: 'User', name: 'eve' }]), old)).toContain(
      'is attempting',
    );
  });
});
