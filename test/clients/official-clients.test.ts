/** Clients of other languages and makers list, watch, patch and apply against the embedded server as against any other. */
import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
  Watch,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';

// Debian's own Python: another on the PATH does not see Debian's packages.
const python = '/usr/bin/python3';
const hasPython = spawnSync(python, ['-c', 'import kubernetes']).status === 0;
let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer();
});
afterAll(() => server.close());

test.skipIf(!hasPython)(
  `Python's client does${hasPython ? '' : ' (skipped: python3-kubernetes not found)'}`,
  async () => {
    const program = join(import.meta.dirname, 'client.py');
    const { stdout } = await promisify(execFile)(python, [program, server.kubeconfig]);
    const seen = JSON.parse(stdout) as Record<string, unknown> & { events: unknown[][] };
    expect(seen).toMatchObject({
      version: '1',
      listed: ['py'],
      patched: { a: '2' },
      applied: { a: '2', b: '3' },
      managers: [['py-applier', 'Apply']],
      conflict: '.data.a',
    });
    expect(seen.events).toEqual([
      ['MODIFIED', 'py', '2'],
      ['MODIFIED', 'py', '2'],
      ['DELETED', 'py', '2'],
    ]);
  },
  60_000,
);

describe('the official JavaScript client', () => {
  const namespace = 'default';
  let config: KubeConfig;
  let core: CoreV1Api;

  beforeAll(() => {
    config = new KubeConfig();
    config.loadFromFile(server.kubeconfig);
    core = config.makeApiClient(CoreV1Api);
  });

  const map = (name: string, data: Record<string, string>): V1ConfigMap => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace },
    data,
  });

  test('lists, page by page', async () => {
    for (const name of ['list-a', 'list-b', 'list-c']) {
      await core.createNamespacedConfigMap({
        namespace,
        body: { ...map(name, {}), metadata: { name, labels: { list: 'yes' } } },
      });
    }
    const first = await core.listNamespacedConfigMap({ namespace, labelSelector: 'list=yes', limit: 2 });
    const next = await core.listNamespacedConfigMap({
      namespace,
      labelSelector: 'list=yes',
      limit: 2,
      _continue: first.metadata!._continue!,
    });
    expect([...first.items, ...next.items].map(({ metadata }) => metadata!.name)).toEqual([
      'list-a',
      'list-b',
      'list-c',
    ]);
  });

  test('patches in every way', async () => {
    const name = 'patched';
    await core.createNamespacedConfigMap({ namespace, body: map(name, { a: '1' }) });
    const patch = (body: unknown, strategy: PatchStrategy) =>
      core.patchNamespacedConfigMap({ namespace, name, body }, setHeaderOptions('Content-Type', strategy));
    await patch([{ op: 'add', path: '/data/b', value: '2' }], PatchStrategy.JsonPatch);
    await patch({ data: { c: '3' } }, PatchStrategy.MergePatch);
    const { data } = await patch({ data: { a: null } }, PatchStrategy.StrategicMergePatch);
    expect(data).toEqual({ b: '2', c: '3' });
  });

  test('applies, and receives conflicts', async () => {
    const objects = KubernetesObjectApi.makeApiClient(config);
    const apply = (data: Record<string, string>, manager: string, force = false) =>
      objects.patch(map('applied', data), undefined, undefined, manager, force, PatchStrategy.ServerSideApply);
    await apply({ a: '1' }, 'one');
    await apply({ b: '2' }, 'two');
    await expect(apply({ a: '9' }, 'two')).rejects.toMatchObject({ code: 409 });
    const forced = (await apply({ a: '9' }, 'two', true)) as V1ConfigMap;
    expect(forced.data).toEqual({ a: '9' });
    expect(forced.metadata!.managedFields!.map(({ manager, operation }) => [manager, operation])).toEqual([
      ['two', 'Apply'],
    ]);
  });

  test('watches what happens', async () => {
    const { metadata } = await core.listNamespacedConfigMap({ namespace });
    const seen: string[] = [];
    await new Promise<void>((resolve, reject) => {
      const path = `/api/v1/namespaces/${namespace}/configmaps`;
      const onEvent = (type: string, { metadata }: V1ConfigMap) => {
        seen.push(`${type} ${metadata!.name}`);
        if (type === 'DELETED') resolve();
      };
      new Watch(config)
        .watch(
          path,
          { resourceVersion: metadata!.resourceVersion },
          onEvent,
          (error) => error && reject(error as Error),
        )
        .then(async () => {
          await core.createNamespacedConfigMap({ namespace, body: map('watched', {}) });
          await core.deleteNamespacedConfigMap({ namespace, name: 'watched' });
        })
        .catch(reject);
    });
    expect(seen).toEqual(['ADDED watched', 'DELETED watched']);
  });
});
