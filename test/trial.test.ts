/** Health as the cluster sees it: a Node that was Ready must be Ready again, and an API that the config took away is missed. */
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { trialRecord } from '../src/agent/trial/trial.js';
import type { Validator } from '../src/agent/validate/validate.js';
import { leases, nodes, pods } from '../src/kube/resource-type.js';
import { startApiServer } from '../src/lab/apiserver/apiserver.js';
import { type ClusterRig, createClusterRig, nodeName } from './cluster-rig.js';
import { freePort } from './free-port.js';
import { simpleValidator } from './rig/node.js';
import { temporaryDir } from './temporary-dir.js';

/** Posts the heartbeat of a kubelet: Ready, in whole seconds, as they are. */
const heartbeat = (rig: ClusterRig, laterMs = 0) => {
  const time = new Date(rig.node.clock.now() + laterMs).toISOString().replace(/\.\d+Z$/, 'Z');
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: time };
  return rig.admin.patch(
    nodes,
    { name: nodeName, subresource: 'status' },
    { status: { conditions: [ready] } },
    { as: 'strategic' },
  );
};

describe('a Node that was Ready before the switch', () => {
  test('must be Ready again before the deadline, or the config is rolled back', async () => {
    const rig = await createClusterRig();
    await heartbeat(rig);
    await rig.activate('cut-off', '# cut off');
    // It is active before the API is asked, and the jump would end that request.
    await rig.node.until('checked', () => (rig.node.state.read(trialRecord)?.unhealthy?.ms ?? 0) > 0);
    rig.node.clock.advance(61_000);
    await rig.until('rolled back', () => rig.config?.error !== undefined && rig.config.active === undefined);
    expect(rig.config?.error).toBe(
      'rolled back: the kubelet was not healthy in time with this config, see Kubelet log for details',
    );
    expect(rig.node.log()).toContain('the Node was not Ready again within 60 s');
    const reasons = (await rig.events()).map(({ reason }) => reason);
    expect(reasons).toContain('KubeletConfigRolledBack');
  });

  test('must be so in time, even if relet is restarted again and again before the deadline', async () => {
    const rig = await createClusterRig();
    await heartbeat(rig);
    await rig.activate('cut-off', '# cut off');
    for (const patience of [25_000, 50_000]) {
      rig.node.clock.advance(25_000);
      const waited = () => rig.node.state.read(trialRecord)?.unhealthy?.ms ?? 0;
      await rig.node.until('looked', () => waited() >= patience);
      expect(rig.config?.error).toBeUndefined();
      await rig.node.stop();
      const starts = rig.node.starts().length;
      rig.node.boot();
      await rig.node.until('started again', () => rig.node.starts().length > starts);
    }
    rig.node.clock.advance(11_000);
    await rig.until('rolled back', () => rig.config?.error !== undefined && rig.config.active === undefined);
    // Whether it had answered by then is a matter of milliseconds.
    expect(rig.node.log()).toMatch(/(the Node was not Ready again within|the kubelet was not healthy for) 60 s/);
  });

  test('and when it is, time counts and the trial passes', async () => {
    const rig = await createClusterRig();
    await heartbeat(rig);
    await rig.activate('good', '# good');
    await heartbeat(rig, 1000);
    // A look comes at least every second until all is well; then the whole trial may pass.
    await rig.node.until('healthy', () => rig.node.log().includes('onTrial=true'));
    await rig.node.advanceUntil('last known good', () => rig.node.status()?.lastKnownGood !== undefined);
  });
});

describe('a kubelet without a healthz port', () => {
  const place = { namespace: 'kube-node-lease', name: nodeName };
  const renewed = (rig: ClusterRig, laterMs: number) => ({
    spec: { renewTime: new Date(rig.node.clock.now() + laterMs).toISOString().replace('Z', '000Z') },
  });
  /** Local runs and renews its Lease; a config is assigned and its kubelet started. */
  const assign = async () => {
    const rig = await createClusterRig({ boot: false, node: { noHealthz: true } });
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: place, ...renewed(rig, 60_000) };
    await rig.admin.create(leases, { namespace: place.namespace }, lease);
    rig.node.boot();
    await rig.until('local is alive by its Lease', () => rig.config !== undefined);
    await rig.admin.patch(leases, place, renewed(rig, -60_000), { as: 'merge' });
    await rig.createConfigMap('good', { kubelet: rig.node.config('# good') });
    await rig.point('good');
    await rig.node.until('started', () => rig.node.starts().at(-1)?.configFile !== undefined);
    return rig;
  };

  test('is alive when it renews its Lease, and passes its trial', async () => {
    const rig = await assign();
    expect(rig.config?.active).toBeUndefined();
    await rig.admin.patch(leases, place, renewed(rig, 10_000), { as: 'merge' });
    await rig.until('active', () => rig.config?.active !== undefined);
    rig.node.clock.advance(600_000);
    await rig.until('last known good', () => rig.config?.lastKnownGood !== undefined);
  });

  test('is rolled back when it does not', async () => {
    const rig = await assign();
    // A jump may end the request for the Lease, and without an answer the running process counts as alive.
    await rig.node.advanceUntil('rolled back', () => rig.node.log().includes('the kubelet was not healthy for 60 s'));
    await rig.node.until('local runs', () => rig.node.starts().at(-1)?.configFile === undefined);
  });
});

