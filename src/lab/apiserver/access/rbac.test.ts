/** RBAC: what rules allow, the scope of bindings, and how the index follows changes. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../api/object.js';
import type { Attributes, User } from '../../../memory-api/attributes.js';
import { AuthorizerChain, alwaysAllow, forbiddenMessage, masters } from './authorizer.js';
import { type PolicyRule, ruleAllows } from './policy-rule.js';
import { RbacAuthorizer } from './rbac.js';

const carol: User = { name: 'carol', groups: ['carols', 'system:authenticated'] };

function asks(verb: string, resource: string, more: Partial<Attributes> = {}): Attributes {
  const [plural, subresource = ''] = resource.split('/');
  return {
    user: carol,
    verb,
    isResource: true,
    path: '',
    apiGroup: '',
    apiVersion: 'v1',
    resource: plural!,
    subresource,
    namespace: 'ns',
    name: '',
    ...more,
  };
}

const asksPath = (verb: string, path: string): Attributes => asks(verb, '', { isResource: false, path, namespace: '' });

const object = (fields: Record<string, unknown>): KubeObject =>
  ({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: '', metadata: { name: '' }, ...fields }) as KubeObject;

describe('one rule', () => {
  const configMaps: PolicyRule = { verbs: ['get'], apiGroups: [''], resources: ['configmaps'] };
  test.each<[string, PolicyRule, Attributes, boolean]>([
    ['allows its verb', configMaps, asks('get', 'configmaps'), true],
    ['not another verb', configMaps, asks('list', 'configmaps'), false],
    ['not another resource', configMaps, asks('get', 'secrets'), false],
    ['not another group', configMaps, asks('get', 'configmaps', { apiGroup: 'x' }), false],
    ['not a subresource', configMaps, asks('get', 'configmaps/status'), false],
    ['any verb by *', { ...configMaps, verbs: ['*'] }, asks('impersonate', 'configmaps'), true],
    ['any group by *', { ...configMaps, apiGroups: ['*'] }, asks('get', 'configmaps', { apiGroup: 'x' }), true],
    ['any resource and subresource by *', { ...configMaps, resources: ['*'] }, asks('get', 'nodes/proxy'), true],
    ['an exact subresource', { ...configMaps, resources: ['nodes/status'] }, asks('get', 'nodes/status'), true],
    ['a subresource of anything by */', { ...configMaps, resources: ['*/status'] }, asks('get', 'nodes/status'), true],
    [
      '*/status does not match another subresource',
      { ...configMaps, resources: ['*/status'] },
      asks('get', 'nodes/proxy'),
      false,
    ],
    ['*/ is not the object itself', { ...configMaps, resources: ['*/status'] }, asks('get', 'nodes'), false],
    ['a name', { ...configMaps, resourceNames: ['a'] }, asks('get', 'configmaps', { name: 'a' }), true],
    ['no other name', { ...configMaps, resourceNames: ['a'] }, asks('get', 'configmaps', { name: 'b' }), false],
    ['no nameless request', { ...configMaps, resourceNames: ['a'] }, asks('get', 'configmaps'), false],
    ['a path', { verbs: ['get'], nonResourceURLs: ['/metrics'] }, asksPath('get', '/metrics'), true],
    ['no longer path', { verbs: ['get'], nonResourceURLs: ['/metrics'] }, asksPath('get', '/metrics/x'), false],
    [
      'paths below by a trailing *',
      { verbs: ['get'], nonResourceURLs: ['/debug/*'] },
      asksPath('get', '/debug/a/b'),
      true,
    ],
    [
      'not the path above a trailing *',
      { verbs: ['get'], nonResourceURLs: ['/debug/*'] },
      asksPath('get', '/debug'),
      false,
    ],
    ['a * inside is a letter', { verbs: ['get'], nonResourceURLs: ['/a/*/b'] }, asksPath('get', '/a/x/b'), false],
    ['every path by *', { verbs: ['*'], nonResourceURLs: ['*'] }, asksPath('post', '/x'), true],
    ['a resource rule does not match paths', { ...configMaps, resources: ['*'] }, asksPath('get', '/metrics'), false],
  ])('%s', (_name, rule, request, allowed) => {
    expect(ruleAllows(rule, request)).toBe(allowed);
  });
});

