/** Parties who want more than they may, on Kubernetes 1.26 and later; docs/security.md has a line for each. A part of the cluster suite. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nodeConfigs } from '../../src/api/node-config.js';
import type { KubeObject } from '../../src/api/object.js';
import { isForbidden } from '../../src/api/status.js';
import {
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  events,
  nodes,
  roleBindings,
} from '../../src/kube/resource-type.js';
import { clientFor } from '../cluster-rig.js';
import { temporaryDir } from '../temporary-dir.js';
import { configMapObject, point, write } from './cluster-node.js';
import { controllerKubeconfig } from './controller.js';
import { condition, exists, type Scene, until } from './scene.js';

/** `hasPolicies`: the guards are admission policies. */
export function greedyParties(scene: Scene, { hasPolicies }: { hasPolicies: boolean }): void {
  describe('parties who want more than they may', () => {
    const nodeA = () => scene.cluster.client('system:node:node-a');
    const refused = (promise: Promise<unknown>) => expect(promise).rejects.toSatisfy(isForbidden);

    const bindRole = (role: string, namespace: string, names: readonly string[]) => {
      const rbac = 'rbac.authorization.k8s.io';
      const roleRef = { apiGroup: rbac, kind: 'Role', name: role };
      const subjects = names.map((name) => ({ kind: 'User', apiGroup: rbac, name }));
      const metadata = { name: 'readers' };
      const binding = { apiVersion: `${rbac}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects };
      return scene.admin.create(roleBindings, { namespace }, binding);
    };

    test('an operator and a viewer read events where those of Nodes are, and nowhere else', async () => {
      const people = ['operator', 'viewer'] as const;
      await bindRole('relet:node-events', 'default', people);
      for (const name of people) {
        const client = scene.cluster.client(name);
        const readsEvents = () => client.list(events, { namespace: 'default' }).then(Boolean, () => false);
        await until('bound', readsEvents);
        await refused(client.list(events, { namespace: 'relet-system' }));
        await refused(client.list(events));
      }
    });

    test('a viewer who may read configs reads them by name, lists none, and reads no other namespace', async () => {
      await scene.newConfig('for-viewers', 'maxPods: 50');
      const config = { namespace: 'relet-system', name: 'for-viewers' };
      const viewer = scene.cluster.client('viewer');
      await refused(viewer.get(configMaps, config));
      await bindRole('relet:config-reader', 'relet-system', ['viewer']);
      await until('bound', () => viewer.get(configMaps, config).then(Boolean, () => false));
      await refused(viewer.list(configMaps, { namespace: 'relet-system' }));
      await refused(viewer.delete(configMaps, config));
      await refused(viewer.get(configMaps, { namespace: 'default', name: 'kube-root-ca.crt' }));
    });

    test('a NodeConfig for a name without a Node is granted nothing until the Node registers', async () => {
      const { admin, granted, newConfig, operator } = scene;
      await newConfig('for-ghost', 'maxPods: 50');
      const configMap = { namespace: 'relet-system', name: 'for-ghost', kubeletConfigKey: 'kubelet' };
      const metadata = { name: 'ghost' };
      const ghost = {
        apiVersion: 'relet.dev/v1alpha1',
        kind: 'NodeConfig',
        metadata,
        spec: { configSource: { configMap } },
      };
      await operator.create(nodeConfigs, {}, ghost);
      await until('rejected', async () => (await condition(admin, 'ghost', 'Granted'))?.reason === 'NoNode');
      expect(await granted('for-ghost')).toEqual([]);
      await admin.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata });
      await until('granted', async () => (await granted('for-ghost')).includes('ghost'));
      await admin.delete(nodes, metadata);
      await operator.delete(nodeConfigs, metadata);
      await until('taken back', async () => (await granted('for-ghost')).length === 0);
    });

    test("a node reads its own ConfigMap and no other node's", async () => {
      const { admin, freshNode, granted, newConfig, operator } = scene;
      const node = await freshNode();
      await newConfig('of-a', node.rig.config('maxPods: 90'));
      await newConfig('of-b', node.rig.config('maxPods: 91'));
      await until('b made', () => exists(admin.get(nodeConfigs, { name: 'node-b' })));
      await point(operator, 'node-a', 'of-a');
      await point(operator, 'node-b', 'of-b');
      await node.active('of-a');
      await until('b is granted', async () => (await granted('of-b')).includes('node-b'));
      const get = (name: string) => nodeA().get(configMaps, { namespace: 'relet-system', name });
      expect((await get('of-a')).metadata.name).toBe('of-a');
      await refused(get('of-b'));
      await refused(nodeA().list(configMaps, { namespace: 'relet-system' }));
      // By lying in its status it gains nothing either.
      const mine = await node.nodeConfig();
      const lie = {
        configMap: {
          namespace: 'relet-system',
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
    });

    test("a node writes its own status and not another's", async () => {
      const { admin, freshNode } = scene;
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

    test('a node whose report is very deep or very wide stops nothing for the others', async () => {
      const { admin, freshNode, granted, newConfig, operator } = scene;
      const dir = temporaryDir();
      const file = join(dir, 'patch.json');
      const deep = `${'{"a":'.repeat(8000)}1${'}'.repeat(8000)}`;
      const wide = JSON.stringify(Object.fromEntries(Array.from({ length: 8000 }, (_, at) => [`key-${at}`, 'x'])));
      const asNode = ['--as=system:node:node-b', '--as-group=system:nodes'];
      for (const config of [deep, `{"kubeReserved":${wide}}`]) {
        writeFileSync(file, `{"status":{"localConfig":{"files":[{"path":"/l","config":${config}}]}}}`);
        const patch = ['patch', 'nodeconfigs/node-b', '--subresource=status', '--type=merge', `--patch-file=${file}`];
        // Stored or refused, depending on the server.
        await scene.cluster.kubectl(...patch, ...asNode).catch((error) => expect(error).toBeInstanceOf(Error));
      }
      const node = await freshNode();
      await newConfig('beside', node.rig.config('maxPods: 50'));
      await point(operator, 'node-a', 'beside');
      await node.active('beside');
      expect(await granted('beside')).toEqual(['node-a']);
      await point(operator, 'node-a', undefined);
      await node.active();
      const without = { status: { localConfig: null } };
      await admin.patch(nodeConfigs, { name: 'node-b', subresource: 'status' }, without, { as: 'merge' });
    });

    test('a node does not point itself at a config, nor through its status, nor make or delete a NodeConfig', async () => {
      const { admin, freshNode } = scene;
      await freshNode();
      const wanted = { configMap: { namespace: 'relet-system', name: 'of-b', kubeletConfigKey: 'kubelet' } };
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
      const { freshNode, newConfig } = scene;
      const node = await freshNode();
      await newConfig('theirs', node.rig.config());
      const place = { namespace: 'relet-system', name: 'theirs' };
      await refused(write(nodeA(), configMapObject('mine', 'x')));
      await refused(nodeA().patch(configMaps, place, { data: { kubelet: 'x' } }, { as: 'merge' }));
      await refused(nodeA().delete(configMaps, place));
    });

    test('an operator cannot open a ConfigMap that is not a config, or is in another namespace, through a grant', async () => {
      const { admin, freshNode, granted, operator } = scene;
      const node = await freshNode();
      const secretLike = configMapObject('passwords', 'secret', {
        metadata: { name: 'passwords', namespace: 'relet-system' },
      });
      await write(admin, secretLike);
      await point(operator, 'node-a', 'passwords');
      await until('rejected', async () => (await condition(admin, 'node-a', 'Granted'))?.reason === 'NotLabelled');
      expect(await granted('passwords')).toEqual([]);
      await refused(nodeA().get(configMaps, { namespace: 'relet-system', name: 'passwords' }));
      await write(
        admin,
        configMapObject('elsewhere', 'x', {
          metadata: { ...configMapObject('elsewhere', '').metadata, namespace: 'default' },
        }),
      );
      await point(operator, 'node-a', 'elsewhere', { namespace: 'default' });
      await until(
        'rejected',
        async () => (await condition(admin, 'node-a', 'Granted'))?.reason === 'NamespaceNotAllowed',
      );
      await refused(nodeA().get(configMaps, { namespace: 'default', name: 'elsewhere' }));
      expect(node.rig.starts()).toHaveLength(1);
      // Nor can it mark one, or read it.
      await refused(
        operator.patch(
          configMaps,
          { namespace: 'relet-system', name: 'passwords' },
          { metadata: { labels: { 'relet.dev/kubelet-config': 'true' } } },
          { as: 'merge' },
        ),
      );
      await refused(operator.get(configMaps, { namespace: 'relet-system', name: 'passwords' }));
      await admin.delete(configMaps, { namespace: 'relet-system', name: 'passwords' });
      await admin.delete(configMaps, { namespace: 'default', name: 'elsewhere' });
    });

    test('an author assigns nothing, a viewer changes nothing', async () => {
      const { author, cluster } = scene;
      await refused(point(author, 'node-a', 'of-a'));
      const viewer = cluster.client('viewer');
      expect((await viewer.list(nodeConfigs)).items).toHaveLength(2);
      await refused(point(viewer, 'node-a', 'of-a'));
      await refused(write(viewer, configMapObject('v', 'x')));
    });

    test.runIf(hasPolicies)('who may edit ConfigMaps may not write, mark, unmark or delete a config', async () => {
      const { cluster, newConfig } = scene;
      const editor = cluster.client('editor');
      await newConfig('guarded', 'x');
      const place = { namespace: 'relet-system', name: 'guarded' };
      await refused(write(editor, configMapObject('smuggled', 'x')));
      await refused(editor.patch(configMaps, place, { data: { kubelet: 'evil' } }, { as: 'merge' }));
      await refused(editor.patch(configMaps, place, { metadata: { labels: null } }, { as: 'merge' }));
      await refused(editor.delete(configMaps, place));
      const plain = configMapObject('plain', 'x', { metadata: { name: 'plain', namespace: 'relet-system' } });
      await write(editor, plain);
      const marked = { metadata: { labels: { 'relet.dev/kubelet-config': '' } } };
      await refused(editor.patch(configMaps, { namespace: 'relet-system', name: 'plain' }, marked, { as: 'merge' }));
      await editor.delete(configMaps, { namespace: 'relet-system', name: 'plain' });
    });

    test('the controller can grant nothing but what it holds', async () => {
      const { cluster } = scene;
      const client = clientFor(await controllerKubeconfig(cluster));
      const metadata = { name: 'lever', namespace: 'relet-system' };
      const apiVersion = 'rbac.authorization.k8s.io/v1';
      const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
      const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'roles' };
      await refused(client.create(roles, { namespace: 'relet-system' }, { apiVersion, kind: 'Role', metadata, rules }));
      await refused(
        client.create(clusterRoles, {}, { apiVersion, kind: 'ClusterRole', metadata: { name: 'lever' }, rules }),
      );
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
      const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'system:node:node-a' }];
      const binding = { apiVersion, kind: 'ClusterRoleBinding', metadata: { name: 'lever' }, roleRef, subjects };
      await refused(client.create(clusterRoleBindings, {}, binding));
      await refused(client.list({ group: '', version: 'v1', resource: 'secrets' }, { namespace: 'relet-system' }));
      await refused(client.list(configMaps, { namespace: 'default' }));
      await refused(client.delete(clusterRoles, { name: 'cluster-admin' }));
    });
  });
}
