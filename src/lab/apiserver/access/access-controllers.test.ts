/** The controllers for default roles and service accounts, on a real store. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../api/object.js';
import { systemClock } from '../../../clock.js';
import { createLog } from '../../../log.js';
import { memoryJournal } from '../../../memory-api/store/journal.js';
import { RevisionStore } from '../../../memory-api/store/revision-store.js';
import type { Key } from '../../../memory-api/store/store.js';
import { systemRandom } from '../../../random.js';
import { startAccessControllers } from './access-controllers.js';
import { watchAccessObjects } from './access-watch.js';
import { NodeGraph } from './node-graph.js';
import { RbacAuthorizer, rbacGroup } from './rbac.js';

let store: RevisionStore;
let stop: () => void;
const complaints: string[] = [];
const log = createLog({ format: 'text', level: 'warn', write: (line) => complaints.push(line) });
const start = () => startAccessControllers({ store, clock: systemClock, random: systemRandom, log });

beforeEach(async () => {
  complaints.length = 0;
  store = new RevisionStore(memoryJournal(), systemClock);
  await write('', 'namespaces', '', 'kube-system', {});
  stop = await start();
});
afterEach(async () => {
  stop();
  await store.close();
  expect(complaints).toEqual([]);
});

const read = (group: string, resource: string, namespace: string, name: string): KubeObject | undefined => {
  const stored = store.get({ group, resource, namespace, name });
  return stored && JSON.parse(stored.bytes.toString());
};

async function write(group: string, resource: string, namespace: string, name: string, object: object | undefined) {
  const key: Key = { group, resource, namespace, name };
  const encode = () => Buffer.from(JSON.stringify({ metadata: { name }, ...object }));
  await store.write({ key, expected: store.latest(key)?.revision ?? 0, delete: object === undefined, encode });
  await settled();
}

/** One change may lead to another: wait until the store does not change any more. */
async function settled() {
  for (let before = -1; before !== store.revision; ) {
    before = store.revision;
    await new Promise((next) => setImmediate(next));
    await store.settled();
  }
}

const clusterRole = (name: string) => read(rbacGroup, 'clusterroles', '', name);
const verbsOn = (name: string, resource: string) =>
  ((clusterRole(name)?.rules ?? []) as { resources?: string[]; verbs: string[] }[])
    .filter((rule) => rule.resources?.includes(resource))
    .flatMap((rule) => rule.verbs);

describe('default roles', () => {
  test('default roles exist after the start, and a second start changes nothing', async () => {
    expect(clusterRole('cluster-admin')).toMatchObject({
      kind: 'ClusterRole',
      apiVersion: 'rbac.authorization.k8s.io/v1',
      metadata: { name: 'cluster-admin', uid: expect.any(String), creationTimestamp: expect.any(String) },
    });
    const raw = store.get({ group: rbacGroup, resource: 'clusterroles', namespace: '', name: 'cluster-admin' })!;
    expect(raw.bytes.toString()).toMatch(
      /^\{"kind":"ClusterRole","apiVersion":"rbac\.authorization\.k8s\.io\/v1","metadata"/,
    );
    const { revision } = store;
    (await start())();
    expect(store.revision).toBe(revision);
  });

  test('default roles that were deleted or emptied are restored at the next start', async () => {
    await write(rbacGroup, 'clusterroles', '', 'system:discovery', undefined);
    await write(rbacGroup, 'clusterrolebindings', '', 'cluster-admin', {
      ...read(rbacGroup, 'clusterrolebindings', '', 'cluster-admin'),
      subjects: [],
    });
    (await start())();
    expect(clusterRole('system:discovery')).toBeDefined();
    expect(read(rbacGroup, 'clusterrolebindings', '', 'cluster-admin')?.subjects).toHaveLength(1);
  });
});

describe('roles for people', () => {
  test('admin, edit and view have their rules, each including those of the lesser role', () => {
    expect(verbsOn('view', 'configmaps')).toEqual(['get', 'list', 'watch']);
    expect(verbsOn('edit', 'configmaps')).toEqual(expect.arrayContaining(['get', 'create', 'delete']));
    expect(verbsOn('admin', 'rolebindings')).toContain('create');
    expect(verbsOn('edit', 'rolebindings')).toEqual([]);
  });
});

describe('the default service account', () => {
  test('the service account default is in every namespace and is created again when it is deleted', async () => {
    expect(read('', 'serviceaccounts', 'kube-system', 'default')?.kind).toBe('ServiceAccount');
    await write('', 'namespaces', '', 'team', {});
    const first = read('', 'serviceaccounts', 'team', 'default')?.metadata.uid;
    expect(first).toBeDefined();
    await write('', 'serviceaccounts', 'team', 'default', undefined);
    expect(read('', 'serviceaccounts', 'team', 'default')?.metadata.uid).not.toBe(first);
  });

  test('the service account default is not created again in a terminating namespace', async () => {
    await write('', 'namespaces', '', 'leaving', {});
    await write('', 'namespaces', '', 'leaving', {
      metadata: { name: 'leaving', deletionTimestamp: '2026-01-01T00:00:00Z' },
    });
    await write('', 'serviceaccounts', 'leaving', 'default', undefined);
    expect(read('', 'serviceaccounts', 'leaving', 'default')).toBeUndefined();
  });
});

describe('the RBAC index', () => {
  test('the RBAC index has what was stored before, and a change when its write is answered', async () => {
    const configSource = (name: string) => ({
      spec: { configSource: { configMap: { namespace: 'kube-system', name, kubeletConfigKey: 'k' } } },
    });
    await write('', 'nodes', '', 'a', configSource('one'));
    const graph = new NodeGraph({ configAccess: 'automatic' });
    const rbac = new RbacAuthorizer();
    const unfollow = watchAccessObjects(store, rbac, graph);
    const reads = (name: string) => graph.isRelated('a', 'configmap', 'kube-system', name);
    expect([reads('one'), reads('two')]).toEqual([true, false]);
    const key = { group: '', resource: 'nodes', namespace: '', name: 'a' };
    const put = (object: object) =>
      store.write({
        key,
        expected: store.latest(key)!.revision,
        delete: false,
        encode: () => Buffer.from(JSON.stringify({ metadata: { name: 'a' }, ...object })),
      });
    await put(configSource('two'));
    expect([reads('one'), reads('two')]).toEqual([false, true]);
    await put({ spec: {} });
    expect(reads('two')).toBe(false);
    const masters = { name: 'x', groups: ['system:masters'] };
    expect(rbac.rulesFor(masters, '').rules.length).toBeGreaterThan(0);
    unfollow();
    await put(configSource('three'));
    expect(reads('three')).toBe(false);
  });
});
