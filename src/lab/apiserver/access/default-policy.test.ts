/** The default roles: what they allow, and how missing parts are restored. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../api/object.js';
import { uncovered } from './covers.js';
import { defaultPolicy, reconcile } from './default-policy.js';
import type { PolicyRule } from './policy-rule.js';
import { RbacAuthorizer } from './rbac.js';

const plural: Record<string, string> = {
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
};

function authorizer(): RbacAuthorizer {
  const rbac = new RbacAuthorizer();
  for (const object of defaultPolicy())
    rbac.apply(plural[object.kind]!, object.metadata.namespace ?? '', object.metadata.name, object);
  return rbac;
}

const find = (kind: string, name: string) =>
  defaultPolicy().find((object) => object.kind === kind && object.metadata.name === name)!;

describe('what the defaults allow', () => {
  const jane = { name: 'jane', groups: ['system:authenticated'] };
  const nobody = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
  const onPath = (user: typeof jane, path: string) =>
    authorizer().authorize({
      ...{ user, verb: 'get', isResource: false, path, apiGroup: '', apiVersion: '', resource: '', subresource: '' },
      ...{ namespace: '', name: '' },
    }).allowed;

  test.each([
    ['/version', true, true],
    ['/healthz', true, true],
    ['/readyz', true, true],
    ['/api', true, false],
    ['/apis/apps/v1', true, false],
    ['/openapi/v3', true, false],
    ['/metrics', false, false],
    ['/readyz/ping', false, false],
  ])('%s: any user %s, anonymous %s', (path, user, anonymous) => {
    expect([onPath(jane, path), onPath(nobody, path)]).toEqual([user, anonymous]);
  });

  test('every default binding names an existing role, and system:node has no subjects', () => {
    const roles = new Set(defaultPolicy().map(({ kind, metadata }) => `${kind}/${metadata.name}`));
    const bindings = defaultPolicy().filter(({ kind }) => kind.endsWith('Binding'));
    expect(bindings.length).toBeGreaterThan(5);
    for (const { roleRef } of bindings as unknown as { roleRef: { kind: string; name: string } }[])
      expect(roles).toContain(`${roleRef.kind}/${roleRef.name}`);
    expect(find('ClusterRoleBinding', 'system:node').subjects).toBeUndefined();
  });
});

describe('reconciling at start', () => {
  const stored = (object: KubeObject, change: (copy: KubeObject) => void) => {
    const copy = structuredClone(object);
    copy.metadata.uid = 'u';
    change(copy);
    return copy;
  };

  test('a missing default object is created, a complete one is not changed', () => {
    for (const wanted of defaultPolicy()) {
      expect(reconcile(wanted, undefined)).toBe(wanted);
      expect(
        reconcile(
          wanted,
          stored(wanted, () => {}),
        ),
      ).toBeUndefined();
    }
  });

  test('missing rules of a default role are restored and added ones are kept', () => {
    const wanted = find('ClusterRole', 'system:basic-user');
    const own: PolicyRule = { verbs: ['get'], apiGroups: ['x'], resources: ['y'] };
    const lost = (wanted.rules as PolicyRule[])[0]!;
    const next = reconcile(
      wanted,
      stored(wanted, (copy) => {
        copy.rules = [(wanted.rules as PolicyRule[])[1]!, own];
      }),
    );
    expect(next?.rules).toEqual([(wanted.rules as PolicyRule[])[1], own, lost]);
    expect(next?.metadata.uid).toBe('u');
  });

  test('missing subjects of a default binding are restored and added ones are kept', () => {
    const wanted = find('ClusterRoleBinding', 'cluster-admin');
    const eve = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'eve' };
    const next = reconcile(
      wanted,
      stored(wanted, (copy) => {
        copy.subjects = [eve];
      }),
    );
    expect(next?.subjects).toEqual([eve, ...(wanted.subjects as unknown[])]);
  });

  test('autoupdate "false" keeps an object as it is', () => {
    const wanted = find('ClusterRole', 'system:basic-user');
    const kept = stored(wanted, (copy) => {
      copy.rules = [];
      copy.metadata.annotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'false' };
    });
    expect(reconcile(wanted, kept)).toBeUndefined();
  });
});

describe('whether rules cover others', () => {
  const rule = (verbs: string[], resources: string[], resourceNames?: string[]): PolicyRule => ({
    verbs,
    apiGroups: [''],
    resources,
    ...(resourceNames ? { resourceNames } : {}),
  });
  test.each<[string, PolicyRule[], PolicyRule[], PolicyRule[]]>([
    ['equal', [rule(['get'], ['pods'])], [rule(['get'], ['pods'])], []],
    ['spread over several', [rule(['get'], ['pods']), rule(['list'], ['pods'])], [rule(['get', 'list'], ['pods'])], []],
    ['all by *', [rule(['*'], ['*'])], [rule(['escalate'], ['pods/status'])], []],
    ['* is more than each', [rule(['get'], ['pods'])], [rule(['*'], ['pods'])], [rule(['*'], ['pods'])]],
    ['any subresource', [rule(['get'], ['*/status'])], [rule(['get'], ['pods/status'])], []],
    ['a name within all', [rule(['get'], ['pods'])], [rule(['get'], ['pods'], ['a'])], []],
    ['all is more than a name', [rule(['get'], ['pods'], ['a'])], [rule(['get'], ['pods'])], [rule(['get'], ['pods'])]],
    [
      'paths below',
      [{ verbs: ['get'], nonResourceURLs: ['/a/*'] }],
      [{ verbs: ['get'], nonResourceURLs: ['/a/b', '/c'] }],
      [{ verbs: ['get'], nonResourceURLs: ['/c'] }],
    ],
  ])('%s', (_name, owned, wanted, missing) => {
    expect(uncovered(owned, wanted)).toEqual(missing);
  });
});
