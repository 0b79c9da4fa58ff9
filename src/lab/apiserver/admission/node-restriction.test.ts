/** NodeRestriction: what a kubelet may write. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../api/object.js';
import type { AdmissionRequest, Operation } from '../../../memory-api/admission.js';
import type { Resource } from '../../../memory-api/resource.js';
import { nodeRestriction } from './node-restriction.js';

const nodeA = { name: 'system:node:node-a', groups: ['system:nodes', 'system:authenticated'] };
const nodeUid = '11111111-1111-4111-8111-111111111111';

function objectsWith(pods: Record<string, unknown>) {
  return {
    find: ({ resource, name }: { resource: string; name: string }) => {
      if (resource === 'nodes') return name === 'node-a' ? object({}, { name, uid: nodeUid }) : undefined;
      return Object.hasOwn(pods, name) ? object({ spec: pods[name] }, { name, uid: `uid-${name}` }) : undefined;
    },
  };
}

const stored = objectsWith({
  mine: {
    nodeName: 'node-a',
    volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { audience: 'vault' } }] } }],
  },
  theirs: { nodeName: 'node-b' },
});

function object(fields: Record<string, unknown>, metadata: Record<string, unknown> = {}): KubeObject {
  return { apiVersion: 'v1', kind: '', metadata: { name: 'node-a', ...metadata }, ...fields } as KubeObject;
}

interface Asked {
  operation: Operation;
  resource: string;
  group?: string;
  namespace?: string;
  name?: string;
  object?: KubeObject;
  old?: KubeObject;
  user?: typeof nodeA;
}

/** The error message, or undefined when the request was admitted. */
function ask({ operation, resource, group = '', namespace = '', name = '', object: next, old, user = nodeA }: Asked) {
  const [plural, subresource = ''] = resource.split('/');
  const request: AdmissionRequest = {
    attributes: {
      ...{ user, verb: operation.toLowerCase(), isResource: true, path: '', apiGroup: group, apiVersion: 'v1' },
      ...{ resource: plural!, subresource, namespace, name },
    },
    operation,
    resource: { group, plural, namespaced: namespace !== '' } as Resource,
    ...(next === undefined ? {} : { object: next }),
    ...(old === undefined ? {} : { oldObject: old }),
    options: {},
    dryRun: false,
    warn() {},
  };
  try {
    nodeRestriction(stored).mutate(request);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('N1: a node and its own configSource', () => {
  const source = (name: string) => ({ configMap: { namespace: 'kube-system', name, kubeletConfigKey: 'kubelet' } });
  const update = (from: unknown, to: unknown) =>
    ask({
      operation: 'UPDATE',
      resource: 'nodes',
      name: 'node-a',
      old: object({ spec: { configSource: from } }),
      object: object({ spec: { configSource: to } }),
    });
  const message =
    'nodes "node-a" is forbidden: node "node-a" is not allowed to update configSource to a new non-nil configSource';

  test('a node may not create its Node with a configSource', () => {
    expect(
      ask({ operation: 'CREATE', resource: 'nodes', object: object({ spec: { configSource: source('a') } }) }),
    ).toBe('nodes "node-a" is forbidden: node "node-a" is not allowed to create pods with a non-nil configSource');
  });
  test('a node may not set its configSource', () => expect(update(undefined, source('a'))).toBe(message));
  test('a node may not change its configSource', () => expect(update(source('a'), source('b'))).toBe(message));
  test('a node may not turn a beta reference into a DKC alpha one', () =>
    expect(update(source('a'), { configMapRef: { namespace: 'kube-system', name: 'a', uid: 'u' } })).toBe(message));
  test('a node may update its Node without changing its configSource', () =>
    expect(update(source('a'), source('a'))).toBeUndefined());
  test('a node may remove its configSource, as old kubelets do', () =>
    expect(update(source('a'), undefined)).toBeUndefined());
});

describe('a node and its Node', () => {
  const labels = (now: Record<string, string>, before: Record<string, string> = {}) =>
    ask({
      operation: 'UPDATE',
      resource: 'nodes',
      name: 'node-a',
      old: object({}, { labels: before }),
      object: object({}, { labels: now }),
    });

  test('a node may create and update only its own Node and status', () => {
    const own = object({ spec: {} });
    expect(ask({ operation: 'CREATE', resource: 'nodes', object: own })).toBeUndefined();
    expect(ask({ operation: 'CREATE', resource: 'nodes', object: object({}, { name: 'node-b' }) })).toBe(
      'nodes "node-b" is forbidden: node "node-a" is not allowed to modify node "node-b"',
    );
    expect(ask({ operation: 'UPDATE', resource: 'nodes/status', name: 'node-b', object: own, old: own })).toBe(
      'nodes "node-b" is forbidden: node "node-a" is not allowed to modify node "node-b"',
    );
    expect(
      ask({ operation: 'UPDATE', resource: 'nodes/status', name: 'node-a', object: own, old: own }),
    ).toBeUndefined();
  });

  test.each([
    'kubernetes.io/hostname',
    'node.kubernetes.io/anything',
    'sub.node.kubernetes.io/x',
    'kubelet.kubernetes.io/x',
    'topology.kubernetes.io/zone',
    'beta.kubernetes.io/arch',
    'example.com/x',
    'plain',
    '__proto__x',
  ])('a node may set the label %s', (key) => {
    expect(labels({ [key]: '1' })).toBeUndefined();
    expect(
      ask({ operation: 'CREATE', resource: 'nodes', object: object({}, { labels: { [key]: '1' } }) }),
    ).toBeUndefined();
  });

  test.each([
    'node-restriction.kubernetes.io/x',
    'sub.node-restriction.kubernetes.io/x',
    'node-role.kubernetes.io/control-plane',
    'kubernetes.io/role',
    'k8s.io/x',
    'sub.k8s.io/x',
  ])('a node may not set, change or remove the label %s', (key) => {
    const message = `nodes "node-a" is forbidden: is not allowed to modify labels: ${key}`;
    expect(labels({ [key]: '1' })).toBe(message);
    expect(labels({ [key]: '2' }, { [key]: '1' })).toBe(message);
    expect(labels({}, { [key]: '1' })).toBe(message);
    expect(labels({ [key]: '1' }, { [key]: '1' })).toBeUndefined();
    expect(ask({ operation: 'CREATE', resource: 'nodes', object: object({}, { labels: { [key]: '1' } }) })).toBe(
      `nodes "node-a" is forbidden: node "node-a" is not allowed to set the following labels: ${key}`,
    );
  });

  test('a node may set taints when it registers but not change them', () => {
    const taints = [{ key: 'a', effect: 'NoSchedule' }];
    const own = object({ spec: { taints } });
    expect(ask({ operation: 'CREATE', resource: 'nodes', object: own })).toBeUndefined();
    expect(
      ask({
        operation: 'UPDATE',
        resource: 'nodes',
        name: 'node-a',
        old: own,
        object: object({ spec: { taints: [] } }),
      }),
    ).toBe('nodes "node-a" is forbidden: node "node-a" is not allowed to modify taints');
    expect(
      ask({
        operation: 'UPDATE',
        resource: 'nodes',
        name: 'node-a',
        old: object({ spec: {} }),
        object: object({ spec: { taints: [] } }),
      }),
    ).toBeUndefined();
  });
});

describe('a node and its lease', () => {
  const lease = (name: string, namespace: string) =>
    ask({
      operation: 'CREATE',
      resource: 'leases',
      group: 'coordination.k8s.io',
      namespace,
      object: object({}, { name, namespace }),
    });
  test('a node may write only its own lease, in the namespace of node leases', () => {
    expect(lease('node-a', 'kube-node-lease')).toBeUndefined();
    expect(lease('node-b', 'kube-node-lease')).toBe(
      'leases.coordination.k8s.io "node-b" is forbidden: can only access node lease with the same name as the requesting node',
    );
    expect(lease('node-a', 'default')).toBe(
      'leases.coordination.k8s.io "node-a" is forbidden: can only access leases in the "kube-node-lease" system namespace',
    );
  });
});

describe('a node and pods', () => {
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'node-a', uid: nodeUid, controller: true };
  const annotations = { 'kubernetes.io/config.mirror': 'hash' };
  const create = (spec: Record<string, unknown>, metadata: Record<string, unknown> = {}) =>
    ask({
      operation: 'CREATE',
      resource: 'pods',
      namespace: 'ns',
      object: object(
        { spec: { nodeName: 'node-a', ...spec } },
        { name: 'm', annotations, ownerReferences: [owner], ...metadata },
      ),
    });

  test.each<[string, Record<string, unknown>, Record<string, unknown>, string | undefined]>([
    ['a mirror pod of its own', {}, {}, undefined],
    [
      'no ordinary pod',
      {},
      { annotations: {} },
      'pod does not have "kubernetes.io/config.mirror" annotation, node "node-a" can only create mirror pods',
    ],
    [
      'not for another node',
      { nodeName: 'b' },
      {},
      'node "node-a" can only create pods with spec.nodeName set to itself',
    ],
    [
      'not without owner',
      {},
      { ownerReferences: [] },
      'node "node-a" can only create pods with an owner reference set to itself',
    ],
    [
      'not with two owners',
      {},
      { ownerReferences: [owner, owner] },
      'node "node-a" can only create pods with a single owner reference set to itself',
    ],
    [
      'not with another owner',
      {},
      { ownerReferences: [{ ...owner, name: 'b' }] },
      'node "node-a" can only create pods with an owner reference set to itself',
    ],
    [
      'not without being the controller',
      {},
      { ownerReferences: [{ ...owner, controller: false }] },
      'node "node-a" can only create pods with a controller owner reference set to itself',
    ],
    [
      'not with blockOwnerDeletion',
      {},
      { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] },
      'node "node-a" must not set blockOwnerDeletion on an owner reference',
    ],
    [
      'not owned by a deleted Node of the same name',
      {},
      { ownerReferences: [{ ...owner, uid: 'x' }] },
      `node node-a UID mismatch: expected x got ${nodeUid}`,
    ],
    [
      'not with a service account',
      { serviceAccountName: 'x' },
      {},
      'node "node-a" can not create pods that reference a service account',
    ],
    [
      'not with secrets',
      { volumes: [{ name: 'v', secret: { secretName: 's' } }] },
      {},
      'node "node-a" can not create pods that reference secrets',
    ],
    [
      'not with configmaps',
      { containers: [{ envFrom: [{ configMapRef: { name: 'c' } }] }] },
      {},
      'node "node-a" can not create pods that reference configmaps',
    ],
    [
      'not with claims',
      { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
      {},
      'node "node-a" can not create pods that reference persistentvolumeclaims',
    ],
  ])('creating a pod as a node: %s', (_name, spec, metadata, why) => {
    expect(create(spec, metadata)).toBe(why && `pods "m" is forbidden: ${why}`);
  });

  test('a node may delete, evict and update the status only of pods bound to it', () => {
    const on = (operation: Operation, resource: string, name: string) => {
      const pod = stored.find({ resource: 'pods', name })!;
      const both = operation === 'UPDATE' ? { object: pod, old: pod } : {};
      return ask({ operation, resource, namespace: 'ns', name, ...both });
    };
    expect(on('DELETE', 'pods', 'mine')).toBeUndefined();
    expect(on('DELETE', 'pods', 'theirs')).toBe(
      'pods "theirs" is forbidden: node "node-a" can only delete pods with spec.nodeName set to itself',
    );
    expect(on('CREATE', 'pods/eviction', 'mine')).toBeUndefined();
    expect(on('CREATE', 'pods/eviction', 'theirs')).toBe(
      'pods "theirs" is forbidden: node node-a can only evict pods with spec.nodeName set to itself',
    );
    expect(ask({ operation: 'CREATE', resource: 'pods/eviction', namespace: 'ns', name: 'gone' })).toBe(
      'pods "gone" not found',
    );
    expect(on('UPDATE', 'pods/status', 'mine')).toBeUndefined();
    expect(on('UPDATE', 'pods/status', 'theirs')).toBe(
      'pods "theirs" is forbidden: node "node-a" can only update pod status for pods with spec.nodeName set to itself',
    );
    expect(on('UPDATE', 'pods', 'mine')).toBe(
      'pods "mine" is forbidden: unexpected operation "UPDATE", node "node-a" can only create and delete mirror pods',
    );
    expect(ask({ operation: 'CREATE', resource: 'pods/exec', namespace: 'ns', name: 'mine' })).toBe(
      'pods "mine" is forbidden: unexpected pod subresource "exec", only \'status\' and \'eviction\' are allowed',
    );
  });

  test.each<[string, Record<string, unknown>, string | undefined]>([
    ['for a pod of its own, with its audience', { audiences: ['vault'], boundObjectRef: ref('mine') }, undefined],
    ['not without a bound object', {}, 'node requested token not bound to a pod'],
    [
      'not without uid',
      { boundObjectRef: { ...ref('mine'), uid: '' } },
      'node requested token with a pod binding without a uid',
    ],
    [
      'not for pods of other nodes',
      { boundObjectRef: ref('theirs') },
      'node requested token bound to a pod scheduled on a different node',
    ],
    [
      'not for another audience',
      { audiences: ['x'], boundObjectRef: ref('mine') },
      'audience "x" not found in pod spec volume',
    ],
  ])('requesting a token as a node: %s', (_name, spec, why) => {
    const got = ask({
      operation: 'CREATE',
      resource: 'serviceaccounts/token',
      namespace: 'ns',
      name: 'bot',
      object: object({ spec }, { name: '' }),
    });
    expect(got).toBe(why && `serviceaccounts "bot" is forbidden: ${why}`);
  });

  function ref(name: string) {
    return { apiVersion: 'v1', kind: 'Pod', name, uid: `uid-${name}` };
  }
});

describe('others', () => {
  test('people and service accounts are not restricted', () => {
    const user = { name: 'admin', groups: ['system:masters'] };
    expect(
      ask({ operation: 'CREATE', resource: 'nodes', object: object({}, { name: 'node-b' }), user }),
    ).toBeUndefined();
  });
  test('a node user without a node name may write nothing', () => {
    const user = { name: 'system:node:', groups: ['system:nodes'] };
    expect(ask({ operation: 'CREATE', resource: 'nodes', object: object({}), user })).toBe(
      'nodes "node-a" is forbidden: could not determine node from user "system:node:"',
    );
  });
});
