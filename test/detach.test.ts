/** Attached mode for an operator: `relet detach`, and the GPUs that a reload of systemd may take. The test plays the agents. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { detachAnnotation, type NodeConfig, type NodeConfigObjectStatus, nodeConfigs } from '../src/api/node-config.js';
import type { KubeObject } from '../src/api/object.js';
import { nodes, pods } from '../src/kube/resource-type.js';
import { watchLoop } from '../src/kube/watch.js';
import { define } from './definitions.js';
import { OperatorCluster } from './operator-rig.js';

interface Pod extends KubeObject {
  spec: {
    containers: { volumeMounts: { mountPath: string }[] }[];
    volumes: { name: string; hostPath?: { path: string; type: string } }[];
  };
}

let cluster: OperatorCluster;
const over = new AbortController();
const daemonSets = { group: 'apps', version: 'v1', resource: 'daemonsets' };
const configMap = { namespace: 'relet-system', name: 'config', kubeletConfigKey: 'kubelet' };
const exact = { configMap: { ...configMap, uid: 'u', resourceVersion: '1' } };

beforeAll(async () => {
  cluster = await OperatorCluster.start();
  await define(cluster.admin, 'nodeconfigs');
  await node('node-1', { driver: 'systemd', config: { assigned: exact, active: exact, lastKnownGood: exact } });
  await node('node-2', { driver: 'process', config: {} });
  await node('gpu-1', { driver: 'systemd', config: {} }, { 'nvidia.com/gpu': '4', pods: '110' });
  void watchLoop<NodeConfig>(cluster.admin, {
    type: nodeConfigs,
    signal: over.signal,
    onList() {},
    onChange: (_type, object) => void leaveIfAsked(object),
    onFailure() {},
  });
});
afterAll(async () => {
  over.abort();
  await cluster?.close();
});

async function node(name: string, status: NodeConfigObjectStatus, capacity: Record<string, string> = {}) {
  const nodeInfo = { kubeletVersion: 'v1.32.1' };
  await cluster.admin.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  await cluster.admin.patch(
    nodes,
    { name, subresource: 'status' },
    { status: { capacity, nodeInfo } },
    { as: 'merge' },
  );
  const { assigned } = status.config ?? {};
  const spec = assigned ? { configSource: { configMap } } : {};
  const object = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig', metadata: { name }, spec };
  const { metadata } = await cluster.admin.create<NodeConfig>(nodeConfigs, {}, object);
  const report = { ...status, observedGeneration: metadata.generation, localConfig: { files: [] } };
  await cluster.admin.patch(nodeConfigs, { name, subresource: 'status' }, { status: report }, { as: 'merge' });
}

/** Only the host's cgroups are elsewhere in the pod. */
const asMounted = (path: string): string => (path === '/sys/fs/cgroup' ? '/host/cgroup' : path);

/** As the agent of a node does it. */
async function leaveIfAsked({ metadata, status }: NodeConfig): Promise<void> {
  const { name, generation } = metadata;
  if (metadata.annotations?.[detachAnnotation] === undefined || status?.observedGeneration === generation) return;
  const time = new Date().toISOString();
  const condition = {
    type: 'ConfigOK',
    status: 'True',
    reason: 'Detached',
    message: 'Gone.',
    lastTransitionTime: time,
  };
  const config = { assigned: null, active: null, lastKnownGood: null };
  const report = { observedGeneration: generation, config, conditions: [condition] };
  await cluster.admin.patch(nodeConfigs, { name, subresource: 'status' }, { status: report }, { as: 'merge' });
}

