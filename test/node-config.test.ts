/** A node whose reference is a NodeConfig: the embedded server with the real definition, an agent in between the two worlds. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { NodeConfigSource } from '../src/api/config-ref.js';
import { configLabel, type NodeConfig, nodeConfigs, unsetAnnotations } from '../src/api/node-config.js';
import type { KubeObject } from '../src/api/object.js';
import type { KubeClient } from '../src/kube/client.js';
import { nodes } from '../src/kube/resource-type.js';
import { type ClusterRig, createClusterRig, nodeName } from './cluster-rig.js';
import { define, definitions } from './definitions.js';
import { eventually } from './eventually.js';

const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles' };
const bindings = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterrolebindings' };
const labels = { [configLabel]: 'true' };

async function install(admin: KubeClient): Promise<void> {
  await define(admin, 'nodeconfigs');
  const rules = [
    {
      apiGroups: ['relet.dev'],
      resources: ['nodeconfigs', 'nodeconfigs/status'],
      verbs: ['get', 'list', 'watch', 'update'],
    },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
  ];
  await admin.create(
    roles,
    {},
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'test' }, rules },
  );
  await admin.create(
    bindings,
    {},
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'test' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'test' },
      subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:nodes' }],
    },
  );
}

const makeNodeConfig = (admin: KubeClient, spec: object, metadata: object = {}) =>
  admin.create<NodeConfig>(
    nodeConfigs,
    {},
    {
      apiVersion: 'relet.dev/v1alpha1',
      kind: 'NodeConfig',
      metadata: { name: nodeName, ...metadata },
      spec,
    },
  );

const source = (name: string, more: object = {}): { configSource: NodeConfigSource } => ({
  configSource: { configMap: { namespace: 'kube-system', name, kubeletConfigKey: 'kubelet', ...more } },
});

const point = (admin: KubeClient, name: string, more: object = {}) =>
  admin.patch<NodeConfig>(nodeConfigs, { name: nodeName }, { spec: source(name, more) }, { as: 'merge' });

async function untilStatus(rig: ClusterRig, what: string, isSo: (status: NodeConfig['status']) => boolean) {
  let seen: NodeConfig['status'];
  const ask = async () => {
    seen = (await rig.admin.get<NodeConfig>(nodeConfigs, { name: nodeName })).status;
    return isSo(seen) && seen!;
  };
  return eventually(what, ask, { seen: () => `${JSON.stringify(seen)}\n${rig.node.log()}` });
}

const condition = (status: NodeConfig['status'], type: string) => status?.conditions?.find((one) => one.type === type);

/** The reason of ConfigOK of the Node, which the node writes with its own credential. */
async function untilNodeCondition({ admin }: ClusterRig, reason: string): Promise<void> {
  let seen: unknown;
  const ask = async () => {
    const { status } = await admin.get<KubeObject & Pick<NodeConfig, 'status'>>(nodes, { name: nodeName });
    seen = condition(status, 'ConfigOK');
    return condition(status, 'ConfigOK')?.reason === reason;
  };
  await eventually(`ConfigOK of the Node is ${reason}`, ask, { seen: () => JSON.stringify(seen) });
}

async function rigWithNodeConfig(spec: object = {}, metadata: object = {}): Promise<ClusterRig> {
  const rig = await createClusterRig({ boot: false });
  await install(rig.admin);
  await makeNodeConfig(rig.admin, spec, metadata);
  rig.node.boot();
  await untilStatus(rig, 'first status', (status) => status?.config !== undefined);
  return rig;
}

/** A node that runs the ConfigMap 'one', by its NodeConfig. */
async function rigRunningOne(): Promise<ClusterRig> {
  const rig = await rigWithNodeConfig();
  const metadata = { name: 'one', namespace: 'kube-system', labels };
  await rig.createConfigMap('one', { kubelet: rig.node.config() }, { metadata });
  await point(rig.admin, 'one');
  await untilStatus(rig, 'active', (status) => status?.config?.active !== undefined);
  return rig;
}

