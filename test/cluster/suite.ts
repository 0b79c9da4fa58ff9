/**
 * Promises of relet on Kubernetes 1.26 and later, run against relet's own API server and against real ones: deploy/ applied
 * with kubectl, the controller with its own service account, nodes with their own credentials, and parties who want more than
 * they may.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configLabel, configNamespace, guardsLease, nodeConfigs, unsetAnnotations } from '../../src/api/node-config.js';
import type { KubeObject } from '../../src/api/object.js';
import { isForbidden } from '../../src/api/status.js';
import { grantRole } from '../../src/controller/grant-plan.js';
import type { GuardChoice } from '../../src/controller/guard-plan.js';
import type { KubeClient } from '../../src/kube/client.js';
import {
  admissionPolicies,
  admissionPolicyBindings,
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  leases,
  nodes,
  roleBindings,
  roles,
} from '../../src/kube/resource-type.js';
import type { Cluster } from './cluster.js';
import { configMapObject, point, write } from './cluster-node.js';
import { type RunningController, startController } from './controller.js';
import { greedyParties } from './greedy-parties.js';
import { referenceStates } from './reference-states.js';
import { condition, exists, Scene, until } from './scene.js';

const deploy = join(import.meta.dirname, '../../deploy');

export interface SuiteOptions {
  start(): Promise<Cluster>;
  /** Directory that is applied. */
  kustomization: 'deploy' | 'deploy/base';
  guards: GuardChoice;
  /** The server has CEL rules in definitions: 1.25 and later. */
  hasRules: boolean;
  /** Without what is the same with all guards, where it ran with others. Default false. */
  guardsOnly?: boolean;
}

