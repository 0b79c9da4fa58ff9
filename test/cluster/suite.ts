/**
 * What must be true of relet on a cluster of today, run against relet's own API server and against real ones: deploy/ applied
 * with kubectl, the controller with its own service account, nodes with their own credentials, and parties who want more than
 * they may.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { undecidedAnnotation } from '../../src/api/node-config.js';
import type { KubeObject } from '../../src/api/object.js';
import { systemClock } from '../../src/clock.js';
import { isForbidden, isNotFound } from '../../src/kube/api-error.js';
import type { KubeClient } from '../../src/kube/client.js';
import { runWhileLeader } from '../../src/kube/leader.js';
import {
  admissionPolicies,
  admissionPolicyBindings,
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  leases,
  nodeConfigs,
  nodes,
  roleBindings,
} from '../../src/kube/resource-type.js';
import { createLog } from '../../src/log.js';
import { newControllerCounters, runController } from '../../src/rollout/controller.js';
import { boundNodes, grantName, type RoleBinding } from '../../src/rollout/grant-objects.js';
import type { GuardChoice } from '../../src/rollout/guards.js';
import { clientFor } from '../cluster-rig.js';
import type { Cluster } from './cluster.js';
import { type ClusterNode, configMapObject, point, startNode, write } from './cluster-node.js';

const deploy = join(import.meta.dirname, '../../deploy');
const unparsable = '{0xdeadbeef}';

export interface SuiteOptions {
  start(): Promise<Cluster>;
  /** What is applied. */
  kustomization: 'deploy' | 'deploy/base';
  guards: GuardChoice;
  /** The server has CEL rules in definitions: 1.25 and later. */
  hasRules: boolean;
}