describe('a node that follows a NodeConfig', () => {
  test('runs what it refers to, proves it and reports it there, and goes back when it is taken away', async () => {
    const rig = await rigWithNodeConfig();
    await rig.createConfigMap(
      'one',
      { kubelet: rig.node.config() },
      { metadata: { name: 'one', namespace: 'kube-system', labels } },
    );
    await point(rig.admin, 'one');
    const active = await untilStatus(rig, 'active', (status) => status?.config?.active?.configMap?.name === 'one');
    expect(active.config).toEqual({ assigned: active.config!.active, active: active.config!.active });
    const onTrial = await untilStatus(rig, 'trial', (status) => status?.trial?.endsAt !== undefined);
    expect(onTrial).toMatchObject({ agentVersion: '0.0.0-test', trial: { deaths: 0 } });
    expect(condition(onTrial, 'OnTrial')).toMatchObject({ status: 'True', reason: 'TrialRunning' });
    expect(condition(onTrial, 'ConfigOK')).toMatchObject({
      status: 'True',
      reason: 'ConfigActive',
      message: 'The kubelet runs with the assigned config.',
      observedGeneration: onTrial.observedGeneration,
    });
    expect(onTrial.observedGeneration).toBeGreaterThan(0);
    await untilNodeCondition(rig, 'ConfigActive');
    expect(onTrial.changes).toMatchObject([
      { from: 'local', to: expect.stringMatching(/^kube-system\/one\/kubelet@\d+$/) },
    ]);

    await rig.node.passTrial();
    const good = await untilStatus(rig, 'good', (status) => status?.config?.lastKnownGood !== undefined);
    expect(good.trial).toBeUndefined();

    await rig.admin.patch(nodeConfigs, { name: nodeName }, { spec: { configSource: null } }, { as: 'merge' });
    const local = await untilStatus(rig, 'local', (status) => status?.changes?.length === 2);
    expect(local.config?.active).toBeUndefined();
    expect(rig.config).toBeUndefined();
  });

  test('says which generation of the spec an error is about', async () => {
    const rig = await rigWithNodeConfig();
    await rig.createConfigMap('one', { kubelet: rig.node.config() }, { metadata: { name: 'one', labels } });
    const at = async (name: string) => {
      await point(rig.admin, name);
      const { generation } = (await rig.admin.get(nodeConfigs, { name: nodeName })).metadata;
      return untilStatus(rig, name, (status) => status?.observedGeneration === generation);
    };
    await at('one');
    const { config: ran } = await untilStatus(rig, 'active', (status) => status?.config?.active !== undefined);
    expect((await at('missing')).config).toEqual({ ...ran, error: expect.stringContaining('failed to sync') });
    expect((await at('one')).config?.error).toBeUndefined();
  });

  test('rejects a ConfigMap without the label, and uses it as soon as it has one', async () => {
    const rig = await rigWithNodeConfig();
    await rig.createConfigMap('plain', { kubelet: rig.node.config() });
    await point(rig.admin, 'plain');
    const refused = await untilStatus(rig, 'error', (status) => status?.config?.error !== undefined);
    await untilNodeCondition(rig, 'NotLabelled');
    expect(refused.config).toEqual({
      error: 'failed to sync: the ConfigMap does not have the label relet.dev/kubelet-config',
    });
    expect(rig.node.log()).toContain('ConfigMap kube-system/plain has no label relet.dev/kubelet-config');
    await rig.patchConfigMap('plain', { metadata: { labels } });
    await untilStatus(rig, 'active', (status) => status?.config?.active?.configMap?.name === 'plain');
  });

  test('refuses other content than is pinned, also when it changes in place', async () => {
    const rig = await rigWithNodeConfig();
    const text = rig.node.config();
    const metadata = { name: 'pinned', namespace: 'kube-system', labels };
    await rig.createConfigMap('pinned', { kubelet: text }, { metadata });
    await point(rig.admin, 'pinned', { sha256: createHash('sha256').update('other').digest('hex') });
    const error = 'failed to sync: the content of the ConfigMap does not have the pinned sha256';
    await untilStatus(rig, 'rejected', (status) => status?.config?.error === error);
    await point(rig.admin, 'pinned', { sha256: createHash('sha256').update(text).digest('hex') });
    const active = await untilStatus(rig, 'active', (status) => status?.config?.active !== undefined);
    await rig.patchConfigMap('pinned', { data: { kubelet: rig.node.config('# evil') } });
    const after = await untilStatus(rig, 'refused again', (status) => status?.config?.error === error);
    expect(after.config?.active).toEqual(active.config?.active);
    expect(rig.node.starts()).toHaveLength(2);
  });

  test('an unset NodeConfig, deleted and made again, resets nothing', async () => {
    const rig = await rigRunningOne();
    await rig.admin.delete(nodeConfigs, { name: nodeName });
    await rig.node.until('noticed', () => rig.node.log().includes('NodeConfig deleted'));
    await makeNodeConfig(rig.admin, {}, { annotations: unsetAnnotations('true') });
    const again = await untilStatus(rig, 'reported again', (status) => status?.config !== undefined);
    expect(again.config?.active?.configMap?.name).toBe('one');
    await rig.node.until('logged', () => rig.node.log().includes('is unset: nobody has written its spec yet'));
    expect(rig.node.starts()).toHaveLength(2);
    // Removing the annotations assigns the local config.
    await rig.admin.patch(
      nodeConfigs,
      { name: nodeName },
      { metadata: { annotations: unsetAnnotations(null) } },
      { as: 'merge' },
    );
    await untilStatus(rig, 'local', (status) => status?.config?.active === undefined);
  });
});