describe('roles and bindings', () => {
  const read = [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['configmaps', 'nodes'] }];
  const bind = (kind: string, name: string, ...subjects: unknown[]) => object({ roleRef: { kind, name }, subjects });

  function authorizer() {
    const rbac = new RbacAuthorizer();
    rbac.apply('clusterroles', '', 'reader', object({ rules: read }));
    return rbac;
  }

  test('a ClusterRole bound in a namespace applies only there', () => {
    const rbac = authorizer();
    rbac.apply('rolebindings', 'ns', 'b', bind('ClusterRole', 'reader', { kind: 'User', name: 'carol' }));
    expect(rbac.authorize(asks('list', 'configmaps'))).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "b/ns" of ClusterRole "reader" to User "carol"',
    });
    expect(rbac.authorize(asks('list', 'configmaps', { namespace: 'other' }))).toEqual({ allowed: false });
    expect(rbac.authorize(asks('list', 'nodes', { namespace: '' }))).toEqual({ allowed: false });
  });

  test('a ClusterRole bound to a group cluster-wide applies everywhere until it is unbound', () => {
    const rbac = authorizer();
    rbac.apply('clusterrolebindings', '', 'b', bind('ClusterRole', 'reader', { kind: 'Group', name: 'carols' }));
    expect(rbac.authorize(asks('list', 'nodes', { namespace: '' })).reason).toBe(
      'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "carols"',
    );
    rbac.apply('clusterrolebindings', '', 'b', undefined);
    expect(rbac.authorize(asks('list', 'nodes', { namespace: '' })).allowed).toBe(false);
  });

  test('changed subjects and rules take effect at once', () => {
    const rbac = authorizer();
    rbac.apply('rolebindings', 'ns', 'b', bind('ClusterRole', 'reader', { kind: 'User', name: 'carol' }));
    rbac.apply('rolebindings', 'ns', 'b', bind('ClusterRole', 'reader', { kind: 'User', name: 'dave' }));
    expect(rbac.authorize(asks('list', 'configmaps')).allowed).toBe(false);
    expect(rbac.authorize(asks('list', 'configmaps', { user: { name: 'dave', groups: [] } })).allowed).toBe(true);
    rbac.apply('clusterroles', '', 'reader', object({ rules: [] }));
    expect(rbac.authorize(asks('list', 'configmaps', { user: { name: 'dave', groups: [] } })).allowed).toBe(false);
  });

  test('a service account subject without a namespace is in that of the binding', () => {
    const rbac = authorizer();
    rbac.apply('rolebindings', 'ns', 'b', bind('ClusterRole', 'reader', { kind: 'ServiceAccount', name: 'bot' }));
    const bot = (namespace: string) => ({ name: `system:serviceaccount:${namespace}:bot`, groups: [] });
    expect(rbac.authorize(asks('get', 'configmaps', { user: bot('ns') })).reason).toBe(
      'RBAC: allowed by RoleBinding "b/ns" of ClusterRole "reader" to ServiceAccount "bot/ns"',
    );
    expect(rbac.authorize(asks('get', 'configmaps', { user: bot('other') })).allowed).toBe(false);
  });

  test('a missing role is reported as the reason, and takes effect once it exists', () => {
    const rbac = authorizer();
    rbac.apply('rolebindings', 'ns', 'b', bind('Role', 'gone', { kind: 'User', name: 'carol' }));
    rbac.apply('rolebindings', 'ns', 'c', bind('ClusterRole', 'gone', { kind: 'User', name: 'carol' }));
    expect(rbac.authorize(asks('get', 'configmaps'))).toEqual({
      allowed: false,
      reason:
        'RBAC: [role.rbac.authorization.k8s.io "gone" not found, clusterrole.rbac.authorization.k8s.io "gone" not found]',
    });
    rbac.apply('roles', 'ns', 'gone', object({ rules: read }));
    expect(rbac.authorize(asks('get', 'configmaps')).allowed).toBe(true);
  });

  test('malformed objects give no access and do no harm', () => {
    const rbac = new RbacAuthorizer();
    rbac.apply('clusterroles', '', '__proto__', object({ rules: [null, 'x', { verbs: '*' }, { verbs: [1] }] }));
    rbac.apply(
      'clusterrolebindings',
      '',
      'b',
      object({ roleRef: null, subjects: [null, {}, { kind: 'User', name: 'carol' }] }),
    );
    rbac.apply('clusterrolebindings', '', 'c', bind('ClusterRole', '__proto__', { kind: 'User', name: 'carol' }));
    expect(rbac.authorize(asks('get', 'configmaps')).allowed).toBe(false);
  });

  test('all rules of a user in a namespace can be listed', () => {
    const rbac = authorizer();
    rbac.apply('rolebindings', 'ns', 'b', bind('ClusterRole', 'reader', { kind: 'User', name: 'carol' }));
    expect(rbac.rulesFor(carol, 'ns')).toEqual({ rules: read });
    expect(rbac.rulesFor(carol, 'other')).toEqual({ rules: [] });
  });
});

describe('the chain of authorizers', () => {
  const because = (reason: string) => ({ authorize: () => ({ allowed: false, reason }) });

  test('the first authorizer that allows decides, without a reason for system:masters', () => {
    const chain = new AuthorizerChain([masters, because('no')]);
    const root = { name: 'root', groups: ['system:masters'] };
    expect(chain.authorize(asks('delete', 'nodes', { user: root }))).toEqual({ allowed: true });
    expect(new AuthorizerChain([because('no'), alwaysAllow]).authorize(asks('get', 'x'))).toEqual({ allowed: true });
  });

  test('the reasons of all authorizers that denied are reported, one per line', () => {
    expect(new AuthorizerChain([masters, because('a'), because('b')]).authorize(asks('get', 'x'))).toEqual({
      allowed: false,
      reason: 'a\nb',
    });
  });

  test.each<[Attributes, string | undefined, string]>([
    [
      asks('list', 'secrets'),
      undefined,
      'User "carol" cannot list resource "secrets" in API group "" in the namespace "ns"',
    ],
    [
      asks('get', 'nodes/proxy', { namespace: '', name: 'x' }),
      'why',
      'User "carol" cannot get resource "nodes/proxy" in API group "" at the cluster scope: why',
    ],
    [asksPath('get', '/<b>&'), undefined, 'User "carol" cannot get path "/&lt;b&gt;&amp;"'],
  ])('a rejection has the message of Kubernetes', (request, reason, text) => {
    expect(forbiddenMessage(request, reason)).toBe(text);
  });
});