export function clusterSuite({ start, kustomization, guards, hasRules }: SuiteOptions): void {
  const hasPolicies = kustomization === 'deploy';
  let cluster: Cluster;
  let admin: KubeClient;
  let operator: KubeClient;
  let author: KubeClient;
  let controller: RunningController;

  beforeAll(async () => {
    cluster = await start();
    admin = cluster.client('admin');
    for (const name of ['node-a', 'node-b'])
      await admin.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
    await install();
    await bindPeople(admin);
    operator = cluster.client('operator');
    author = cluster.client('author');
    controller = await startController(cluster, { identity: 'first', guards });
  }, 180_000);
  afterAll(async () => {
    await controller?.stop();
    await cluster?.close();
  }, 60_000);

  const install = () => cluster.kubectl('apply', '-k', join(deploy, '..', kustomization));

  /** A node that runs its local config and was told so. */
  async function freshNode(name: 'node-a' | 'node-b' = 'node-a'): Promise<ClusterNode> {
    await until('NodeConfig made', () => exists(admin.get(nodeConfigs, { name })));
    await point(operator, name, undefined);
    await admin.patch(
      nodeConfigs,
      { name },
      { metadata: { annotations: { [undecidedAnnotation]: null } } },
      { as: 'merge' },
    );
    const node = await startNode(cluster, name);
    await node.rig.until('reports', () => node.rig.status() !== undefined);
    await node.active();
    return node;
  }

  async function newConfig(name: string, text: string, client = author): Promise<void> {
    const namespace = 'kube-system';
    await admin.delete(configMaps, { namespace, name }).catch(() => {});
    await write(client, configMapObject(name, text));
  }

  const granted = async (name: string) => {
    const place = { namespace: 'kube-system', name: grantName(name) };
    const binding = await admin.get<RoleBinding>(roleBindings, place).catch(() => undefined);
    return [...boundNodes(binding)];
  };

  test('deploy/ can be applied again, and nothing of it changes', async () => {
    const again = await install();
    // A server without CEL takes the rules out of the definition, so that kubectl always has something to add.
    const mayChange = hasRules
      ? []
      : ['customresourcedefinition.apiextensions.k8s.io/nodeconfigs.relet.dev configured'];
    expect(again.split('\n').filter((line) => line !== '' && !line.endsWith('unchanged'))).toEqual(mayChange);
    await until('NodeConfig made', () => exists(admin.get(nodeConfigs, { name: 'node-a' })));
    expect(await cluster.kubectl('get', 'nodeconfigs')).toMatch(/NAME +ASSIGNED +ACTIVE +OK +TRIAL +ERROR +AGE\n/);
  });

  test('every Node has a NodeConfig that nobody decided yet, and says which guards are in force', async () => {
    for (const name of ['node-a', 'node-b']) {
      await until('made', () => exists(admin.get(nodeConfigs, { name })));
      const made = await admin.get(nodeConfigs, { name });
      const uid = (await admin.get(nodes, { name })).metadata.uid;
      expect(made.metadata.ownerReferences).toMatchObject([{ kind: 'Node', name, uid }]);
      expect(made.metadata.annotations).toMatchObject({ [undecidedAnnotation]: 'true' });
    }
    const reason = hasPolicies ? 'AdmissionPolicies' : 'PerNodeRoles';
    await until('guarded', async () => (await condition(admin, 'node-a', 'Guarded'))?.reason === reason);
    expect(await condition(admin, 'node-a', 'Guarded')).toMatchObject({ status: 'True' });
  });

  test('a config is written by one, assigned by another, granted to the node, tried, and last known good', async () => {
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
  }, 60_000);

  describe('the states a reference can be in', () => {
    test.each([
      ['no namespace', { namespace: null }, 'spec.configSource.configMap.namespace: Required value'],
      ['no name', { name: null }, 'spec.configSource.configMap.name: Required value'],
      ['no key', { kubeletConfigKey: null }, 'spec.configSource.configMap.kubeletConfigKey: Required value'],
      ['a path as namespace', { namespace: '../baz' }, 'spec.configSource.configMap.namespace: Invalid value'],
      ['a path as name', { name: '../bar' }, 'spec.configSource.configMap.name: Invalid value'],
      ['a path as key', { kubeletConfigKey: '../qux' }, 'spec.configSource.configMap.kubeletConfigKey: Invalid value'],
    ])('%s is refused by the server', async (_what, more, message) => {
      await expect(point(operator, 'node-b', 'x', more)).rejects.toThrow(message);
    });

    test.runIf(hasRules).each([
      ['a uid', { uid: 'u' }, 'uid must not be set in spec'],
      ['a resourceVersion', { resourceVersion: '1' }, 'resourceVersion must not be set in spec'],
      ['a key of dots', { kubeletConfigKey: '..' }, "kubeletConfigKey must not be '.'"],
    ])('%s is refused by a rule of the definition', async (_what, more, message) => {
      await expect(point(operator, 'node-b', 'x', more)).rejects.toThrow(message);
    });

    test.runIf(hasRules)('a reference without any is refused by a rule of the definition', async () => {
      const patch = operator.patch(nodeConfigs, { name: 'node-b' }, { spec: { configSource: {} } }, { as: 'merge' });
      await expect(patch).rejects.toThrow('exactly one reference subfield must be non-nil');
    });

    test('good, unparsable and invalid configs, back and forth, by reference and in place', async () => {
      const node = await freshNode();
      const text = {
        good: node.rig.config('maxPods: 60'),
        other: node.rig.config('maxPods: 61'),
        unparsable,
        invalid: node.rig.config('kubeAPIQPS: -1'),
      };
      const errors = {
        good: undefined,
        other: undefined,
        unparsable: 'failed to load config, see Kubelet log for details',
        invalid: 'failed to validate config, see Kubelet log for details',
      };
      type State = keyof typeof text;
      for (const state of Object.keys(text) as State[]) await newConfig(`state-${state}`, text[state]);
      const check = (name: string, state: State, version?: string) =>
        node.until(`${name} is ${state}`, ({ config }) => {
          const assigned = config?.assigned?.configMap;
          const isIt = assigned?.name === name && (version === undefined || assigned.resourceVersion === version);
          const runs = config?.active?.configMap?.resourceVersion === assigned?.resourceVersion;
          return isIt && config?.error === errors[state] && (errors[state] === undefined) === runs;
        });
      for (const state of ['good', 'unparsable', 'invalid', 'good', 'invalid', 'unparsable', 'good'] as State[]) {
        await point(operator, 'node-a', `state-${state}`);
        await check(`state-${state}`, state);
      }
      for (const state of ['unparsable', 'other', 'invalid', 'unparsable', 'good'] as State[]) {
        const place = { namespace: 'kube-system', name: 'state-good' };
        const edited = await author.patch(configMaps, place, { data: { kubelet: text[state] } }, { as: 'merge' });
        await check('state-good', state, edited.metadata.resourceVersion);
      }
      // Deleted and made again with other content: another uid, otherwise the same.
      await newConfig('state-good', text.other);
      const { metadata } = await admin.get(configMaps, { namespace: 'kube-system', name: 'state-good' });
      const recreated = await check('state-good', 'other', metadata.resourceVersion);
      expect(recreated.config?.assigned?.configMap?.uid).toBe(metadata.uid);
    }, 90_000);

    test('a bad config, and a bad key, leave the last known good running; a missing ConfigMap changes nothing', async () => {
      const node = await freshNode();
      await admin.delete(configMaps, { namespace: 'kube-system', name: 'keys' }).catch(() => {});
      const data = { kubelet: node.rig.config('maxPods: 70'), bad: unparsable };
      await write(author, configMapObject('keys', '', { data }));
      await point(operator, 'node-a', 'keys');
      await node.active('keys');
      await node.rig.passTrial();
      await node.until('good', ({ config }) => config?.lastKnownGood?.configMap?.name === 'keys');

      await point(operator, 'node-a', 'keys', { kubeletConfigKey: 'bad' });
      const badKey = await node.until('bad key', ({ config }) => config?.error?.startsWith('failed to load') === true);
      expect(badKey.config?.assigned?.configMap).toMatchObject({ kubeletConfigKey: 'bad' });
      expect(badKey.config?.active?.configMap).toMatchObject({ kubeletConfigKey: 'kubelet' });
      expect(badKey.config?.active).toEqual(badKey.config?.lastKnownGood);
      await point(operator, 'node-a', 'keys', { kubeletConfigKey: 'kubelet' });
      await node.active('keys');

      const starts = node.rig.starts().length;
      await author.delete(configMaps, { namespace: 'kube-system', name: 'keys' });
      const absent = await node.until('absent', ({ config }) => config?.error !== undefined);
      expect(absent.config?.error).toBe('failed to sync: failed to download config, see Kubelet log for details');
      expect(absent.config?.active).toEqual(badKey.config?.active);
      await write(author, configMapObject('keys', '', { data }));
      await node.until('back', ({ config }) => config?.error === undefined);
      expect(node.rig.starts()).toHaveLength(starts);
    }, 90_000);

    test('a pinned sha256 holds', async () => {
      const node = await freshNode();
      const text = node.rig.config('maxPods: 80');
      await newConfig('pinned', text);
      await point(operator, 'node-a', 'pinned', { sha256: '0'.repeat(64) });
      await node.until('refused', ({ config }) => config?.error?.includes('pinned sha256') === true);
      await point(operator, 'node-a', 'pinned', { sha256: createHash('sha256').update(text).digest('hex') });
      await node.active('pinned');
    });
  });

  describe('parties who want more than they may', () => {
    const nodeA = () => cluster.client('system:node:node-a');
    const refused = (promise: Promise<unknown>) => expect(promise).rejects.toSatisfy(isForbidden);

    test("a node reads its own ConfigMap and no other node's", async () => {
      const node = await freshNode();
      await newConfig('of-a', node.rig.config('maxPods: 90'));
      await newConfig('of-b', node.rig.config('maxPods: 91'));
      await until('b made', () => exists(admin.get(nodeConfigs, { name: 'node-b' })));
      await point(operator, 'node-a', 'of-a');
      await point(operator, 'node-b', 'of-b');
      await node.active('of-a');
      await until('b is granted', async () => (await granted('of-b')).includes('node-b'));
      const get = (name: string) => nodeA().get(configMaps, { namespace: 'kube-system', name });
      expect((await get('of-a')).metadata.name).toBe('of-a');
      await refused(get('of-b'));
      await refused(nodeA().list(configMaps, { namespace: 'kube-system' }));
      // By lying in its status it gains nothing either.
      const mine = await node.nodeConfig();
      const lie = {
        configMap: {
          namespace: 'kube-system',
          name: 'of-b',
          kubeletConfigKey: 'kubelet',
          uid: 'u',
          resourceVersion: '1',
        },
      };
      await node.rig.stop();
      const status = { ...mine.status, config: { ...mine.status?.config, lastKnownGood: lie } };
      const place = { name: 'node-a', subresource: 'status' };
      const fresh = await node.nodeConfig();
      await nodeA().update(nodeConfigs, place, { ...fresh, status });
      // The controller has seen it when it has answered something later.
      await newConfig('later', 'x');
      await point(operator, 'node-b', 'later');
      await until('later is granted', async () => (await granted('later')).includes('node-b'));
      expect(await granted('of-b')).not.toContain('node-a');
      await refused(get('of-b'));
    }, 60_000);

    test("a node writes its own status and not another's", async () => {
      const node = await freshNode();
      const other = await admin.get(nodeConfigs, { name: 'node-b' });
      await refused(nodeA().update(nodeConfigs, { name: 'node-b', subresource: 'status' }, { ...other, status: {} }));
      await refused(
        nodeA().patch(
          nodeConfigs,
          { name: 'node-b', subresource: 'status' },
          { status: { warnings: [] } },
          { as: 'merge' },
        ),
      );
      await node.rig.stop();
      await nodeA().patch(
        nodeConfigs,
        { name: 'node-a', subresource: 'status' },
        { status: { warnings: ['w'] } },
        { as: 'merge' },
      );
      expect((await node.nodeConfig()).status?.warnings).toEqual(['w']);
    });

    test('a node does not point itself at a config, nor through its status, nor make or delete a NodeConfig', async () => {
      await freshNode();
      const wanted = { configMap: { namespace: 'kube-system', name: 'of-b', kubeletConfigKey: 'kubelet' } };
      await refused(point(nodeA(), 'node-a', 'of-b'));
      await refused(point(nodeA(), 'node-a', undefined));
      const patch = { spec: { configSource: wanted } };
      await nodeA().patch(nodeConfigs, { name: 'node-a', subresource: 'status' }, patch, { as: 'merge' });
      expect((await admin.get<KubeObject>(nodeConfigs, { name: 'node-a' })).spec).toEqual({});
      await refused(nodeA().delete(nodeConfigs, { name: 'node-a' }));
      const made = {
        apiVersion: 'relet.dev/v1alpha1',
        kind: 'NodeConfig',
        metadata: { name: 'node-z' },
        spec: patch.spec,
      };
      await refused(nodeA().create(nodeConfigs, {}, made));
    });

    test('a node does not write, relabel or delete a config', async () => {
      const node = await freshNode();
      await newConfig('theirs', node.rig.config());
      const place = { namespace: 'kube-system', name: 'theirs' };
      await refused(write(nodeA(), configMapObject('mine', 'x')));
      await refused(nodeA().patch(configMaps, place, { data: { kubelet: 'x' } }, { as: 'merge' }));
      await refused(nodeA().delete(configMaps, place));
    });

    test('an operator cannot open a ConfigMap that is no config, or lies elsewhere, through a grant', async () => {
      const node = await freshNode();
      const secretLike = configMapObject('passwords', 'secret', {
        metadata: { name: 'passwords', namespace: 'kube-system' },
      });
      await write(admin, secretLike);
      await point(operator, 'node-a', 'passwords');
      await until('refused', async () => (await condition(admin, 'node-a', 'Granted'))?.reason === 'NotLabelled');
      expect(await granted('passwords')).toEqual([]);
      await refused(nodeA().get(configMaps, { namespace: 'kube-system', name: 'passwords' }));
      await write(
        admin,
        configMapObject('elsewhere', 'x', {
          metadata: { ...configMapObject('elsewhere', '').metadata, namespace: 'default' },
        }),
      );
      await point(operator, 'node-a', 'elsewhere', { namespace: 'default' });
      await until(
        'refused',
        async () => (await condition(admin, 'node-a', 'Granted'))?.reason === 'NamespaceNotAllowed',
      );
      await refused(nodeA().get(configMaps, { namespace: 'default', name: 'elsewhere' }));
      expect(node.rig.starts()).toHaveLength(1);
      // Nor can it mark one, or read it.
      await refused(
        operator.patch(
          configMaps,
          { namespace: 'kube-system', name: 'passwords' },
          { metadata: { labels: { 'relet.dev/kubelet-config': 'true' } } },
          { as: 'merge' },
        ),
      );
      await refused(operator.get(configMaps, { namespace: 'kube-system', name: 'passwords' }));
      await admin.delete(configMaps, { namespace: 'kube-system', name: 'passwords' });
      await admin.delete(configMaps, { namespace: 'default', name: 'elsewhere' });
    }, 60_000);

    test('an author assigns nothing, a viewer changes nothing', async () => {
      await refused(point(author, 'node-a', 'of-a'));
      const viewer = cluster.client('viewer');
      expect((await viewer.list(nodeConfigs)).items).toHaveLength(2);
      await refused(point(viewer, 'node-a', 'of-a'));
      await refused(write(viewer, configMapObject('v', 'x')));
    });

    test.runIf(hasPolicies)('who may edit ConfigMaps may not write, mark, unmark or delete a config', async () => {
      const editor = cluster.client('editor');
      await newConfig('guarded', 'x');
      const place = { namespace: 'kube-system', name: 'guarded' };
      await refused(write(editor, configMapObject('smuggled', 'x')));
      await refused(editor.patch(configMaps, place, { data: { kubelet: 'evil' } }, { as: 'merge' }));
      await refused(editor.patch(configMaps, place, { metadata: { labels: null } }, { as: 'merge' }));
      await refused(editor.delete(configMaps, place));
      const plain = configMapObject('plain', 'x', { metadata: { name: 'plain', namespace: 'kube-system' } });
      await write(editor, plain);
      const marked = { metadata: { labels: { 'relet.dev/kubelet-config': '' } } };
      await refused(editor.patch(configMaps, { namespace: 'kube-system', name: 'plain' }, marked, { as: 'merge' }));
      await editor.delete(configMaps, { namespace: 'kube-system', name: 'plain' });
    });

    test('the controller can grant nothing but what it holds', async () => {
      const client = clientFor(await controllerKubeconfig(cluster));
      const metadata = { name: 'lever', namespace: 'kube-system' };
      const apiVersion = 'rbac.authorization.k8s.io/v1';
      const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
      const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'roles' };
      await refused(client.create(roles, { namespace: 'kube-system' }, { apiVersion, kind: 'Role', metadata, rules }));
      await refused(
        client.create(clusterRoles, {}, { apiVersion, kind: 'ClusterRole', metadata: { name: 'lever' }, rules }),
      );
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
      const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'system:node:node-a' }];
      const binding = { apiVersion, kind: 'ClusterRoleBinding', metadata: { name: 'lever' }, roleRef, subjects };
      await refused(client.create(clusterRoleBindings, {}, binding));
      await refused(client.list({ group: '', version: 'v1', resource: 'secrets' }, { namespace: 'kube-system' }));
      await refused(client.list(configMaps, { namespace: 'default' }));
      await refused(client.delete(clusterRoles, { name: 'cluster-admin' }));
    });
  });

  test('a restart of the API server loses nothing', async () => {
    const node = await freshNode();
    await newConfig('before', node.rig.config('maxPods: 100'));
    await newConfig('after', node.rig.config('maxPods: 101'));
    await point(operator, 'node-a', 'before');
    await node.active('before');
    await cluster.stop();
    await node.rig.until('noticed', () => /cannot be followed/.test(node.rig.log()));
    await cluster.start();
    await point(operator, 'node-a', 'after');
    await node.active('after');
    expect(node.rig.starts()).toHaveLength(3);
  }, 180_000);

  test('a controller that dies is followed by the next', async () => {
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
  }, 60_000);

  test.runIf(hasPolicies)(
    'guards that are deleted or weakened are noticed, and nothing gets weaker meanwhile',
    async () => {
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
    const node = await freshNode();
    await newConfig('stays', node.rig.config('maxPods: 130'));
    await point(operator, 'node-a', 'stays');
    await node.active('stays');
    const starts = node.rig.starts().length;
    await controller.stop();
    await cluster.kubectl('delete', '-k', join(deploy, '..', kustomization), '--wait=false', '--ignore-not-found');
    await until('gone', async () => !(await exists(admin.list(nodeConfigs))));
    await node.rig.until('the agent sees it', () => node.rig.log().includes('in=Node before=NodeConfig'));
    await node.rig.until('no instruction', () => node.rig.log().includes('the API serves NodeConfigs no longer'));
    expect(node.rig.starts()).toHaveLength(starts);
    await node.rig.stop();
    node.rig.boot();
    await node.rig.until('runs it again', () => node.rig.starts().length === starts + 1);
    expect(node.rig.starts().at(-1)?.configFile).toContain('checkpoints');

    await until('namespace gone', async () => removed(cluster, admin));
    await install();
    controller = await startController(cluster, { identity: 'first', guards });
    await node.rig.stop();
    node.rig.boot();
    await node.until('reports what it runs', ({ config }) => config?.active?.configMap?.name === 'stays');
    expect((await node.nodeConfig()).spec).toEqual({});
    await node.rig.until('undecided', () => node.rig.log().includes('nobody has decided'));
    expect(node.rig.starts()).toHaveLength(starts + 2);
    expect(node.rig.status()?.active?.configMap?.name).toBe('stays');
    await point(operator, 'node-a', 'stays');
    await until('decided', async () => (await granted('stays')).includes('node-a'));
  }, 120_000);
}

