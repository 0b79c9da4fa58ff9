/** A host with a trust file, as whole processes: relet in front of a hollow kubelet, driven through a set by the controller. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type NodeConfig, nodeConfigs } from '../src/api/node-config.js';
import { nodeConfigSets, type SignedConfig } from '../src/api/node-config-set.js';
import { contentOf, formatStatement } from '../src/config/signing/statement.js';
import { nodes } from '../src/kube/resource-type.js';
import { createClusterRig, nodeName } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { newPlace, withDir } from './process-rig.js';
import { testKey } from './rig/signing.js';
import { relet } from './run-relet.js';

const ann = testKey();
const signers = ['ann@example.com'];
const payloadOf = (maxPods: number) =>
  `apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig: {maxPods: ${maxPods}}\n`;

function signed(payload: string, serial: number): { signed: SignedConfig } {
  const statement = formatStatement({ pools: [], serial, floor: 0, ...contentOf({ data: { kubelet: payload } }) });
  return { signed: { payload, statement, signatures: [ann.sign(statement)] } };
}

async function createNode() {
  const rig = await createClusterRig({ boot: false, through: 'NodeConfig' });
  await rig.admin.patch(nodes, { name: nodeName }, { metadata: { labels: { pool: 'gpu' } } }, { as: 'merge' });
  const place = await newPlace();
  const root = join(place.dir, '..');
  const trustFile = join(root, 'trust.yaml');
  writeFileSync(trustFile, `apiVersion: relet.dev/v1alpha1\nkind: Trust\nsigners: ["${signers[0]} ${ann.line}"]\n`, {
    mode: 0o600,
  });
  const kubelet = ['--kubelet-binary=hollow', `--root-dir=${root}/kubelet`, `--cert-dir=${root}/pki`];
  const server = [`--hostname-override=${nodeName}`, '--address=127.0.0.1', `--port=${await freePort()}`];
  withDir(place, rig, ...kubelet, ...server, `--healthz-port=${place.port}`, `--trust-file=${trustFile}`);
  await rig.until('first status', () => rig.config !== undefined);
  const node = (...args: string[]) => relet(['node', ...args, `--dynamic-config-dir=${place.dir}`]).stdout;
  return {
    rig,
    node,
    kubeletPid: () => JSON.parse(node('status', '-o', 'json')).kubelet.pid as number,
    status: async () => (await rig.admin.get<NodeConfig>(nodeConfigs, { name: nodeName })).status,
    async rollOut(config: object): Promise<void> {
      const spec = { selector: { matchLabels: { pool: 'gpu' } }, config };
      const set = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfigSet', metadata: { name: 'gpu' }, spec };
      await rig.admin.patch(nodeConfigSets, { name: 'gpu' }, set, { as: 'apply', fieldManager: 'git', force: true });
    },
    async assign(name: string, data: Record<string, string>): Promise<void> {
      await rig.createConfigMap(name, data);
      await rig.point(name);
    },
  };
}

test('a host with a trust file starts what its keys signed, and what a person on it lets pass, whatever the API assigns', async () => {
  const { rig, node, kubeletPid, status, rollOut, assign } = await createNode();
  await rollOut(signed(payloadOf(120), 7));
  await rig.until('last known good', () => rig.config?.lastKnownGood?.configMap !== undefined);
  const good = rig.config?.active;
  expect((await status())?.signing).toMatchObject({ required: true, signers, serial: 7, threshold: 1 });
  expect(node('status')).toMatch(/^signatures: +required\nsigned: +by ann@example.com, serial 7$/m);
  const pid = kubeletPid();

  await rollOut({ overlay: { maxPods: 130 } });
  await eventually('rejected', async () => {
    const { conditions, config, cause } = (await status())!;
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'ConfigOK', reason: 'SignatureMissing' }));
    expect(cause).toContain('no annotation relet.dev/statement');
    expect(config?.active).toEqual(good);
    return true;
  });
  expect(kubeletPid()).toBe(pid);

  expect(node('accept-unsigned', '--for=1h', '--reason=incident 4711')).toContain('done by relet');
  await assign('unsigned', { kubelet: payloadOf(150) });
  await rig.until('active', () => rig.config?.active?.configMap?.name === 'unsigned');
  expect((await status())?.signing?.signers).toBeUndefined();
  expect((await status())?.conditions).toContainEqual(
    expect.objectContaining({ type: 'UnsignedAccepted', status: 'True', message: expect.stringContaining('4711') }),
  );
  expect(node('status')).toMatch(/^signed: +no\nunsigned: +accepted until .*: incident 4711$/m);
  expect(kubeletPid()).not.toBe(pid);
});