export function clusterSuite({ start, kustomization, guards, hasRules, guardsOnly = false }: SuiteOptions): void {
  const hasPolicies = kustomization === 'deploy';
  const scene = new Scene();
  let controller: RunningController;

  beforeAll(async () => {
    scene.begin(await start());
    for (const name of ['node-a', 'node-b'])
      await scene.admin.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
    await install();
    await bindPeople(scene.admin);
    controller = await startController(scene.cluster, { identity: 'first', guards });
    for (const name of ['node-a', 'node-b'])
      await until(`NodeConfig of ${name}`, () => exists(scene.admin.get(nodeConfigs, { name })));
  });
  afterAll(async () => {
    await controller?.stop();
    await scene.cluster?.close();
  });

  const install = () => scene.cluster.kubectl('apply', '-k', join(deploy, '..', kustomization));

  test('deploy/ can be applied again, and nothing of it changes', async () => {
    const { cluster } = scene;
    const again = await install();
    // A server without CEL takes the rules out of the definition, so that kubectl always has something to add.
    const mayChange = hasRules
      ? []
      : ['customresourcedefinition.apiextensions.k8s.io/nodeconfigs.relet.dev configured'];
    expect(again.split('\n').filter((line) => line !== '' && !line.endsWith('unchanged'))).toEqual(mayChange);
    expect(await cluster.kubectl('get', 'nodeconfigs')).toMatch(
      /NAME +ASSIGNED +ACTIVE +OK +AGENT +TRIAL +ERROR +AGE\n/,
    );
  });

  test('every Node has a NodeConfig that is unset, and reports which guards are in force', async () => {
    const { admin } = scene;
    for (const name of ['node-a', 'node-b']) {
      const made = await admin.get(nodeConfigs, { name });
      const uid = (await admin.get(nodes, { name })).metadata.uid;
      expect(made.metadata.ownerReferences).toMatchObject([{ kind: 'Node', name, uid }]);
      expect(made.metadata.annotations).toMatchObject(unsetAnnotations('true'));
    }
    const reason = hasPolicies ? 'AdmissionPolicies' : 'PerNodeRoles';
    await until('guarded', async () => (await condition(admin, 'node-a', 'Guarded'))?.reason === reason);
    expect(await condition(admin, 'node-a', 'Guarded')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('as of the last check (renewTime of Lease relet-system/relet-guards)'),
    });
  });

  test('a Lease shows everybody when the guards were last checked', async () => {
    const lease = { namespace: configNamespace, name: guardsLease };
    await until('checked', () => exists(scene.admin.get(leases, lease)));
    const { spec } = await scene.cluster.client('viewer').get<KubeObject>(leases, lease);
    const { renewTime, leaseDurationSeconds } = spec as { renewTime: string; leaseDurationSeconds: number };
    expect(leaseDurationSeconds).toBe(180);
    expect(Date.now() - Date.parse(renewTime)).toBeLessThan(leaseDurationSeconds * 1000);
  });

  test('a config is written by one, assigned by another, granted to the node, tried, and last known good', async () => {
    const { admin, freshNode, granted, newConfig, operator } = scene;
    const node = await freshNode();
    await newConfig('walk', node.rig.config('maxPods: 50'));
    expect(await granted('walk')).toEqual([]);
    await point(operator, 'node-a', 'walk');
    const active = await node.active('walk');
    expect(active.config?.assigned).toEqual(active.config?.active);
    expect(await granted('walk')).toEqual(['node-a']);
    expect(node.rig.log()).not.toMatch(/ERROR .*failed to download/);
    await until('said so', async () => (await condition(admin, 'node-a', 'Granted'))?.reason === 'RoleBinding');
    await node.rig.passTrial();
    await node.until('good', ({ config }) => config?.lastKnownGood?.configMap?.name === 'walk');

    // Assigned something else: the last known good may still be read; after that has proven itself, no longer.
    await newConfig('walk-2', node.rig.config('maxPods: 51'));
    await point(operator, 'node-a', 'walk-2');
    await node.active('walk-2');
    expect(await granted('walk')).toEqual(['node-a']);
    await node.rig.passTrial();
    await node.until('good', ({ config }) => config?.lastKnownGood?.configMap?.name === 'walk-2');
    await until('taken back', async () => (await granted('walk')).length === 0);
    await point(operator, 'node-a', undefined);
    await node.active();
  });

  if (!guardsOnly) referenceStates(scene, { hasRules });
  greedyParties(scene, { hasPolicies });

  test('a grant whose reason ended while no controller led is taken back by the next leader', async () => {
    const { admin, cluster, granted, newConfig, operator } = scene;
    await until('NodeConfig made', () => exists(admin.get(nodeConfigs, { name: 'node-b' })));
    await newConfig('outlived', 'maxPods: 50');
    await point(operator, 'node-b', 'outlived');
    await until('granted', async () => (await granted('outlived')).includes('node-b'));
    await controller.stop();
    await point(operator, 'node-b', undefined);
    const unlabel = { metadata: { labels: { [configLabel]: null } } };
    await admin.patch(configMaps, { namespace: configNamespace, name: 'outlived' }, unlabel, { as: 'merge' });
    expect(await granted('outlived')).toEqual(['node-b']);
    controller = await startController(cluster, { identity: 'next', guards });
    await until('taken back', async () => (await granted('outlived')).length === 0);
  });

  test('kube-system, where relet stored configs before, is granted from while nodes use what was granted there, and not otherwise', async () => {
    const { admin, cluster, operator } = scene;
    const namespace = 'kube-system';
    const reason = async () => (await condition(admin, 'node-b', 'Granted'))?.reason;
    await until('NodeConfig made', () => exists(admin.get(nodeConfigs, { name: 'node-b' })));
    const { metadata, ...rest } = configMapObject('former', 'maxPods: 65');
    const { uid } = (await write(admin, { ...rest, metadata: { ...metadata, namespace } })).metadata;
    await point(operator, 'node-b', 'former', { namespace });
    await until('not granted', async () => (await reason()) === 'NamespaceNotAllowed');

    // As an earlier edition left it, and an upgrade finds it.
    await controller.stop();
    await cluster.kubectl('apply', '-k', join(deploy, 'kube-system'));
    await admin.create(roles, { namespace }, grantRole({ namespace, name: 'former', uid: uid! }));
    controller = await startController(cluster, { identity: 'upgraded', guards });
    await until('granted', async () => (await reason()) === 'RoleBinding');

    await point(operator, 'node-b', undefined);
  });

  test.runIf(!guardsOnly)('a restart of the API server loses nothing', async () => {
    const { cluster, freshNode, newConfig, operator } = scene;
    const node = await freshNode();
    await newConfig('before', node.rig.config('maxPods: 100'));
    await newConfig('after', node.rig.config('maxPods: 101'));
    await point(operator, 'node-a', 'before');
    await node.active('before');
    await cluster.stop();
    await node.rig.until('noticed', () => /cannot watch/.test(node.rig.log()));
    await cluster.start();
    await point(operator, 'node-a', 'after');
    await node.active('after');
    expect(node.rig.starts()).toHaveLength(3);
  });

  test.runIf(!guardsOnly)('a controller that dies is followed by the next', async () => {
    const { admin, cluster, freshNode, newConfig, operator } = scene;
    const node = await freshNode();
    const quick = { durationMs: 1500, renewMs: 1000, retryMs: 200, lease: 'failover', guards };
    await controller.stop();
    const first = await startController(cluster, { identity: 'one', ...quick });
    const holder = async () => {
      const lease = await admin
        .get<KubeObject>(leases, { namespace: 'relet-system', name: 'failover' })
        .catch(() => undefined);
      return (lease?.spec as { holderIdentity?: string } | undefined)?.holderIdentity;
    };
    await until('one leads', async () => (await holder()) === 'one');
    const second = await startController(cluster, { identity: 'two', ...quick });
    first.kill();
    await newConfig('failover', node.rig.config('maxPods: 110'));
    await point(operator, 'node-a', 'failover');
    await node.active('failover');
    expect(await holder()).toBe('two');
    await second.stop();
    await until('given back', async () => (await holder()) === '');
    controller = await startController(cluster, { identity: 'first', guards });
  });

  test.runIf(hasPolicies)(
    'guards that are deleted or weakened are noticed, and nothing gets weaker meanwhile',
    async () => {
      const { admin, cluster, freshNode, newConfig, operator } = scene;
      const node = await freshNode();
      await until('all nodes may write', () => exists(admin.get(clusterRoleBindings, { name: 'relet:node-status' })));
      await admin.delete(admissionPolicyBindings, { name: 'relet-node-writes-own-status' });
      await until('said', async () => (await condition(admin, 'node-a', 'Guarded'))?.status === 'False');
      expect(await condition(admin, 'node-a', 'Guarded')).toMatchObject({
        reason: 'GuardsMissing',
        message: expect.stringContaining('ValidatingAdmissionPolicyBinding relet-node-writes-own-status is missing'),
      });
      expect(await exists(admin.get(clusterRoleBindings, { name: 'relet:node-status' }))).toBe(false);
      const other = await admin.get(nodeConfigs, { name: 'node-b' });
      const client = cluster.client('system:node:node-a');
      const status = { name: 'node-b', subresource: 'status' };
      await expect(client.update(nodeConfigs, status, { ...other, status: {} })).rejects.toSatisfy(isForbidden);
      // The node still reports, through a role of its own.
      await newConfig('unguarded', node.rig.config('maxPods: 120'));
      await point(operator, 'node-a', 'unguarded');
      await node.active('unguarded');
      await install();
      await until('whole again', async () => (await condition(admin, 'node-a', 'Guarded'))?.status === 'True');
      const weak = { spec: { failurePolicy: 'Ignore' } };
      await admin.patch(admissionPolicies, { name: 'relet-who-assigns' }, weak, { as: 'merge' });
      await until('said', async () => (await condition(admin, 'node-a', 'Guarded'))?.status === 'False');
      expect((await condition(admin, 'node-a', 'Guarded'))?.message).toContain('relet-who-assigns was changed');
      await install();
      await until('whole again', async () => (await condition(admin, 'node-a', 'Guarded'))?.status === 'True');
    },
    60_000,
  );

  test('kubectl delete -k leaves every node running what it runs, and so does applying it again', async () => {
    const { admin, cluster, freshNode, granted, newConfig, operator } = scene;
    const node = await freshNode();
    await newConfig('stays', node.rig.config('maxPods: 130'));
    await point(operator, 'node-a', 'stays');
    await node.active('stays');
    const starts = node.rig.starts().length;
    await controller.stop();
    await cluster.kubectl('delete', '-k', join(deploy, '..', kustomization), '--wait=false', '--ignore-not-found');
    await until('gone', async () => !(await exists(admin.list(nodeConfigs))));
    await node.rig.until('the agent sees it', () => node.rig.log().includes('in=Node before=NodeConfig'));
    await node.rig.until('no instruction', () => node.rig.log().includes('the API no longer serves NodeConfigs'));
    expect(node.rig.starts()).toHaveLength(starts);
    await node.rig.stop();
    node.rig.boot();
    await node.rig.until('runs it again', () => node.rig.starts().length === starts + 1);
    expect(node.rig.starts().at(-1)?.configFile).toContain('checkpoints');

    await until('namespace gone', async () => removed(cluster, admin));
    await install();
    await bindAuthors(admin);
    controller = await startController(cluster, { identity: 'first', guards });
    await node.rig.stop();
    node.rig.boot();
    await node.until('reports what it runs', ({ config }) => config?.active?.configMap?.name === 'stays');
    expect((await node.nodeConfig()).spec).toEqual({});
    await node.rig.until('unset', () => node.rig.log().includes('is unset: nobody has written its spec yet'));
    expect(node.rig.starts()).toHaveLength(starts + 2);
    expect(node.rig.status()?.active?.configMap?.name).toBe('stays');
    // The configs of relet-system went with it.
    await newConfig('stays', node.rig.config('maxPods: 130'));
    await point(operator, 'node-a', 'stays');
    await until('decided', async () => (await granted('stays')).includes('node-a'));
  });
}

