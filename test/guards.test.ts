/**
 * The admission policies of deploy/guards, as relet ships them, on the embedded server. Here roles give nodes and people every
 * verb on NodeConfigs and ConfigMaps, so whatever is refused is refused by a policy. With the roles of deploy/: test/cluster.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { byAnnotation } from '../src/api/node-annotations.js';
import { configLabel, nodeConfigs } from '../src/api/node-config.js';
import { type NodeConfigSet, nodeConfigSets } from '../src/api/node-config-set.js';
import { historyAnnotation } from '../src/fleet/config-history.js';
import { clusterRoleBindings, clusterRoles, configMaps } from '../src/kube/resource-type.js';
import { type Cluster, embeddedCluster, type UserName } from './cluster/cluster.js';
import { needs } from './programs.js';

const deploy = join(import.meta.dirname, '../deploy');
const kubectl = needs('kubectl');
const rbac = 'rbac.authorization.k8s.io';
const namespace = 'default';
const controllerUser = 'system:serviceaccount:relet-system:relet-controller';

describe.skipIf(kubectl.isMissing)(`deploy/guards, where roles allow everything${kubectl.note}`, () => {
  let cluster: Cluster;
  const as = (user: UserName) => cluster.client(user);

  beforeAll(async () => {
    cluster = await embeddedCluster();
    await cluster.kubectl('apply', '-f', join(deploy, 'base/nodeconfigs.relet.dev.yaml'));
    await cluster.kubectl('apply', '-f', join(deploy, 'base/nodeconfigsets.relet.dev.yaml'));
    await cluster.kubectl('apply', '-f', join(deploy, 'guards/policies.yaml'));
    const verbs = ['get', 'list', 'create', 'update', 'patch', 'delete'];
    await allow(
      'everything',
      ['system:nodes', 'people'],
      [
        { apiGroups: ['relet.dev'], resources: ['nodeconfigs', 'nodeconfigs/status'], verbs },
        { apiGroups: ['relet.dev'], resources: ['nodeconfigsets', 'nodeconfigsets/status'], verbs },
        { apiGroups: [''], resources: ['configmaps'], verbs },
      ],
    );
    await allow('assigns', ['operator'], [{ apiGroups: ['relet.dev'], resources: ['nodeconfigs'], verbs: ['assign'] }]);
    await allow(
      'authors',
      ['author'],
      [{ apiGroups: ['relet.dev'], resources: ['kubeletconfigs'], verbs: ['author'] }],
    );
    await as('admin').create(nodeConfigSets, {}, nodeConfigSet('guarded'));
    const status = { wave: 1, updateRevision: 'a', inTrial: { allowed: 2, used: 1, nodes: ['node-a'] } };
    await as('admin').patch(nodeConfigSets, { name: 'guarded', subresource: 'status' }, { status }, { as: 'merge' });
    for (const name of ['node-a', 'node-b']) await as('operator').create(nodeConfigs, {}, nodeConfig(name));
    await as('author').create(configMaps, { namespace }, configMap('guarded', { [configLabel]: 'true' }));
  });
  afterAll(() => cluster?.close());

  /** Groups or users, whichever is called so. */
  async function allow(name: string, whom: string[], rules: object[]): Promise<void> {
    const admin = as('admin');
    const role = { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules };
    await admin.create(clusterRoles, {}, role);
    const subjects = whom.flatMap((who) => ['User', 'Group'].map((kind) => ({ kind, apiGroup: rbac, name: who })));
    const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name };
    const binding = { apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', metadata: { name }, roleRef, subjects };
    await admin.create(clusterRoleBindings, {}, binding);
  }

  const nodeConfig = (name: string) => ({
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfig',
    metadata: { name },
    spec: {},
  });
  const nodeConfigSet = (name: string) => ({
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name },
    spec: { selector: {}, config: { overlay: { maxPods: 10 } } },
  });
  const configMap = (name: string, labels: Record<string, string> = {}) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels },
    data: { kubelet: 'x' },
  });
  const refusedBy = (policy: string, asked: Promise<unknown>) =>
    expect(asked).rejects.toThrow(`ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request`);
  const writeStatus = (user: UserName, name: string) =>
    as(user).patch(nodeConfigs, { name, subresource: 'status' }, { status: { warnings: [user] } }, { as: 'merge' });
  const relabel = (user: UserName, name: string, value: string | null) =>
    as(user).patch(
      configMaps,
      { namespace, name },
      { metadata: { labels: { [configLabel]: value } } },
      { as: 'merge' },
    );

  test('a second apply changes nothing, and a server-side apply succeeds', async () => {
    const file = join(deploy, 'guards/policies.yaml');
    const lines = (await cluster.kubectl('apply', '-f', file)).trim().split('\n');
    expect(lines.filter((line) => !line.endsWith(' unchanged'))).toEqual([]);
    await cluster.kubectl('apply', '--server-side', '--force-conflicts', '-f', file);
  });

  test('a node writes the status of its own NodeConfig only', async () => {
    expect((await writeStatus('system:node:node-a', 'node-a')).status).toMatchObject({
      warnings: ['system:node:node-a'],
    });
    await refusedBy('relet-node-writes-own-status', writeStatus('system:node:node-a', 'node-b'));
  });

  test('a node does not create, assign or delete a NodeConfig, not even its own', async () => {
    const node = as('system:node:node-a');
    const spec = { configSource: { configMap: { namespace, name: 'guarded', kubeletConfigKey: 'kubelet' } } };
    await refusedBy('relet-who-assigns', node.create(nodeConfigs, {}, nodeConfig('node-c')));
    await refusedBy('relet-who-assigns', node.patch(nodeConfigs, { name: 'node-a' }, { spec }, { as: 'merge' }));
    await refusedBy('relet-who-assigns', node.delete(nodeConfigs, { name: 'node-a' }));
    await as('operator').patch(nodeConfigs, { name: 'node-a' }, { spec }, { as: 'merge' });
    expect((await as('admin').get(nodeConfigs, { name: 'node-a' })).spec).toMatchObject(spec);
  });

  test('only who may assign writes NodeConfigs', async () => {
    await refusedBy('relet-who-assigns', as('editor').create(nodeConfigs, {}, nodeConfig('node-d')));
    await refusedBy('relet-who-assigns', as('author').delete(nodeConfigs, { name: 'node-b' }));
    await as('operator').create(nodeConfigs, {}, nodeConfig('node-d'));
    await as('operator').delete(nodeConfigs, { name: 'node-d' });
  });

  test.each(['editor', 'operator', 'system:node:node-a'] as const)(
    '%s does not write, change, mark, unmark or delete a kubelet config',
    async (user) => {
      const place = { namespace, name: 'guarded' };
      const policy = 'relet-who-authors';
      await refusedBy(policy, as(user).create(configMaps, { namespace }, configMap('new', { [configLabel]: '' })));
      await refusedBy(policy, as(user).patch(configMaps, place, { data: { kubelet: 'evil' } }, { as: 'merge' }));
      await refusedBy(policy, relabel(user, 'guarded', null));
      await refusedBy(policy, as(user).delete(configMaps, place));
      await as(user).create(configMaps, { namespace }, configMap('plain'));
      await refusedBy(policy, relabel(user, 'plain', 'true'));
      await as(user).delete(configMaps, { namespace, name: 'plain' });
      expect((await as('admin').get(configMaps, place)).data).toEqual({ kubelet: 'x' });
    },
  );

  test('who may author makes, changes, unmarks and deletes kubelet configs', async () => {
    const author = as('author');
    await author.create(configMaps, { namespace }, configMap('config', { [configLabel]: 'true' }));
    const place = { namespace, name: 'config' };
    await author.patch(configMaps, place, { data: { kubelet: 'y' } }, { as: 'merge' });
    await relabel('author', 'config', null);
    await author.delete(configMaps, place);
  });

  test('who approves a rollout writes nothing else of its status, and a node writes nothing of it', async () => {
    const write = (user: UserName, status: object) =>
      as(user).patch(nodeConfigSets, { name: 'guarded', subresource: 'status' }, { status }, { as: 'merge' });
    const rollout = { approve: { revision: 'a', wave: 1, by: 'editor' } };
    expect((await write('editor', { rollout })).status).toMatchObject({ wave: 1, rollout });
    for (const more of [{ wave: 2 }, { currentRevision: 'b' }, { inTrial: { nodes: null } }, { updateRevision: null }])
      await refusedBy('relet-who-approves', write('editor', { rollout, ...more }));
    await refusedBy('relet-who-approves', write('system:node:node-a', { rollout }));
    expect((await write('editor', { rollout: null })).status).not.toHaveProperty('rollout');
  });

  describe('the name of the person who steers a rollout', () => {
    const controller = controllerUser;
    const place = { name: 'guarded', subresource: 'status' };
    const write = (user: UserName, rollout: object | null) =>
      as(user).patch<NodeConfigSet>(nodeConfigSets, place, { status: { rollout } }, { as: 'merge' });
    const approve = { revision: 'a', wave: 1 };
    const request = { revision: 'a', action: 'Abort' };
    const policy = 'relet-who-steers';
    beforeAll(async () => {
      const resources = ['nodeconfigsets', 'nodeconfigsets/status'];
      await allow('reconciles', [controller], [{ apiGroups: ['relet.dev'], resources, verbs: ['*'] }]);
    });

    test.each(['editor', 'admin'] as const)('%s approves and asks in the own name only', async (user) => {
      for (const block of [{ approve }, { request }]) {
        const [[field, value]] = Object.entries(block) as [[string, object]];
        await refusedBy(policy, write(user, block));
        for (const by of ['somebody-else', '', user.toUpperCase(), controller])
          await refusedBy(policy, write(user, { [field]: { ...value, by } }));
        const { status } = await write(user, { [field]: { ...value, by: user } });
        expect(status?.rollout).toMatchObject({ [field]: { by: user } });
        await refusedBy(policy, write(user, { [field]: { by: null } }));
        await write(user, { [field]: null });
      }
    });

    test('by a JSON patch and by a server-side apply neither', async () => {
      const add = { op: 'add', path: '/status/rollout', value: { approve: { ...approve, by: 'ann' } } };
      await refusedBy(policy, as('editor').patch(nodeConfigSets, place, [add] as never, { as: 'json' }));
      const { apiVersion, kind } = nodeConfigSet('guarded');
      const applied = { apiVersion, kind, metadata: { name: 'guarded' }, status: { rollout: add.value } };
      const options = { as: 'apply', fieldManager: 'another', force: true } as const;
      await refusedBy(policy, as('editor').patch(nodeConfigSets, place, applied, options));
    });

    test('what one person wrote stays so while others write, and is changed only in the own name', async () => {
      await write('editor', { approve: { ...approve, by: 'editor' } });
      await write('operator', { request: { ...request, by: 'operator' } });
      await refusedBy(policy, write('operator', { approve: { wave: 2 } }));
      await refusedBy(policy, write('admin', { approve: { wave: 2 } }));
      const { status } = await write('operator', { approve: { wave: 2, by: 'operator' } });
      expect(status?.rollout).toEqual({
        approve: { revision: 'a', wave: 2, by: 'operator' },
        request: { ...request, by: 'operator' },
      });
      await write('admin', null);
    });

    test('the controller removes an approval and a request, and writes neither, not even in its own name', async () => {
      await refusedBy(policy, write(controller, { approve: { ...approve, by: controller } }));
      await refusedBy(policy, write(controller, { request: { ...request, by: 'editor' } }));
      await write('editor', { approve: { ...approve, by: 'editor' }, request: { ...request, by: 'editor' } });
      const { status } = await as(controller).patch<NodeConfigSet>(
        nodeConfigSets,
        place,
        { status: { wave: 2, rollout: { request: null } } },
        { as: 'merge' },
      );
      expect(status).toMatchObject({ wave: 2, rollout: { approve: { by: 'editor' } } });
      expect((await write(controller, null)).status).not.toHaveProperty('rollout');
    });
  });

  describe('the annotation relet.dev/by', () => {
    const policy = 'relet-who-is-named';
    const write = (user: UserName, annotations: Record<string, string | null>, spec: object = {}) =>
      as(user).patch(nodeConfigs, { name: 'node-b' }, { metadata: { annotations }, spec }, { as: 'merge' });

    test('is the name of the user who writes it, also of an admin, and anybody may leave or remove it', async () => {
      for (const user of ['operator', 'admin'] as const) {
        for (const name of ['somebody-else', '']) await refusedBy(policy, write(user, { [byAnnotation]: name }));
        await write(user, { [byAnnotation]: user });
      }
      await write('operator', { another: 'x' });
      await write('operator', {}, { configSource: null });
      await write('operator', { [byAnnotation]: null });
    });

    test('a NodeConfig is not created in the name of another', async () => {
      const metadata = { name: 'node-e', annotations: { [byAnnotation]: 'ann' } };
      await refusedBy(policy, as('operator').create(nodeConfigs, {}, { ...nodeConfig('node-e'), metadata }));
    });

    test('who adds to the history of a node does so in the own name, or in none', async () => {
      await write('operator', { [byAnnotation]: 'operator', [historyAnnotation]: '[1]' });
      await write('operator', { [historyAnnotation]: '[2]' });
      await refusedBy(policy, write('admin', { [historyAnnotation]: '[3]' }));
      await write('admin', { [historyAnnotation]: '[3]', [byAnnotation]: null });
      await write('admin', { [historyAnnotation]: '[4]', [byAnnotation]: 'admin' });
      await write('admin', { [historyAnnotation]: null, [byAnnotation]: null });
    });

    test('a set is not paused in the name of another, and who is not named may pause it', async () => {
      const pause = (user: UserName, paused: boolean, annotations: Record<string, string | null> = {}) =>
        as(user).patch(
          nodeConfigSets,
          { name: 'guarded' },
          { metadata: { annotations }, spec: { paused } },
          { as: 'merge' },
        );
      await pause('admin', true, { [byAnnotation]: 'admin' });
      await refusedBy(policy, pause(controllerUser, false));
      await pause(controllerUser, false, { [byAnnotation]: null });
      await pause('admin', true);
    });
  });

  test('only who may assign all nodes and author configs writes NodeConfigSets', async () => {
    for (const user of ['editor', 'operator', 'author', 'system:node:node-a'] as const) {
      await refusedBy('relet-who-writes-sets', as(user).create(nodeConfigSets, {}, nodeConfigSet('new')));
      await refusedBy('relet-who-writes-sets', as(user).delete(nodeConfigSets, { name: 'guarded' }));
      const patch = { spec: { paused: true } };
      await refusedBy(
        'relet-who-writes-sets',
        as(user).patch(nodeConfigSets, { name: 'guarded' }, patch, { as: 'merge' }),
      );
    }
    const resources = ['nodeconfigs', 'kubeletconfigs'];
    await allow('sets', ['editor'], [{ apiGroups: ['relet.dev'], resources, verbs: ['assign', 'author'] }]);
    await as('editor').create(nodeConfigSets, {}, nodeConfigSet('new'));
    await as('editor').delete(nodeConfigSets, { name: 'new' });
  });
});