describe('relet detach', () => {
  test('returns a node to its local config and waits until relet has left the host', async () => {
    const { status, stdout, stderr } = await cluster.relet('detach node-1 --yes -o json');
    expect({ status, stderr }).toMatchObject({ status: 0 });
    const result = { verb: 'detach', nodes: [{ node: 'node-1', to: 'local', state: 'detached', reason: 'Active' }] };
    expect(JSON.parse(stdout)).toMatchObject(result);
    const { spec } = await cluster.admin.get<NodeConfig>(nodeConfigs, { name: 'node-1' });
    expect(spec?.configSource).toBeUndefined();
    expect((await cluster.relet('get node-1')).stdout).toMatch(/^node-1 +detached +local/m);
    expect((await cluster.relet('detach node-1 --yes')).stdout).toBe('node-1: is detached already\n');
  });

  test('an assignment takes the request back', async () => {
    await cluster.relet('set node-1 maxPods=150 --yes --no-wait');
    const { metadata } = await cluster.admin.get<NodeConfig>(nodeConfigs, { name: 'node-1' });
    expect(metadata.annotations?.[detachAnnotation]).toBeUndefined();
  });

  test('is for a node of k3s too, whose kubelet is restarted with all of k3s', async () => {
    await node('k3s-0', { driver: 'k3s-agent', config: { assigned: exact, active: exact, lastKnownGood: exact } });
    const { status, stdout, stderr } = await cluster.relet('detach k3s-0 --yes');
    expect({ status, stdout, stderr }).toMatchObject({ status: 0, stdout: expect.stringContaining('k3s-0') });
    expect((await cluster.relet('get k3s-0')).stdout).toMatch(/^k3s-0 +detached +local/m);
  });

  test('is not for a node whose kubelet is a child of relet', async () => {
    const { status, stderr } = await cluster.relet('detach node-2 --yes');
    expect([status, stderr]).toEqual([2, expect.stringContaining('relet is the parent of the kubelet on node-2')]);
  });
});