/** The namespace is gone. A lone kube-apiserver has no namespace controller: there its finalizer is taken away by hand. */
async function removed(cluster: Cluster, admin: KubeClient): Promise<boolean> {
  const namespaces = { group: '', version: 'v1', resource: 'namespaces' };
  const present = await admin.get<KubeObject>(namespaces, { name: 'relet-system' }).catch(() => undefined);
  if (present === undefined) return true;
  if (present.metadata.deletionTimestamp === undefined) return false;
  for (const kind of ['role', 'rolebinding', 'lease', 'serviceaccount', 'configmap', 'deployment'])
    await cluster.kubectl('delete', kind, '--all', '-n', 'relet-system', '--wait=false').catch(() => {});
  const finalized = { ...present, spec: { finalizers: [] } };
  await admin.update(namespaces, { name: 'relet-system', subresource: 'finalize' }, finalized).catch(() => {});
  return false;
}

const apiVersion = 'rbac.authorization.k8s.io/v1';

function bind(admin: KubeClient, user: string, role: string, namespace?: string) {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role };
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }];
  const metadata = { name: `test-${user}`, ...(namespace && { namespace }) };
  const kind = namespace ? 'RoleBinding' : 'ClusterRoleBinding';
  const type = namespace ? roleBindings : clusterRoleBindings;
  return admin.create(type, namespace ? { namespace } : {}, { apiVersion, kind, metadata, roleRef, subjects });
}

/** Those whose bindings are in relet-system. */
async function bindAuthors(admin: KubeClient): Promise<void> {
  await bind(admin, 'author', 'relet:author', 'relet-system');
  await bind(admin, 'editor', 'test-edit', 'relet-system');
}

async function bindPeople(admin: KubeClient): Promise<void> {
  await bind(admin, 'operator', 'relet:operator');
  await bind(admin, 'viewer', 'relet:viewer');
  // The built-in role edit is put together by a controller that a lone kube-apiserver does not have.
  const verbs = ['get', 'list', 'create', 'update', 'patch', 'delete'];
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs }];
  await admin.create(clusterRoles, {}, { apiVersion, kind: 'ClusterRole', metadata: { name: 'test-edit' }, rules });
  await bindAuthors(admin);
}