// ── the controller, with its own service account ──

interface RunningController {
  stop(): Promise<void>;
  /** As kill -9: it does nothing more, and gives nothing back. */
  kill(): void;
}

interface ControllerStart {
  identity: string;
  guards: GuardChoice;
  lease?: string;
  durationMs?: number;
  renewMs?: number;
  retryMs?: number;
}

export async function controllerKubeconfig(cluster: Cluster): Promise<string> {
  const admin = cluster.client('admin');
  const place = { namespace: 'relet-system', name: 'relet-controller', subresource: 'token' };
  const accounts = { group: '', version: 'v1', resource: 'serviceaccounts' };
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
  const answer = await admin.create<KubeObject>(accounts, place, request);
  return cluster.kubeconfig('relet-controller', (answer.status as { token: string }).token);
}

async function startController(cluster: Cluster, options: ControllerStart): Promise<RunningController> {
  const { identity, guards, lease = 'relet-controller', ...times } = options;
  const stop = new AbortController();
  let isDead = false;
  const real = clientFor(await controllerKubeconfig(cluster));
  const client = new Proxy(real, {
    get: (target, name) => {
      const value = Reflect.get(target, name);
      return isDead && typeof value === 'function' ? () => Promise.reject(new Error('dead')) : value;
    },
  });
  const debug = process.env.DEBUG_CONTROLLER !== undefined;
  const log = createLog({
    format: 'text',
    level: 'debug',
    write: (line) => void (debug && process.stderr.write(`${identity} ${line}`)),
  });
  const common = { client, clock: systemClock, log };
  const running = runWhileLeader({
    ...common,
    ...times,
    namespace: 'relet-system',
    name: lease,
    identity,
    signal: stop.signal,
    lead: (signal) =>
      runController(
        {
          ...common,
          namespaces: ['kube-system', 'relet-system'],
          guards,
          settleMs: 0,
          counters: newControllerCounters(),
        },
        signal,
      ),
  });
  return {
    async stop() {
      stop.abort();
      await running;
      real.close();
    },
    kill() {
      isDead = true;
      stop.abort();
      real.close();
    },
  };
}