describe('relet detach --image', () => {
  const image = 'registry.example/relet:0.1.0';

  /** As the kubelet of a node does it. */
  function runPods(phase: string, state: object) {
    const done = new AbortController();
    onTestFinished(() => done.abort());
    const seen: Pod[] = [];
    const type = pods;
    void watchLoop<Pod>(cluster.admin, {
      type,
      signal: done.signal,
      onList() {},
      onChange(kind, pod) {
        const { name, namespace } = pod.metadata;
        if (kind !== 'ADDED') return;
        seen.push(pod);
        const status = {
          phase,
          containerStatuses: [{ name: 'detach', ready: false, restartCount: 0, image, imageID: '', state }],
        };
        // The pod may be deleted by now, as the command does when it has the result.
        cluster.admin
          .patch(type, { name, namespace: namespace!, subresource: 'status' }, { status }, { as: 'merge' })
          .catch(() => {});
      },
      onFailure() {},
    });
    return seen;
  }

  test('runs one pod on the host, with the mounts of the agent and no account, and removes it', async () => {
    const seen = runPods('Succeeded', { terminated: { exitCode: 0 } });
    const { status, stdout, stderr } = await cluster.relet(`detach node-1 --image ${image} --yes -n kube-system`);
    expect({ status, stdout, stderr }).toMatchObject({ status: 0, stdout: 'node-1: detached\n' });
    const [{ spec } = {} as Pod] = seen;
    expect(spec).toMatchObject({
      nodeName: 'node-1',
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      hostNetwork: true,
    });
    const [container] = spec.containers;
    expect(container).toMatchObject({ image, args: ['detach', '--host', '--unit=kubelet.service'] });
    const paths = container!.volumeMounts.map(({ mountPath }) => mountPath);
    expect(paths).toEqual(expect.arrayContaining(['/run/systemd', '/etc/systemd/system', '/var/lib/relet']));
    expect((await cluster.admin.list(pods, { namespace: 'kube-system' })).items).toEqual([]);
  });

  const hostPathsOf = ({ spec }: Pod) =>
    Object.fromEntries(spec.volumes.flatMap(({ hostPath }) => (hostPath ? [[hostPath.path, hostPath.type]] : [])));

  test('mounts the kubeconfig and the config that the agent of the node has reported, and not those of kubeadm', async () => {
    const agentDir = '/var/lib/rancher/k3s/agent';
    const kubeletFlags = [
      { name: 'kubeconfig', value: `${agentDir}/kubelet.kubeconfig` },
      { name: 'config', value: '/var/lib/kubelet/config.yaml' },
      { name: 'config-dir', value: `${agentDir}/etc/kubelet.conf.d` },
      { name: 'node-labels', value: 'a=b' },
    ];
    await node('k3s-1', { driver: 'k3s-agent', config: {}, kubeletFlags });
    const seen = runPods('Succeeded', { terminated: { exitCode: 0 } });
    expect(await cluster.relet(`detach k3s-1 --image ${image} --yes`)).toMatchObject({ status: 0 });
    const paths = hostPathsOf(seen[0]!);
    expect(paths).toMatchObject({
      [`${agentDir}/kubelet.kubeconfig`]: 'File',
      [`${agentDir}/etc/kubelet.conf.d`]: 'Directory',
      '/var/lib/kubelet': 'Directory',
    });
    expect(Object.keys(paths)).not.toContain('/etc/kubernetes/kubelet.conf');
    expect(Object.keys(paths)).not.toContain('/var/lib/kubelet/config.yaml');
    const mounted = seen[0]!.spec.containers[0]!.volumeMounts.map(({ mountPath }) => mountPath);
    expect(mounted).toEqual(seen[0]!.spec.volumes.map(({ hostPath }) => hostPath?.path ?? '/tmp').map(asMounted));
  });

  test("takes mounts, permissions and unit from the agent's DaemonSet where that is on the cluster", async () => {
    const manifest = readFileSync(join(import.meta.dirname, '../deploy/agent/agent.yaml'), 'utf8')
      .replaceAll('/etc/kubernetes/kubelet.conf', '/var/lib/kubelet/kubeconfig')
      .replace('--unit=kubelet.service', '--unit=k0s.service')
      .replace('readOnlyRootFilesystem: true', 'privileged: true');
    const daemonSet = parseAllDocuments(manifest)
      .map((document) => document.toJS() as KubeObject & { spec: { template: { spec: { volumes: object[] } } } })
      .find(({ kind }) => kind === 'DaemonSet')!;
    daemonSet.spec.template.spec.volumes.push({ name: 'field-policy', secret: { secretName: 'relet-field-policy' } });
    const place = { namespace: 'relet-system', name: 'relet-agent' };
    await cluster.admin.create(daemonSets, { namespace: place.namespace }, daemonSet);
    onTestFinished(async () => void (await cluster.admin.delete(daemonSets, place)));
    const seen = runPods('Succeeded', { terminated: { exitCode: 0 } });
    expect(await cluster.relet(`detach node-1 --image ${image} --yes -n kube-system`)).toMatchObject({ status: 0 });
    const [{ spec } = {} as Pod] = seen;
    expect(spec.containers[0]).toMatchObject({
      args: ['detach', '--host', '--unit=k0s.service'],
      securityContext: { privileged: true },
    });
    expect(hostPathsOf(seen[0]!)).toMatchObject({ '/var/lib/kubelet/kubeconfig': 'File' });
    expect(spec.volumes.map(({ name }) => name)).not.toContain('field-policy');
    expect(spec).not.toHaveProperty('nodeSelector');
  });

  test('ends with the last lines of a pod that failed', async () => {
    runPods('Failed', { terminated: { exitCode: 2, message: 'relet: the local config does not start' } });
    const { status, stderr } = await cluster.relet(`detach node-1 --image ${image} --yes -n kube-system`);
    expect(status).toBe(2);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      'pod relet-detach-node-1 is Failed: relet: the local config does not start',
    );
  });
});

describe('a node with GPUs in attached mode', () => {
  test('is not changed before the reload of systemd is accepted, and a dry run names the flag', async () => {
    const refused = await cluster.relet('set gpu-1 maxPods=150 --yes');
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('--accept=daemon-reload')]);
    const dry = await cluster.relet('set gpu-1 maxPods=150 --dry-run');
    expect([dry.status, dry.stdout]).toEqual([0, expect.stringContaining('This change needs --accept=daemon-reload.')]);
    const accepted = ['set', 'gpu-1', 'maxPods=150', '--accept=daemon-reload', '--yes', '--no-wait'];
    expect((await cluster.relet(accepted)).status).toBe(0);
  });
});
