/**
 * relet in front of a real kubelet of any version from 1.11 on; for the last test etcd and kube-apiserver of a version that
 * still had the feature stand beside it. real-kubelet-rig.ts says what the variables mean. Needs root.
 *
 *   KUBEBUILDER_ASSETS=/opt/k8s-1.23 CONTAINER_RUNTIME_ENDPOINT=unix:///run/containerd/containerd.sock \
 *     npx vitest run test/real-kubelet.test.ts
 */
import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { NodeConfigStatus } from '../src/api/config-ref.js';
import type { KubeObject } from '../src/api/object.js';
import { configMaps, nodes } from '../src/kube/resource-type.js';
import { startApiServer } from '../src/lab/apiserver/apiserver.js';
import { realCluster } from './cluster/cluster.js';
import { type ClusterRig, createClusterRig, type NodeObject, nodeName } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { isAlive, newPlace, status } from './process-rig.js';
import { Program } from './program.js';
import {
  address,
  assets,
  kubeletIn,
  kubeletsOf,
  minutes,
  newNode,
  type RealNode,
  ranWith,
  run,
  untilReady,
  untilStatus,
} from './real-kubelet-rig.js';

const { kubelet, missing } = kubeletIn('KUBEBUILDER_ASSETS');
const { version, minor } = kubelet;

async function ready(options: { more?: string[]; server?: object } = {}) {
  const rig = await createClusterRig({ boot: false, ...(options.server && { server: options.server }) });
  const node = await newNode(kubelet, rig.nodeKubeconfig, rig.server.caFile);
  const started = run(node, ...(options.more ?? []));
  await untilReady(rig, started);
  return { rig, node, started };
}

async function assign(rig: ClusterRig, name: string, text: string): Promise<KubeObject> {
  const made = await rig.createConfigMap(name, { kubelet: text });
  await rig.point(name);
  return made;
}

const overlay = (...lines: string[]) =>
  `apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig: {${lines.join(', ')}}\n`;

const names = (name: string) => ({ configMap: { name } });

