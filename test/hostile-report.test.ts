/**
 * A node writes what it likes into the status of its own NodeConfig. The real API server keeps JSON up to 10,000 levels deep, the lab's
 * only 1,000: the transport of the clients here puts the depth into the answers, in place of a mark that the lab stores.
 */
import { describe, expect, test } from 'vitest';
import { configLabel, configNamespace, nodeConfigs } from '../src/api/node-config.js';
import { configReferences } from '../src/fleet/config-references.js';
import { nodeConfigReader } from '../src/fleet/node-configs.js';
import { stateText, troubleOf } from '../src/fleet/state-text.js';
import { configMaps, nodes } from '../src/kube/resource-type.js';
import type { HttpResponse, Transport } from '../src/kube/transport.js';
import { createSetRig } from './set-rig.js';

const mark = 'TOO-DEEP';
const depth = 9_000;
const nested = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

const deepened = (chunk: Buffer): Buffer => Buffer.from(chunk.toString('utf8').replaceAll(`"${mark}"`, nested));

/** The lab's depth limit removed: what it sends has the depth that a node would have written. */
function withDepth(transport: Transport): Transport {
  return {
    close: () => transport.close(),
    async open(request) {
      const response = await transport.open(request);
      const changed: HttpResponse = {
        statusCode: response.statusCode,
        headers: { ...response.headers, 'content-length': undefined },
        destroy: (error) => response.destroy(error),
        resume: () => response.resume(),
        async *[Symbol.asyncIterator]() {
          for await (const chunk of response) yield deepened(chunk);
        },
      };
      if (response.takeWhole !== undefined)
        changed.takeWhole = () => {
          const whole = response.takeWhole!();
          return whole && deepened(whole);
        };
      return changed;
    },
  };
}

const hostile = { localConfig: { files: [{ path: '/l', config: { x: mark } }] } };
const config = { overlay: { maxPods: 120 } };

describe('a node that reports a local config of 9,000 levels', () => {
  test('is left out by its sets and named, and grants, sets and new nodes of the others continue', async () => {
    const rig = await createSetRig({ through: withDepth });
    await rig.addNodes(['node-1', 'node-2', 'node-3']);
    await rig.until('agents have reported', async () =>
      (await rig.nodeConfigs()).every(({ status }) => status?.config),
    );
    const place = { name: 'node-2', subresource: 'status' };
    await rig.client.patch(nodeConfigs, place, { status: hostile }, { as: 'merge' });
    await rig.stopController();
    rig.startController();

    await rig.apply('gpu', { config });
    await rig.until('complete', async () => (await rig.reason('gpu')) === 'RolloutComplete');
    const { status } = await rig.set('gpu');
    expect(status).toMatchObject({ selectedNodes: 3, updatedNodes: 2, excludedNodes: 1, failedNodes: 0 });
    expect(status?.excluded).toEqual([
      {
        name: 'node-2',
        reason: 'ReportUnusable',
        message: 'the report of its local config cannot be used: it is nested deeper than 7 levels',
      },
    ]);

    await rig.addNodes(['node-4'], {});
    const metadata = { namespace: configNamespace, name: 'one', labels: { [configLabel]: '' } };
    const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { kubelet: 'maxPods: 5' } };
    await rig.client.create(configMaps, { namespace: configNamespace }, configMap);
    await rig.until('a NodeConfig for the new node', async () =>
      (await rig.nodeConfigs()).some((one) => one.metadata.name === 'node-4'),
    );
    const source = { configMap: { namespace: configNamespace, name: 'one', kubeletConfigKey: 'kubelet' } };
    await rig.client.patch(nodeConfigs, { name: 'node-4' }, { spec: { configSource: source } }, { as: 'merge' });
    await rig.until('granted', async () =>
      ((await rig.nodeConfig('node-4')).status?.conditions ?? []).some(
        ({ type, status }) => type === 'Granted' && status === 'True',
      ),
    );
  });

  test('is shown as such beside the others, in a list, in a watch and alone', async () => {
    const rig = await createSetRig({ through: withDepth });
    await rig.addNodes(['node-1', 'node-2']);
    await rig.until('agents have reported', async () =>
      (await rig.nodeConfigs()).every(({ status }) => status?.config),
    );
    await rig.client.patch(
      nodeConfigs,
      { name: 'node-2', subresource: 'status' },
      { status: hostile },
      { as: 'merge' },
    );
    const references = await configReferences(rig.controllerClient);
    const why = 'the report of its local config cannot be used: it is nested deeper than 7 levels';
    const expected = [
      ['node-1', 'local', '', []],
      ['node-2', 'local', why, [why]],
    ];
    const shown = (nodes: Awaited<ReturnType<typeof references.get>>[]) =>
      nodes.map((node) => [node.name, stateText(node, { nowMs: 0 }), troubleOf(node).error, node.warnings]);

    const listed = [];
    for await (const page of references.pages()) listed.push(...page);
    expect(shown(listed)).toEqual(expected);
    const stop = new AbortController();
    const watched = new Promise<typeof listed>((onList, onFailure) => {
      void references.watch({ signal: stop.signal, onList, onFailure, onChange() {} });
    });
    expect(shown(await watched)).toEqual(expected);

    const node = await references.get('node-2');
    expect(shown([node])).toEqual([expected[1]]);
    const { local, localFiles } = await nodeConfigReader({
      client: rig.controllerClient,
      references,
      signal: stop.signal,
    }).read(node);
    expect([local, localFiles]).toEqual([undefined, undefined]);
    stop.abort();
  });
});

