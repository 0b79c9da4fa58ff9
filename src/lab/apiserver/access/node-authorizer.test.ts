/** The Node authorizer: a kubelet's own objects, those of its pods, and the ConfigMap assigned to it. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../api/object.js';
import type { Attributes } from '../../../memory-api/attributes.js';
import { NodeAuthorizer } from './node-authorizer.js';
import { NodeGraph, type NodeGraphOptions } from './node-graph.js';

function asks(node: string, verb: string, resource: string, more: Partial<Attributes> = {}): Attributes {
  const [plural, subresource = ''] = resource.split('/');
  return {
    user: { name: `system:node:${node}`, groups: ['system:nodes', 'system:authenticated'] },
    verb,
    isResource: true,
    path: '',
    apiGroup: '',
    apiVersion: 'v1',
    resource: plural!,
    subresource,
    namespace: '',
    name: '',
    ...more,
  };
}

const object = (fields: Record<string, unknown>, metadata = {}): KubeObject =>
  ({ apiVersion: 'v1', kind: '', metadata: { name: '', ...metadata }, ...fields }) as KubeObject;

const assigned = (name: string, form = 'configMap') =>
  object({ spec: { configSource: { [form]: { namespace: 'kube-system', name, kubeletConfigKey: 'kubelet' } } } });

function world(configAccess: NodeGraphOptions['configAccess'] = 'automatic') {
  const graph = new NodeGraph({ configAccess });
  const authorizer = new NodeAuthorizer(graph);
  const readsConfig = (node: string, name: string, verb = 'get') =>
    authorizer.authorize(asks(node, verb, 'configmaps', { namespace: 'kube-system', name })).allowed;
  return { graph, authorizer, readsConfig };
}

const unrelated = "no relationship found between node 'a' and this object";

describe('N2: the ConfigMap assigned to a node', () => {
  test('a node may get, list and watch the ConfigMap assigned to it, not that of another node', () => {
    const { graph, readsConfig } = world();
    graph.apply('nodes', '', 'a', assigned('for-a'));
    graph.apply('nodes', '', 'b', assigned('for-b'));
    for (const verb of ['get', 'list', 'watch']) {
      expect(readsConfig('a', 'for-a', verb)).toBe(true);
      expect(readsConfig('b', 'for-b', verb)).toBe(true);
      expect(readsConfig('a', 'for-b', verb)).toBe(false);
      expect(readsConfig('b', 'for-a', verb)).toBe(false);
    }
    expect(readsConfig('a', 'for-a', 'update')).toBe(false);
  });

  test('a ConfigMap assigned to two nodes is readable by both and by no third', () => {
    const { graph, readsConfig } = world();
    graph.apply('nodes', '', 'a', assigned('shared'));
    graph.apply('nodes', '', 'b', assigned('shared'));
    graph.apply('nodes', '', 'c', object({ spec: {} }));
    expect(['a', 'b', 'c'].map((node) => readsConfig(node, 'shared'))).toEqual([true, true, false]);
  });

  test('a new assignment, un-assignment and deletion of the Node revoke access to the old ConfigMap', () => {
    const { graph, readsConfig } = world();
    graph.apply('nodes', '', 'a', assigned('one'));
    graph.apply('nodes', '', 'a', assigned('two'));
    expect([readsConfig('a', 'one'), readsConfig('a', 'two')]).toEqual([false, true]);
    graph.apply('nodes', '', 'a', object({ spec: {} }));
    expect(readsConfig('a', 'two')).toBe(false);
    graph.apply('nodes', '', 'a', assigned('three'));
    graph.apply('nodes', '', 'a', undefined);
    expect(readsConfig('a', 'three')).toBe(false);
  });

  test('a ConfigMap that a pod uses as well stays readable after un-assignment', () => {
    const { graph, readsConfig } = world();
    graph.apply('nodes', '', 'a', assigned('cm'));
    const pod = object({ spec: { nodeName: 'a', volumes: [{ name: 'v', configMap: { name: 'cm' } }] } });
    graph.apply('pods', 'kube-system', 'p', pod);
    graph.apply('nodes', '', 'a', object({}));
    expect(readsConfig('a', 'cm')).toBe(true);
    graph.apply('pods', 'kube-system', 'p', undefined);
    expect(readsConfig('a', 'cm')).toBe(false);
  });

  test('a DKC alpha reference gives access as a beta one does; with manual access neither does', () => {
    const automatic = world();
    automatic.graph.apply('nodes', '', 'a', assigned('cm', 'configMapRef'));
    expect(automatic.readsConfig('a', 'cm')).toBe(true);
    const manual = world('manual');
    manual.graph.apply('nodes', '', 'a', assigned('cm'));
    manual.graph.apply('nodes', '', 'b', assigned('cm', 'configMapRef'));
    expect([manual.readsConfig('a', 'cm'), manual.readsConfig('b', 'cm')]).toEqual([false, false]);
  });
});

describe('objects of pods on the node', () => {
  const spec = {
    serviceAccountName: 'bot',
    imagePullSecrets: [{ name: 'pull' }],
    containers: [
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'env-secret' } } }] },
      { envFrom: [{ configMapRef: { name: 'env-map' } }, { secretRef: { name: 'env-from' } }] },
    ],
    initContainers: [{ env: [{ name: 'B', valueFrom: { configMapKeyRef: { name: 'init-map' } } }] }],
    volumes: [
      { name: 's', secret: { secretName: 'volume-secret' } },
      {
        name: 'p',
        projected: { sources: [{ configMap: { name: 'projected-map' } }, { secret: { name: 'projected' } }] },
      },
      { name: 'c', csi: { nodePublishSecretRef: { name: 'csi-secret' } } },
    ],
  };
  const reads = (authorizer: NodeAuthorizer, resource: string, name: string) =>
    authorizer.authorize(asks('a', 'get', resource, { namespace: 'ns', name })).allowed;

  test.each([
    ...['pull', 'env-secret', 'env-from', 'volume-secret', 'projected', 'csi-secret'].map((name) => ['secrets', name]),
    ...['env-map', 'init-map', 'projected-map'].map((name) => ['configmaps', name]),
    ['pods', 'p'],
  ])('%s %s may be read while the pod is there', (resource, name) => {
    const { graph, authorizer } = world();
    expect(reads(authorizer, resource!, name!)).toBe(false);
    graph.apply('pods', 'ns', 'p', object({ spec: { ...spec, nodeName: 'a' } }));
    expect(reads(authorizer, resource!, name!)).toBe(true);
    graph.apply('pods', 'ns', 'p', undefined);
    expect(reads(authorizer, resource!, name!)).toBe(false);
  });

  test('a pod that is not bound, or bound to another node, gives no access', () => {
    const { graph, authorizer } = world();
    graph.apply('pods', 'ns', 'p', object({ spec }));
    graph.apply('pods', 'ns', 'q', object({ spec: { ...spec, nodeName: 'b' } }));
    expect(reads(authorizer, 'secrets', 'pull')).toBe(false);
  });

  test('a mirror pod gives access to itself only', () => {
    const { graph, authorizer } = world();
    const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' } };
    graph.apply('pods', 'ns', 'p', object({ spec: { ...spec, nodeName: 'a' } }, mirror));
    expect([reads(authorizer, 'pods', 'p'), reads(authorizer, 'secrets', 'pull')]).toEqual([true, false]);
  });

  test('a node may request tokens only for the service accounts of its pods', () => {
    const { graph, authorizer } = world();
    graph.apply('pods', 'ns', 'p', object({ spec: { ...spec, nodeName: 'a' } }));
    const token = (name: string) =>
      authorizer.authorize(asks('a', 'create', 'serviceaccounts/token', { namespace: 'ns', name }));
    expect(token('bot')).toEqual({ allowed: true });
    expect(token('other')).toEqual({ allowed: false, reason: unrelated });
  });

  test('malformed pods are ignored', () => {
    const { graph, authorizer } = world();
    graph.apply(
      'pods',
      'ns',
      'p',
      object({ spec: { nodeName: 'a', volumes: [null, 7], containers: 'x', imagePullSecrets: [[]] } }),
    );
    expect(reads(authorizer, 'pods', 'p')).toBe(true);
  });
});

describe('what is allowed and what is denied, with the reason', () => {
  const { authorizer } = world();
  const lease = { apiGroup: 'coordination.k8s.io', namespace: 'kube-node-lease' };
  const selector = (value: string) => ({ fieldSelector: [{ field: 'spec.nodeName', operator: '=' as const, value }] });
  const yes = true;
  const noOpinion = undefined;
  test.each<[string, string, Partial<Attributes>, true | string | undefined]>([
    ['get', 'nodes', { name: 'a' }, yes],
    ['list', 'nodes', { name: 'a' }, yes],
    ['watch', 'nodes', { name: 'a' }, yes],
    ['get', 'nodes', { name: 'b' }, "node 'a' cannot read 'b', only its own Node object"],
    ['list', 'nodes', {}, "node 'a' cannot read all nodes, only its own Node object"],
    ['create', 'nodes', {}, yes],
    ['patch', 'nodes', { name: 'a' }, yes],
    ['patch', 'nodes/status', { name: 'a' }, yes],
    ['get', 'nodes/status', { name: 'a' }, noOpinion],
    ['get', 'nodes/proxy', { name: 'a' }, noOpinion],
    ['delete', 'nodes', { name: 'a' }, noOpinion],
    ['get', 'configmaps', { namespace: 'ns', name: 'x' }, unrelated],
    ['update', 'configmaps', { namespace: 'ns', name: 'x' }, 'can only read resources of this type'],
    ['get', 'configmaps/x', { namespace: 'ns', name: 'x' }, 'cannot read subresource'],
    ['list', 'configmaps', {}, 'can only read namespaced object of this type'],
    ['list', 'configmaps', { namespace: 'ns' }, 'No Object name found'],
    ['get', 'secrets', { namespace: 'ns', name: 'x' }, unrelated],
    [
      'get',
      'serviceaccounts',
      { namespace: 'ns', name: 'x' },
      'can only create tokens for individual service accounts',
    ],
    [
      'create',
      'serviceaccounts/x',
      { namespace: 'ns', name: 'x' },
      'can only create token subresource of serviceaccount',
    ],
    ['list', 'pods', {}, 'can only list/watch pods with spec.nodeName field selector'],
    ['list', 'pods', selector('a'), yes],
    ['watch', 'pods', selector('b'), 'can only list/watch pods with spec.nodeName field selector'],
    ['watch', 'pods', { namespace: 'ns', name: 'p' }, unrelated],
    ['create', 'pods', { namespace: 'ns' }, yes],
    ['delete', 'pods', { namespace: 'ns', name: 'p' }, yes],
    ['patch', 'pods/status', { namespace: 'ns', name: 'p' }, yes],
    ['create', 'pods/eviction', { namespace: 'ns', name: 'p' }, yes],
    ['patch', 'pods', { namespace: 'ns', name: 'p' }, noOpinion],
    ['create', 'pods/exec', { namespace: 'ns', name: 'p' }, noOpinion],
    ['get', 'leases', { ...lease, name: 'a' }, yes],
    ['create', 'leases', lease, yes],
    [
      'update',
      'leases',
      { ...lease, name: 'b' },
      'can only access node lease with the same name as the requesting node',
    ],
    ['list', 'leases', lease, 'can only get, create, update, patch, or delete a node lease'],
    [
      'get',
      'leases',
      { ...lease, namespace: 'x', name: 'a' },
      'can only access leases in the "kube-node-lease" system namespace',
    ],
    ['create', 'events', { namespace: 'default' }, yes],
    ['patch', 'events', { namespace: 'default', name: 'e' }, yes],
    ['list', 'events', { namespace: 'default' }, noOpinion],
    ['list', 'services', {}, yes],
    ['create', 'tokenreviews', { apiGroup: 'authentication.k8s.io' }, yes],
    ['create', 'roles', { apiGroup: 'rbac.authorization.k8s.io', namespace: 'ns' }, noOpinion],
  ])('%s %s %o: %s', (verb, resource, more, expected) => {
    expect(authorizer.authorize(asks('a', verb, resource, more))).toEqual(
      expected === true
        ? { allowed: true }
        : expected === undefined
          ? { allowed: false }
          : { allowed: false, reason: expected },
    );
  });

  test('only a user with a node name in the group system:nodes is a node', () => {
    const request = asks('a', 'get', 'nodes', { name: 'a' });
    const as = (name: string, groups: string[]) => authorizer.authorize({ ...request, user: { name, groups } });
    expect(as('system:node:a', ['system:masters'])).toEqual({ allowed: false });
    expect(as('a', ['system:nodes'])).toEqual({ allowed: false });
    expect(as('system:node:', ['system:nodes'])).toEqual({
      allowed: false,
      reason: 'unknown node for user "system:node:"',
    });
  });
});