describe.skipIf(missing.length > 0)(
  `relet in front of ${version || `a real kubelet (skipped: there is no ${missing.join(', no ')})`}`,
  { timeout: 8 * minutes },
  () => {
    test('the walkthrough of the beta', async () => {
      const { rig, node, started } = await ready();
      await assign(rig, 'good', node.config('eventRecordQPS: 7'));
      await untilStatus(rig, started, { assigned: names('good'), active: names('good'), lastKnownGood: names('good') });
      await eventually('the kubelet serves the config', async () => {
        const path = `/api/v1/nodes/${nodeName}/proxy/configz`;
        const { text } = await rig.admin.raw({ method: 'GET', path });
        expect(JSON.parse(text)).toMatchObject({ kubeletconfig: { eventRecordQPS: 7 } });
      });
      const starts = ranWith(started).length;
      await assign(rig, 'unparsable', '{0xdeadbeef}');
      await untilStatus(rig, started, {
        assigned: names('unparsable'),
        active: names('good'),
        error: 'failed to load config, see Kubelet log for details',
      });
      await assign(rig, 'invalid', node.config('eventRecordQPS: -1'));
      await untilStatus(rig, started, {
        assigned: names('invalid'),
        active: names('good'),
        error: 'failed to validate config, see Kubelet log for details',
      });
      expect(started.output()).toContain('eventRecordQPS (--event-qps) -1 must not be a negative number');
      await assign(rig, 'gate', node.config('featureGates: {NoSuchGate: true}'));
      await untilStatus(rig, started, { assigned: names('gate'), active: names('good') });
      expect(ranWith(started)).toHaveLength(starts);
      await rig.point('good');
      await eventually('no error', () => expect(status(rig).error).toBeUndefined());
      const { metadata } = await rig.patchConfigMap('good', { data: { kubelet: node.config('eventRecordQPS: 8') } });
      await untilStatus(rig, started, { active: { configMap: { resourceVersion: metadata.resourceVersion } } });
      await rig.assign(null);
      await eventually('local again', () => expect(rig.config).toEqual({}));
      expect(kubeletsOf(node)).toHaveLength(1);
      started.process.kill('SIGTERM');
      await started.exit;
      expect(kubeletsOf(node)).toEqual([]);
    });

    test('an overlay changes one field of the local config, also after an edit of the local file and a restart', async () => {
      const { rig, node, started } = await ready();
      const configz = async () => {
        const path = `/api/v1/nodes/${nodeName}/proxy/configz`;
        return JSON.parse((await rig.admin.raw({ method: 'GET', path })).text).kubeletconfig as Record<string, unknown>;
      };
      const local = await configz();
      await assign(rig, 'overlay', overlay('eventBurst: 33'));
      await untilStatus(rig, started, { active: names('overlay'), lastKnownGood: names('overlay') });
      expect(await configz()).toEqual({ ...local, eventBurst: 33 });
      writeFileSync(node.flags.find((flag) => flag.startsWith('--config='))!.slice(9), node.config('maxPods: 77'));
      started.process.kill('SIGTERM');
      await started.exit;
      const again = run(node);
      await untilReady(rig, again);
      await eventually('the edited local file counts', async () =>
        expect(await configz()).toEqual({ ...local, eventBurst: 33, maxPods: 77 }),
      );
      await untilStatus(rig, again, { assigned: names('overlay'), lastKnownGood: names('overlay') });
      await assign(rig, 'bad-overlay', overlay('eventBurst: -1'));
      await untilStatus(rig, again, {
        assigned: names('bad-overlay'),
        active: names('overlay'),
        error: 'failed to validate config, see Kubelet log for details',
      });
      expect(again.output()).toContain('eventBurst is in the overlay, line 3');
      await rig.assign(null);
      await eventually('local again', async () => expect(await configz()).toEqual({ ...local, maxPods: 77 }));
    });

    const killer = (node: RealNode) => node.config('evictionHard: {memory.available: bogus}');

    test('a config that passes validation and kills the kubelet is never started', async () => {
      const { rig, node, started } = await ready();
      await assign(rig, 'killer', killer(node));
      await untilStatus(rig, started, {
        assigned: names('killer'),
        error: 'rejected: the kubelet would exit at its start with this config, see Kubelet log for details',
      });
      expect(ranWith(started)).toHaveLength(1);
      expect(kubeletsOf(node)).toHaveLength(1);
    });

    const rolledBack = 'rolled back: the kubelet kept crashing with this config, see Kubelet log for details';

    test('without the forecast it is started, found out, and the last known good runs again', async () => {
      const { rig, node, started } = await ready({ more: ['--no-forecast'] });
      await assign(rig, 'good', node.config('eventRecordQPS: 7'));
      await untilStatus(rig, started, { lastKnownGood: names('good') });
      await assign(rig, 'killer', killer(node));
      const expected = { assigned: names('killer'), active: names('good'), error: rolledBack };
      await untilStatus(rig, started, expected);
      await untilReady(rig, started);
      expect(kubeletsOf(node)).toHaveLength(1);
      // And unlike upstream's, this node listens.
      await rig.point('good');
      await eventually('no error', () => expect(status(rig).error).toBeUndefined());
    });

    const runs = Number(process.env.TAKEN_PORT_RUNS ?? 1);

    test('a port that is taken is found out by the trial', { timeout: runs * minutes }, async () => {
      const { rig, node, started } = await ready({ more: runs > 1 ? ['--trial-failed-starts=1'] : [] });
      const taken = createServer();
      await new Promise<void>((resolve) => taken.listen(0, address, resolve));
      onTestFinished(() => void taken.close());
      // 1.32 answers on its healthz port for a moment before it exits.
      const active: (string | undefined)[] = [];
      rig.onChange(() => active.push(status(rig).active?.configMap?.name));
      const { port } = taken.address() as { port: number };
      for (let at = 1; at <= runs; at++) {
        await assign(rig, `taken-${at}`, node.config(`port: ${port}`, `eventRecordQPS: ${at}`));
        await untilStatus(rig, started, { assigned: names(`taken-${at}`), error: rolledBack });
        await eventually('local is active', () => expect(status(rig).active).toBeUndefined());
        await untilReady(rig, started);
        expect(active.filter((name) => name !== undefined)).toEqual([]);
      }
    });

    test.each([
      ['says no', 500],
      ['says ok in its place', 200],
    ])(
      'a kubelet whose healthz port is taken lives on; where who has it %s, it is rolled back',
      async (_what, code) => {
        const { rig, node, started } = await ready({ more: ['--trial-health-deadline=15s'] });
        const taken = createHttpServer((_request, response) => void response.writeHead(code).end('ok'));
        await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
        onTestFinished(() => void taken.close());
        const { port } = taken.address() as { port: number };
        await assign(rig, 'silent', node.config().replace(/^healthzPort: .*$/m, `healthzPort: ${port}`));
        await untilStatus(rig, started, {
          assigned: names('silent'),
          error: 'rolled back: the kubelet was not healthy in time with this config, see Kubelet log for details',
        });
        await untilReady(rig, started);
      },
    );

    test('after kill -9 of relet the kubelet keeps running, and the next relet replaces it', async () => {
      const { rig, node, started } = await ready();
      await assign(rig, 'good', node.config('eventRecordQPS: 7'));
      await untilStatus(rig, started, { active: names('good') });
      const [orphan] = kubeletsOf(node);
      started.process.kill('SIGKILL');
      await started.exit;
      expect(isAlive(orphan!)).toBe(true);
      const second = run(node);
      await untilStatus(rig, second, { lastKnownGood: names('good') });
      expect(second.output()).toContain(`stopped kubelet of an earlier relet pid=${orphan}`);
      expect(kubeletsOf(node)).toHaveLength(1);
      expect(isAlive(orphan!)).toBe(false);
    });

    test('an API server that goes and comes back is followed again, and nothing restarts for it', async () => {
      const dataDir = join((await newPlace()).dir, '..', 'api');
      const { rig, node, started } = await ready({ server: { dataDir } });
      await assign(rig, 'good', node.config('eventRecordQPS: 7'));
      await untilStatus(rig, started, { active: names('good') });
      const [running] = kubeletsOf(node);
      await rig.server.close();
      await eventually('connection refused', () => expect(started.output()).toContain('connection refused'));
      const again = await startApiServer({ dataDir, port: rig.server.port });
      onTestFinished(() => again.close());
      await rig.patchConfigMap('good', { metadata: { labels: { seen: 'again' } } });
      const { metadata } = await rig.patchConfigMap('good', {});
      await untilStatus(rig, started, { active: { configMap: { resourceVersion: metadata.resourceVersion } } });
      expect(kubeletsOf(node)).toEqual([running]);
    });
  },
);

