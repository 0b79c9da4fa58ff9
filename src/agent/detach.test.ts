/** relet leaves the host, on the whole agent in memory: asked for through the API or on the host, done with the local config healthy. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createFlowRig, type FlowRig, quietUnit } from '../../test/rig/memory-node.js';
import { configLabel, detachAnnotation, type NodeConfig, nodeConfigs } from '../api/node-config.js';
import { readPlain } from '../config/plain-document.js';
import { configMaps } from '../kube/resource-type.js';
import { detachRecord, handleRequest } from './requests.js';
import { NodeConfigReference } from './sync/node-config-reference.js';

const name = 'node-a';
const namespace = 'kube-system';
const definitions = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
const definition = join(import.meta.dirname, '../../deploy/base/nodeconfigs.relet.dev.yaml');

const crashes = { healthyAfterMs: Number.POSITIVE_INFINITY, exits: { afterMs: 10, code: 1 } };

/** A node with a last known good config, beside whose kubelet relet runs. */
async function started() {
  const rig = await createFlowRig();
  await rig.client.create(definitions, {}, readPlain(readFileSync(definition, 'utf8')) as object);
  const head = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig', metadata: { name } };
  await rig.client.create(nodeConfigs, {}, { ...head, spec: {} });
  rig.reference = (options) => new NodeConfigReference(options);
  const unit = { detached: 0, ...quietUnit, detach: async () => void unit.detached++ };
  rig.unit = unit;
  rig.boot();
  await assign(rig, 'good');
  await rig.until('good is active', async () => (await reported(rig)).active === 'good');
  await rig.passTrial();
  return { rig, unit };
}

async function assign(rig: FlowRig, config: string): Promise<void> {
  const kubelet = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
  const metadata = { name: config, namespace, labels: { [configLabel]: 'true' } };
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { kubelet } };
  await rig.client.create(configMaps, { namespace }, object);
  const configMap = { name: config, namespace, kubeletConfigKey: 'kubelet' };
  await rig.client.patch(nodeConfigs, { name }, { spec: { configSource: { configMap } } }, { as: 'merge' });
}

/** As `relet detach` writes it. */
const detach = (rig: FlowRig) =>
  rig.client.patch(
    nodeConfigs,
    { name },
    { metadata: { annotations: { [detachAnnotation]: '2026-01-01T00:00:00Z' } }, spec: { configSource: null } },
    { as: 'merge' },
  );

async function reported(rig: FlowRig) {
  const { status } = await rig.client.get<NodeConfig>(nodeConfigs, { name });
  const reason = status?.conditions?.find(({ type }) => type === 'ConfigOK')?.reason;
  return { active: status?.config?.active?.configMap?.name, reason };
}

const untilReason = (rig: FlowRig, reason: string) =>
  rig.until(reason, async () => (await reported(rig)).reason === reason);

describe('asked for through the API', () => {
  test('the local config is restored first, then the files are removed, and nothing is started any more', async () => {
    const { rig, unit } = await started();
    await detach(rig);
    await untilReason(rig, 'Detached');
    expect(unit.detached).toBe(1);
    expect(await reported(rig)).toEqual({ active: undefined, reason: 'Detached' });
    const { starts } = rig;
    expect(starts.slice(-2)).toEqual(['good', 'local']);
    await rig.clock.advance(3_600_000);
    expect(rig.starts).toEqual(starts);
  });

  test('it stays so for the next agent, and a new assignment attaches the node again', async () => {
    const { rig, unit } = await started();
    await detach(rig);
    await untilReason(rig, 'Detached');
    await rig.stop();
    const { starts } = rig;
    rig.boot();
    await rig.clock.advance(60_000);
    expect(rig.starts).toEqual(starts);
    expect(await reported(rig)).toEqual({ active: undefined, reason: 'Detached' });
    await assign(rig, 'next');
    await rig.until('next is active', async () => (await reported(rig)).active === 'next');
    expect(unit.detached).toBe(1);
    expect(rig.state.read(detachRecord)).toBeUndefined();
  });

  test('a node on its local config is detached without a restart', async () => {
    const { rig, unit } = await started();
    await rig.client.patch(nodeConfigs, { name }, { spec: { configSource: null } }, { as: 'merge' });
    await untilReason(rig, 'LocalConfigActive');
    const { starts } = rig;
    await detach(rig);
    await untilReason(rig, 'Detached');
    expect([unit.detached, rig.starts]).toEqual([1, starts]);
  });

  test('a local config that does not start keeps the node as it was, and attached', async () => {
    const { rig, unit } = await started();
    rig.localBehaviour = crashes;
    await detach(rig);
    await untilReason(rig, 'CrashLoop');
    await rig.clock.advance(60_000);
    expect([unit.detached, (await reported(rig)).active]).toEqual([0, 'good']);
  });

  test('it is tried again where the files could not be removed', async () => {
    const { rig, unit } = await started();
    let isReadOnly = true;
    rig.unit!.detach = async () => {
      if (isReadOnly) throw new Error('EROFS');
      unit.detached++;
    };
    await detach(rig);
    await untilReason(rig, 'LocalConfigActive');
    isReadOnly = false;
    await detach(rig);
    await rig.client.patch(
      nodeConfigs,
      { name },
      { metadata: { annotations: { [detachAnnotation]: 'again' } } },
      { as: 'merge' },
    );
    await untilReason(rig, 'Detached');
    expect(unit.detached).toBe(1);
  });
});

describe('asked for on the host', () => {
  test('the node is held, so that it is not attached again before it is released', async () => {
    const { rig, unit } = await started();
    await rig.request({ verb: 'detach' });
    await untilReason(rig, 'Detached');
    expect([unit.detached, rig.starts.at(-1)]).toEqual([1, 'local']);
    await rig.request({ verb: 'release' });
    await rig.until('good is active', async () => (await reported(rig)).active === 'good');
  });

  test('a process that is only to detach exits with 0 when it is done', async () => {
    const { rig, unit } = await started();
    await rig.stop();
    handleRequest(rig.state, { verb: 'detach' }, new Date(rig.clock.now()));
    rig.boot({ detach: true });
    await rig.until('detached', () => unit.detached === 1);
    await rig.clock.advance(60_000);
    expect(await rig.ended).toBe(0);
  });

  test('and with 1 where the local config cannot run', async () => {
    const { rig, unit } = await started();
    await rig.stop();
    handleRequest(rig.state, { verb: 'detach' }, new Date(rig.clock.now()));
    rig.localBehaviour = crashes;
    rig.boot({ detach: true });
    await rig.until('good runs again', () => rig.starts.at(-1) === 'good');
    await rig.clock.advance(60_000);
    expect([await rig.ended, unit.detached]).toEqual([1, 0]);
  });
});
