/** The default admission plugins: defaults for pods and nodes, and the namespace lifecycle. */

import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../api/object.js';
import type { ApiError } from '../../../api/status.js';
import type { AdmissionRequest, Operation } from '../../../memory-api/admission.js';
import type { Resource } from '../../../memory-api/resource.js';
import { systemRandom } from '../../../random.js';
import { defaultAdmission } from './default-admission.js';

const stored: Record<string, KubeObject> = {
  'namespaces//ns': named('ns'),
  'namespaces//leaving': named('leaving', { deletionTimestamp: '2024-01-01T00:00:00Z' }),
  'serviceaccounts/ns/default': named('default'),
  'serviceaccounts/ns/quiet': {
    ...named('quiet'),
    automountServiceAccountToken: false,
    imagePullSecrets: [{ name: 'registry' }],
  },
};
const admission = defaultAdmission(
  { find: ({ resource, namespace, name }) => stored[`${resource}/${namespace}/${name}`] },
  systemRandom,
);

function named(name: string, metadata = {}): KubeObject {
  return { apiVersion: 'v1', kind: '', metadata: { name, ...metadata } };
}

async function admit(operation: Operation, plural: string, namespace: string, object?: KubeObject, group = '') {
  const request: AdmissionRequest = {
    attributes: {
      ...{ user: { name: 'jane', groups: [] }, verb: 'create', isResource: true, path: '', apiGroup: group },
      ...{ apiVersion: 'v1', resource: plural, subresource: '', namespace, name: object?.metadata.name ?? '' },
    },
    operation,
    resource: { group, plural, namespaced: namespace !== '' } as Resource,
    ...(object === undefined ? {} : { object }),
    options: {},
    dryRun: false,
    warn() {},
  };
  await admission.mutate(request);
  await admission.validate(request);
  return request.object;
}

describe('pods', () => {
  const pod = (spec: Record<string, unknown>, metadata = {}) => ({ ...named('p', metadata), spec });

  test('a pod gets a service account, a priority and tolerations', async () => {
    const got = await admit(
      'CREATE',
      'pods',
      'ns',
      pod({ automountServiceAccountToken: false, containers: [{ name: 'c' }] }),
    );
    expect(got?.spec).toEqual({
      automountServiceAccountToken: false,
      containers: [{ name: 'c' }],
      preemptionPolicy: 'PreemptLowerPriority',
      priority: 0,
      serviceAccount: 'default',
      serviceAccountName: 'default',
      tolerations: [
        { effect: 'NoExecute', key: 'node.kubernetes.io/not-ready', operator: 'Exists', tolerationSeconds: 300 },
        { effect: 'NoExecute', key: 'node.kubernetes.io/unreachable', operator: 'Exists', tolerationSeconds: 300 },
      ],
    });
  });

  test('a pod mounts the token in every container that mounts nothing at its path', async () => {
    const path = '/var/run/secrets/kubernetes.io/serviceaccount';
    const own = { name: 'own', mountPath: path };
    const got = await admit(
      'CREATE',
      'pods',
      'ns',
      pod({ containers: [{ name: 'a' }, { name: 'b', volumeMounts: [own] }] }),
    );
    const spec = got?.spec as { volumes: { name: string }[]; containers: { volumeMounts: unknown[] }[] };
    expect(spec.volumes.map(({ name }) => name)).toEqual([expect.stringMatching(/^kube-api-access-[b-z2-9]{5}$/)]);
    expect(spec.containers.map(({ volumeMounts }) => volumeMounts)).toEqual([
      [{ mountPath: path, name: spec.volumes[0]!.name, readOnly: true }],
      [own],
    ]);
  });

  test('a pod gets pull secrets and automount setting of its service account', async () => {
    const got = await admit('CREATE', 'pods', 'ns', pod({ serviceAccountName: 'quiet', containers: [{ name: 'a' }] }));
    const spec = got?.spec as Record<string, unknown>;
    expect([spec.volumes, spec.imagePullSecrets]).toEqual([undefined, [{ name: 'registry' }]]);
  });

  test('a pod keeps its own tolerations', async () => {
    const tolerations = [{ operator: 'Exists' }];
    const got = await admit('CREATE', 'pods', 'ns', pod({ tolerations, containers: [] }));
    expect(got?.spec).toMatchObject({ tolerations });
  });

  test.each([
    [{ serviceAccountName: 'x' }, {}, 'error looking up service account ns/x: serviceaccount "x" not found'],
    [{ priorityClassName: 'x' }, {}, 'no PriorityClass with name x was found'],
    [
      { priority: 7 },
      {},
      'the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name',
    ],
    [
      { serviceAccountName: 'default' },
      { annotations: { 'kubernetes.io/config.mirror': 'x' } },
      'a mirror pod may not reference service accounts',
    ],
  ])('%o is rejected', async (spec, metadata, why) => {
    await expect(admit('CREATE', 'pods', 'ns', pod(spec, metadata))).rejects.toThrow(`pods "p" is forbidden: ${why}`);
  });

  test('a mirror pod gets no service account', async () => {
    const got = await admit('CREATE', 'pods', 'ns', pod({}, { annotations: { 'kubernetes.io/config.mirror': 'x' } }));
    expect(got?.spec).not.toHaveProperty('serviceAccountName');
  });
});

describe('nodes', () => {
  const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  test.each([
    [undefined, [taint]],
    [{ taints: [{ key: 'a', effect: 'NoExecute' }] }, [{ key: 'a', effect: 'NoExecute' }, taint]],
    [{ taints: [taint] }, [taint]],
  ])('a new node is tainted not ready: %o', async (spec, taints) => {
    const got = await admit('CREATE', 'nodes', '', { ...named('n'), ...(spec ? { spec } : {}) });
    expect(got?.spec).toMatchObject({ taints });
  });
});

describe('namespaces', () => {
  test.each(['default', 'kube-system', 'kube-public'])('%s may not be deleted', async (name) => {
    await expect(admit('DELETE', 'namespaces', '', named(name))).rejects.toThrow(
      `namespaces "${name}" is forbidden: this namespace may not be deleted`,
    );
  });
  test('other namespaces may be deleted', async () => {
    await expect(admit('DELETE', 'namespaces', '', named('kube-node-lease'))).resolves.toBeDefined();
  });
  test('nothing is created in a missing namespace', async () => {
    await expect(admit('CREATE', 'configmaps', 'gone', named('a'))).rejects.toThrow('namespaces "gone" not found');
    await expect(admit('UPDATE', 'configmaps', 'gone', named('a'))).rejects.toThrow('namespaces "gone" not found');
    await expect(
      admit('CREATE', 'localsubjectaccessreviews', 'gone', named('a'), 'authorization.k8s.io'),
    ).resolves.toBeDefined();
  });
  test('a terminating namespace accepts updates and deletions but no new objects', async () => {
    await expect(admit('UPDATE', 'configmaps', 'leaving', named('a'))).resolves.toBeDefined();
    await expect(admit('DELETE', 'configmaps', 'leaving', named('a'))).resolves.toBeDefined();
    const error = await admit('CREATE', 'configmaps', 'leaving', named('a')).catch((caught: ApiError) => caught);
    expect((error as ApiError).status).toMatchObject({
      code: 403,
      message:
        'configmaps "a" is forbidden: unable to create new content in namespace leaving because it is being terminated',
      details: {
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: 'namespace leaving is being terminated',
            field: 'metadata.namespace',
          },
        ],
      },
    });
  });
});