const hasFeature = minor > 0 && minor < 24;
const cannotAdopt = [
  ...missing,
  ...(missing.length > 0 || hasFeature ? [] : [`kubelet with the feature (this is ${version})`]),
  ...['etcd', 'kube-apiserver'].filter((name) => !existsSync(join(assets, name))),
];

describe.skipIf(cannotAdopt.length > 0)(
  `after a kubelet's own dynamic configuration${cannotAdopt.length > 0 ? ` (skipped: there is no ${cannotAdopt.join(', no ')})` : ''}`,
  { timeout: 8 * minutes },
  () => {
    test('relet takes over what it left in its directory, and nothing changes for the node', async () => {
      const gate = '--feature-gates=DynamicKubeletConfig=true';
      const cluster = await realCluster(assets, [gate]);
      onTestFinished(() => cluster.close());
      const admin = cluster.client('admin');
      const kubeconfig = cluster.kubeconfig(`system:node:${nodeName}`);
      const [{ cluster: server }] = JSON.parse(readFileSync(kubeconfig, 'utf8')).clusters;
      const node = await newNode(kubelet, kubeconfig, server['certificate-authority']);
      const upstream = keepRunning(node, [...node.flags, gate, `--dynamic-config-dir=${node.dir}`]);
      const seen = async () => (await admin.get<NodeObject>(nodes, { name: nodeName })).status.config ?? {};
      const until = (expected: object) =>
        eventually('the status', async () => expect(await seen()).toMatchObject(expected), {
          seen: () => upstream.log().slice(-2000),
        });
      await until({});
      await admin.create(
        configMaps,
        { namespace: 'kube-system' },
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'theirs', namespace: 'kube-system' },
          data: { kubelet: node.config('eventRecordQPS: 7') },
        },
      );
      const configSource = { configMap: { namespace: 'kube-system', name: 'theirs', kubeletConfigKey: 'kubelet' } };
      await admin.patch(nodes, { name: nodeName }, { spec: { configSource } }, { as: 'merge' });
      await until({ active: names('theirs') });
      // Ten minutes of trial are the age of a file to it.
      utimesSync(join(node.dir, 'store', 'meta', 'assigned'), new Date(0), new Date(0));
      upstream.restart();
      await until({ active: names('theirs'), lastKnownGood: names('theirs') });
      const left = (await seen()) as NodeConfigStatus;
      await upstream.stop();

      const started = run(node, gate);
      await eventually('kubelet is healthy', () => expect(started.output()).toContain('kubelet is healthy'));
      expect(started.output()).toContain('adopted checkpoints of a kubelet');
      expect(ranWith(started)[0]).toBe(
        join(
          node.dir,
          'checkpoints',
          left.active!.configMap!.uid!,
          left.active!.configMap!.resourceVersion!,
          'kubelet',
        ),
      );
      expect(readFileSync(join(node.dir, 'meta', 'assigned'), 'utf8')).toBe(
        readFileSync(join(node.dir, 'store', 'meta', 'assigned'), 'utf8'),
      );
      await eventually('reference found', () => expect(started.output()).toContain('reference found'));
      await until({ ...left });
      expect(ranWith(started)).toHaveLength(1);
      await admin.patch(nodes, { name: nodeName }, { spec: { configSource: null } }, { as: 'merge' });
      await eventually('local again', async () => expect(await seen()).toEqual({}));
    });
  },
);

/** Restarts a kubelet as a service manager with Restart=always does. */
function keepRunning(node: RealNode, args: string[]) {
  const file = join(node.dir, '..', 'upstream.log');
  let program: Program | undefined;
  let stopped = false;
  const again = () => {
    program = new Program(kubelet.path, args, { logFile: file });
    void program.exited.then(() => stopped || again());
  };
  const stop = async () => {
    stopped = true;
    await program?.end();
  };
  onTestFinished(stop);
  again();
  return { stop, restart: () => program!.kill('SIGTERM'), log: () => readFileSync(file, 'utf8') };
}
