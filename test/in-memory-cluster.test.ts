/** An informer and the controller against the API server in memory: no socket, seeded randomness, time moved by hand. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { configLabel, configNamespace, type NodeConfig, nodeConfigs } from '../src/api/node-config.js';
import { isNotFound } from '../src/api/status.js';
import { runController } from '../src/controller/controller.js';
import { boundNodes, grantName, type RoleBinding } from '../src/controller/grant-plan.js';
import { newControllerCounters } from '../src/controller/metrics.js';
import type { KubeClient } from '../src/kube/client.js';
import { createInformer } from '../src/kube/informer.js';
import { runWhileLeader } from '../src/kube/leader.js';
import { configMaps, leases, nodes, roleBindings } from '../src/kube/resource-type.js';
import { ConnectionError, type Transport } from '../src/kube/transport.js';
import { silentLog } from '../src/log.js';
import { startInMemoryServer } from './in-memory-server.js';
import { applyDeploy } from './node-config-cluster.js';

async function startCluster() {
  const { clock, plane, transport, clientOver } = await startInMemoryServer('cluster');
  const stop = new AbortController();
  onTestFinished(async () => {
    stop.abort();
    await plane.close();
  });
  const client = clientOver(transport);
  /** Advances the clock by steps of 100 ms until the condition holds. */
  const until = async (condition: () => boolean | Promise<boolean>) => {
    for (let step = 0; step < 200 && !(await condition()); step++) await clock.advance(100);
    expect(await condition()).toBe(true);
  };
  return { clock, client, clientOver, transport, stop, until };
}

const never = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }));

const createNode = (client: KubeClient, name: string) =>
  client.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata: { name } });