async function bindPeople(admin: KubeClient): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const bind = (user: string, role: string, namespace?: string) => {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role };
    const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }];
    const metadata = { name: `test-${user}`, ...(namespace && { namespace }) };
    const kind = namespace ? 'RoleBinding' : 'ClusterRoleBinding';
    const type = namespace ? roleBindings : clusterRoleBindings;
    return admin.create(type, namespace ? { namespace } : {}, { apiVersion, kind, metadata, roleRef, subjects });
  };
  await bind('operator', 'relet:operator');
  await bind('viewer', 'relet:viewer');
  await bind('author', 'relet:author', 'kube-system');
  // The built-in role edit is put together by a controller that a lone kube-apiserver does not have.
  const verbs = ['get', 'list', 'create', 'update', 'patch', 'delete'];
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs }];
  await admin.create(clusterRoles, {}, { apiVersion, kind: 'ClusterRole', metadata: { name: 'test-edit' }, rules });
  await bind('editor', 'test-edit', 'kube-system');
}

// ── looking ──

async function condition(admin: KubeClient, node: string, type: string) {
  const object = await admin.get<KubeObject>(nodeConfigs, { name: node });
  const { conditions = [] } = (object.status ?? {}) as {
    conditions?: { type: string; status: string; reason: string; message: string }[];
  };
  return conditions.find((one) => one.type === type);
}

async function exists(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked;
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
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

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; ; await new Promise((resolve) => setTimeout(resolve, 25))) {
    if (await isSo()) return;
    if (Date.now() > end) throw new Error(`never came true: ${what}`);
  }
}