describe('changing from one reference to the other', () => {
  test('the definition deleted leaves the node running what it runs, also after a restart', async () => {
    const rig = await rigRunningOne();
    await rig.admin.delete(definitions, { name: 'nodeconfigs.relet.dev' });
    await rig.until('the Node reports instead', () => rig.config?.active?.configMap?.name === 'one');
    await untilNodeCondition(rig, 'passing all checks');
    expect(rig.node.log()).toContain('the API no longer serves NodeConfigs, and this node followed one');
    expect(rig.node.starts()).toHaveLength(2);

    await rig.node.stop();
    rig.node.boot();
    await rig.node.until('runs it again', ({ starts }) => starts.call(rig.node).length === 3);
    await rig.node.until('active', () => rig.node.status()?.active !== undefined);
    expect(rig.node.starts()[2]?.configFile).toContain('checkpoints');
    expect(rig.config?.active?.configMap?.name).toBe('one');

    // A Node that names a config is an instruction again, and from then on so is one that names none.
    await rig.createConfigMap('two', { kubelet: rig.node.config('# two') });
    await rig.point('two');
    await rig.until('follows the Node', () => rig.config?.active?.configMap?.name === 'two');
    await rig.assign(null);
    await rig.until('local', () => rig.config?.active === undefined);
  });

  test('NodeConfigs that come to be served are followed, and a missing one changes nothing', async () => {
    const rig = await createClusterRig({ askAgainMs: 0 });
    await rig.createConfigMap(
      'one',
      { kubelet: rig.node.config() },
      { metadata: { name: 'one', namespace: 'kube-system', labels } },
    );
    await rig.point('one');
    await rig.until('active', () => rig.config?.active?.configMap?.name === 'one');
    await install(rig.admin);
    // Any sign of life of the Node raises the question.
    await rig.admin.patch(
      { group: '', version: 'v1', resource: 'nodes' },
      { name: nodeName },
      { metadata: { labels: { a: 'b' } } },
      { as: 'merge' },
    );
    await rig.node.until('follows NodeConfig', () => rig.node.log().includes('in=NodeConfig'));
    await rig.node.until('none yet', () => rig.node.log().includes('does not exist'));
    expect(rig.node.status()?.active?.configMap?.name).toBe('one');
    await makeNodeConfig(rig.admin, source('one'));
    await untilStatus(rig, 'reported there', (status) => status?.config?.active?.configMap?.name === 'one');
    await untilNodeCondition(rig, 'ConfigActive');
    expect(rig.node.starts()).toHaveLength(2);
  });

  test('a denied permission is not an instruction', async () => {
    const rig = await rigRunningOne();
    await rig.admin.delete(bindings, { name: 'test' });
    await rig.node.stop();
    rig.node.boot();
    await rig.node.until('complains', () => /cannot watch|will be tried again/.test(rig.node.log()));
    await rig.node.until('runs', () => rig.node.starts().length === 3 && rig.node.status() !== undefined);
    expect(rig.node.status()?.assigned?.configMap?.name).toBe('one');
    expect(rig.node.starts()[2]?.configFile).toContain('checkpoints');
  });
});