describe('an API that is gone after the switch', () => {
  const assignAndLose = async (rig: ClusterRig) => {
    await rig.activate('good', '# good');
    await rig.server.close();
  };

  test('is not blamed on the config, but no trial passes until it is back', async () => {
    const dataDir = join(temporaryDir(), 'api');
    const rig = await createClusterRig({ server: { dataDir } });
    await assignAndLose(rig);
    rig.node.clock.advance(1_200_000);
    await rig.node.until(
      'looked',
      () => rig.node.log().includes('will be tried again') || rig.node.log().includes('cannot watch'),
    );
    expect(rig.node.state.lastKnownGood()).toEqual({ source: undefined });
    expect(rig.node.state.read(trialRecord)?.deaths).toBe(0);
    expect(rig.node.starts()).toHaveLength(2);
    const again = await startApiServer({ dataDir, port: rig.server.port });
    try {
      // Each look finds more healthy time, from the first that the API answers on.
      await rig.node.advanceUntil('last known good', () => rig.node.status()?.lastKnownGood !== undefined);
    } finally {
      await rig.node.stop();
      await again.close();
    }
  });

  test('on a node with static pods it is a failed trial at the deadline', async () => {
    const manifests = join(temporaryDir(), 'manifests');
    mkdirSync(manifests, { recursive: true });
    writeFileSync(join(manifests, 'kube-apiserver.yaml'), '');
    const rig = await createClusterRig({ node: { staticPodPath: manifests } });
    await assignAndLose(rig);
    rig.node.clock.advance(61_000);
    await rig.node.until('rolled back', () => rig.node.status()?.error !== undefined && rig.node.starts().length === 3);
    expect(rig.node.status()?.error).toBe(
      'rolled back: the API server was lost with this config, see Kubelet log for details',
    );
    expect(rig.node.starts().at(-1)?.configFile).toBeUndefined();
  });
});

test('pods that the kubelet turns away during the trial are warnings', async () => {
  const rig = await createClusterRig();
  await rig.activate('small', '# small');
  const spec = { nodeName, containers: [{ name: 'c', image: 'i' }] };
  await rig.admin.create(
    pods,
    { namespace: 'default' },
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'big' }, spec },
  );
  const status = { phase: 'Failed', reason: 'OutOfpods', message: 'Node did not have enough resource: pods' };
  await rig.admin.patch(
    pods,
    { namespace: 'default', name: 'big', subresource: 'status' },
    { status },
    { as: 'merge' },
  );
  rig.node.clock.advance(61_000);
  await rig.node.until('warned', () =>
    (rig.node.reporter.report?.warnings ?? []).some((warning) => warning.includes('OutOfpods')),
  );
});

describe('a port of the kubelet that another process has', () => {
  test.each(['healthz', 'serves'] as const)('%s: who answers there is not taken for the kubelet', async (which) => {
    const impostor = createServer((_request, response) => response.end('ok'));
    onTestFinished(() => void impostor.close());
    impostor.listen(0, '127.0.0.1');
    await once(impostor, 'listening');
    const { port } = impostor.address() as { port: number };
    const healthzPort = await freePort();
    const plain = simpleValidator(healthzPort);
    const validator: Validator = {
      async validate(candidate, options) {
        const result = await plain.validate(candidate, options);
        return candidate.checkpoint ? { ...result, [which]: { host: '127.0.0.1', port } } : result;
      },
    };
    const rig = await createClusterRig({ node: { validator, healthzPort } });
    await rig.until('first status', () => rig.config !== undefined);
    await rig.createConfigMap('taken', { kubelet: rig.node.config() });
    await rig.point('taken');
    const found = () => rig.node.log().includes('kubelet port in use by another process');
    await rig.node.until('found out', found);
    expect(rig.config?.active).toBeUndefined();
    rig.node.clock.advance(61_000);
    await rig.until('rolled back', () => rig.config?.error !== undefined && rig.config.active === undefined);
    expect(rig.node.log()).toContain(
      `the kubelet was not healthy for 60 s: port ${port} is held by another process (pid ${process.pid})`,
    );
  });
});