test.each(['overlay', 'whole'])(
  'a set whose %s has 9,000 levels is stalled and named, and other sets continue',
  async (field) => {
    const rig = await createSetRig({ through: withDepth });
    await rig.addNodes(['node-1']);
    await rig.apply('deep', { config: { [field]: { x: mark } }, selector: { matchLabels: { pool: 'none' } } });
    await rig.apply('gpu', { config });
    await rig.until('complete', async () => (await rig.reason('gpu')) === 'RolloutComplete');
    await rig.until('stalled', async () => (await rig.reason('deep')) === 'InvalidConfig');
    expect((await rig.set('deep')).status?.waiting).toBe(
      'config is nested deeper than 20 levels, and no field of a kubelet config is',
    );
  },
);

describe('nodes for which the config of their set is invalid', () => {
  const report = (config: object) => ({ status: { localConfig: { files: [{ path: '/l', config }] } } });
  const kubelet = (kubeletVersion: string) => ({ status: { nodeInfo: { kubeletVersion } } });

  test('are excluded and named, whatever they report, and the others get the config', async () => {
    const rig = await createSetRig();
    const [good, others] = [
      ['good-1', 'good-2', 'good-3', 'good-4'],
      ['old', 'gate', 'type', 'policy', 'odd'],
    ];
    await rig.addNodes([...good, ...others]);
    await rig.until('agents have reported', async () =>
      (await rig.nodeConfigs()).every(({ status }) => status?.config),
    );
    const write = (type: typeof nodes | typeof nodeConfigs, name: string, patch: object) =>
      rig.client.patch(type, { name, subresource: 'status' }, patch, { as: 'merge' });
    for (const name of [...good, 'odd', 'old']) await write(nodeConfigs, name, report({}));
    await write(nodeConfigs, 'gate', report({ featureGates: { NoSuchGate: true } }));
    await write(nodeConfigs, 'type', report({ maxPods: 'many' }));
    await write(nodeConfigs, 'policy', report({ cpuManagerPolicy: 'static', kubeReserved: { cpu: '1' } }));
    await write(nodes, 'old', kubelet('v1.11.0'));
    await write(nodes, 'odd', kubelet('v1.x rubbish \u0000'));
    await rig.apply('gpu', {
      config: { overlay: { cpuManagerPolicy: 'none', memorySwap: { swapBehavior: 'NoSwap' } } },
      strategy: { waves: [{ nodes: '100%' }], maxUnavailable: '100%', maxInTrial: '100%' },
    });
    await rig.until('complete', async () => (await rig.reason('gpu')) === 'RolloutComplete');
    const { status } = await rig.set('gpu');
    expect(status).toMatchObject({ selectedNodes: 9, updatedNodes: 5, excludedNodes: 4, failedNodes: 0 });
    expect(status?.excluded?.map(({ name, reason }) => `${name} ${reason}`)).toEqual([
      'gate InvalidHere',
      'old InvalidHere',
      'policy ImpactHere',
      'type InvalidHere',
    ]);
    expect(status?.excluded?.[0]?.message).toBe('unrecognized feature gate: NoSuchGate');
  });

  test('stall the set where no other node is left', async () => {
    const rig = await createSetRig();
    await rig.addNodes(['node-1', 'node-2']);
    await rig.apply('gpu', { config: { overlay: { featureGates: { NoSuchGate: true } } } });
    await rig.until('stalled', async () => (await rig.reason('gpu')) === 'InvalidConfig');
    const { status } = await rig.set('gpu');
    expect(status?.waiting).toBe('node-1 and node-2: unrecognized feature gate: NoSuchGate');
  });
});