describe('a cluster in memory', () => {
  test('an informer sees objects that are created and deleted, and watches on after its watch timed out', async () => {
    const { clock, client, stop, until } = await startCluster();
    await createNode(client, 'a');
    const informer = createInformer(client, { type: nodes, signal: stop.signal, onKey() {}, onFailure() {} });
    await until(() => informer.get('a') !== undefined);
    await createNode(client, 'b');
    await until(() => informer.get('b') !== undefined);
    await clock.advance(1_200_000);
    await client.delete(nodes, { name: 'a' });
    await until(() => informer.get('a') === undefined);
    expect([...informer.values()].map(({ metadata }) => metadata.name)).toEqual(['b']);
  });

  test('the controller creates NodeConfigs, grants an assigned ConfigMap, and revokes it an hour after the Node is gone', async () => {
    const { clock, client, stop, until } = await startCluster();
    await applyDeploy(client);
    const counters = newControllerCounters();
    const namespaces = [configNamespace];
    const running = runController({ client, namespaces, guards: 'auto', log: silentLog, counters }, stop.signal);
    await createNode(client, 'a');
    const nodeConfig = async (name: string) =>
      client.get<NodeConfig>(nodeConfigs, { name }).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
    const condition = async (name: string, type: string) =>
      (await nodeConfig(name))?.status?.conditions?.find((one) => one.type === type)?.reason;
    await until(async () => (await condition('a', 'Guarded')) === 'AdmissionPolicies');
    expect(counters.nodeConfigsCreated).toBe(1);

    // Not created by the controller, so it stays when its Node is deleted.
    const place = { namespace: configNamespace, name: 'one' };
    const configSource = { configMap: { ...place, kubeletConfigKey: 'kubelet' } };
    const metadata = { ...place, labels: { [configLabel]: '' } };
    await client.create(
      configMaps,
      { namespace: configNamespace },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { kubelet: '{}' } },
    );
    const header = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig' };
    await client.create(nodeConfigs, {}, { ...header, metadata: { name: 'b' }, spec: { configSource } });
    await until(async () => (await condition('b', 'Granted')) === 'NoNode');
    await createNode(client, 'b');
    await until(async () => (await condition('b', 'Granted')) === 'RoleBinding');
    const grant = { namespace: configNamespace, name: grantName('one') };
    const granted = async () => [...boundNodes(await client.get<RoleBinding>(roleBindings, grant))];
    expect(await granted()).toEqual(['b']);

    await client.delete(nodes, { name: 'b' });
    await clock.advance(3_590_000);
    expect(await granted()).toEqual(['b']);
    await clock.advance(20_000);
    expect(await granted()).toEqual([]);
    stop.abort();
    await running;
  });

  test('a leader gives the lease back also when its last renewal is applied late', async () => {
    const { client, clientOver, transport, until } = await startCluster();
    const place = { namespace: 'default', name: 'leader' };
    const stop = new AbortController();
    let isApplied = false;
    const late: Transport = {
      ...transport,
      async open(request) {
        if (stop.signal.aborted && request.method === 'PUT' && !isApplied) {
          isApplied = true;
          await client.patch(leases, place, { spec: { renewTime: '2026-01-01T00:00:01.000000Z' } }, { as: 'merge' });
        }
        return transport.open(request);
      },
    };
    let isLeading = false;
    const running = runWhileLeader({
      client: clientOver(late),
      ...place,
      identity: 'a',
      log: silentLog,
      signal: stop.signal,
      async lead(signal) {
        isLeading = true;
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      },
    });
    await until(async () => isLeading);
    stop.abort();
    await running;
    expect(isApplied).toBe(true);
    expect(await client.get(leases, place)).toMatchObject({ spec: { leaseDurationSeconds: 1 } });
  });

  test('a leader whose renewal hangs writes nothing once another process may lead', async () => {
    const { clock, clientOver, transport, until } = await startCluster();
    const stop = new AbortController();
    let hangs = false;
    const hanging: Transport = {
      ...transport,
      open: (request) =>
        hangs && request.url.pathname.includes('/leases/') ? never(request.signal) : transport.open(request),
    };
    let work: KubeClient | undefined;
    const running = runWhileLeader({
      client: clientOver(hanging),
      namespace: 'default',
      name: 'leader',
      identity: 'a',
      log: silentLog,
      signal: stop.signal,
      async lead(signal, client) {
        work = client;
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      },
    });
    await until(() => work !== undefined);
    await createNode(work!, 'before');
    hangs = true;
    await clock.advance(13_000);
    await expect(createNode(work!, 'after')).rejects.toThrow('lease leader was not renewed in time');
    expect((await work!.list(nodes)).items.map(({ metadata }) => metadata.name)).toEqual(['before']);
    hangs = false;
    stop.abort();
    await running;
  });

  test('a leader that cannot renew stops before another one leads, and one that stops gives the lease back', async () => {
    const { clock, client, clientOver, transport, stop, until } = await startCluster();
    let isCut = false;
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    const cuttable: Transport = {
      ...transport,
      open: (request) => (isCut ? Promise.reject(new ConnectionError('cut', refused)) : transport.open(request)),
    };
    const events: { at: number; event: string }[] = [];
    const candidate = (identity: string, through: KubeClient, signal: AbortSignal) =>
      runWhileLeader({
        client: through,
        namespace: 'default',
        name: 'leader',
        identity,
        log: silentLog,
        signal,
        async lead(until) {
          events.push({ at: clock.monotonic(), event: `${identity} leads` });
          await new Promise((resolve) => until.addEventListener('abort', resolve, { once: true }));
          events.push({ at: clock.monotonic(), event: `${identity} stops` });
        },
      });
    const leads = (count: number) => () => events.length === count;
    void candidate('a', clientOver(cuttable), stop.signal);
    await until(leads(1));
    const stopB = new AbortController();
    const b = candidate('b', client, stopB.signal);
    await clock.advance(60_000);
    isCut = true;
    const cutMs = clock.monotonic();
    await until(leads(3));
    expect(events.map(({ event }) => event)).toEqual(['a leads', 'a stops', 'b leads']);
    expect(events[1]!.at - cutMs).toBeLessThan(13_000);
    expect(events[2]!.at - cutMs).toBeGreaterThan(13_000);
    isCut = false;
    await clock.advance(60_000);
    expect(events).toHaveLength(3);
    stopB.abort();
    await b;
    const releasedMs = clock.monotonic();
    await until(leads(5));
    expect(events.at(-1)!.event).toBe('a leads');
    expect(events.at(-1)!.at - releasedMs).toBeLessThan(3000);
  });
});
