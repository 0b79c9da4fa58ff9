/** The kubelet's binary is replaced by another version: what is reported, when, and until when. */
import { expect, test } from 'vitest';
import { createFlowRig, type FlowRig, quietUnit } from '../../test/rig/memory-node.js';
import { nodes } from '../kube/resource-type.js';
import { ranRecord } from './upgrade-risk.js';

/** A node that runs this config, with v1.34.1, and has passed its trial. */
async function nodeWith(...lines: string[]): Promise<FlowRig> {
  const rig = await createFlowRig();
  rig.machine.version = 'v1.34.1';
  rig.boot();
  await rig.makeLastKnownGood('mine', 'failCgroupV1: false', ...lines);
  return rig;
}

const upgrade = (rig: FlowRig) => rig.reporter.latest.upgrade;
const risksSent = async (rig: FlowRig) =>
  (await rig.events()).filter(({ reason }) => reason === 'KubeletUpgradeRisk').map(({ message }) => message);

test('a kubelet that is replaced is checked before its next start, and nothing is restarted for it', async () => {
  const rig = await nodeWith('eventRecordQPS: 0');
  expect(upgrade(rig)).toBeUndefined();
  rig.machine.replaceBinary('v1.37.0');
  await rig.clock.advance(61_000);
  expect(upgrade(rig)).toMatchObject({ from: 'v1.34.1', to: 'v1.37.0', risk: 'changes' });
  expect(upgrade(rig)!.details).toContainEqual(expect.stringMatching(/^eventRecordQPS: 0 means no limit/));
  expect(await risksSent(rig)).toEqual([expect.stringMatching(/^v1\.34\.1 to v1\.37\.0: .*eventRecordQPS/)]);
  expect(rig.starts).toEqual(['local', 'mine']);
  // Looked at again every minute, and reported once.
  await rig.clock.advance(300_000);
  expect(await risksSent(rig)).toHaveLength(1);
});

test('the risk is over when the new kubelet is healthy', async () => {
  const rig = await nodeWith('eventRecordQPS: 0');
  rig.machine.replaceBinary('v1.37.0');
  await rig.clock.advance(61_000);
  rig.machine.kill('SIGKILL');
  await rig.until('it runs again', () => rig.starts.length === 3);
  await rig.until('it is healthy', () => upgrade(rig) === undefined);
  expect(rig.state.read(ranRecord)).toEqual({ version: 'v1.37.0' });
});

test('a config that the new kubelet rejects is reported with the reason, until the old one is put back', async () => {
  const rig = await nodeWith('featureGates: {ImageVolume: false}');
  rig.machine.replaceBinary('v1.37.0');
  await rig.clock.advance(61_000);
  expect(upgrade(rig)).toMatchObject({ risk: 'rejected', details: [expect.stringContaining('ImageVolume')] });
  expect(rig.starts).toEqual(['local', 'mine']);
  rig.machine.replaceBinary('v1.34.1');
  await rig.clock.advance(61_000);
  expect(upgrade(rig)).toBeUndefined();
});

test('where relet is restarted together with the new kubelet, the check comes before the start', async () => {
  const rig = await nodeWith('eventRecordQPS: 0');
  await rig.stop();
  rig.machine.replaceBinary('v1.37.0');
  rig.machine.behaviour = () => ({ healthyAfterMs: 20_000 });
  rig.boot();
  await rig.until('started', () => rig.starts.length === 3);
  expect(upgrade(rig)).toMatchObject({ from: 'v1.34.1', to: 'v1.37.0', risk: 'changes' });
  await rig.until('healthy', () => upgrade(rig) === undefined);
  expect(rig.logLines.join('')).toMatch(/kubelet replaced .*risk=changes/);
});

test('a release of the same minor has no risk', async () => {
  const rig = await nodeWith('eventRecordQPS: 0');
  rig.machine.replaceBinary('v1.34.2');
  await rig.clock.advance(61_000);
  expect(upgrade(rig)).toEqual({ from: 'v1.34.1', to: 'v1.34.2', risk: 'none', details: [] });
  expect(await risksSent(rig)).toEqual([]);
});

test('a binary that is missing for a moment, or not a kubelet, is not reported', async () => {
  const rig = await nodeWith();
  rig.machine.removeBinary();
  await rig.clock.advance(61_000);
  expect(upgrade(rig)).toBeUndefined();
  expect(rig.starts).toEqual(['local', 'mine']);
});

test('a kubelet in its own unit may run since before the replacement: its Node says when the upgrade is over', async () => {
  const rig = await createFlowRig();
  rig.machine.version = 'v1.34.1';
  rig.unit = quietUnit;
  const reports = (kubeletVersion: string) =>
    rig.client.patch(
      nodes,
      { name: 'node-a', subresource: 'status' },
      { status: { nodeInfo: { kubeletVersion } } },
      { as: 'merge' },
    );
  await reports('v1.34.1');
  rig.boot();
  await rig.until('known', () => rig.state.read(ranRecord)?.version === 'v1.34.1');
  rig.machine.replaceBinary('v1.37.0');
  await rig.stop();
  rig.boot();
  await rig.clock.advance(30_000);
  expect(upgrade(rig)).toMatchObject({ from: 'v1.34.1', to: 'v1.37.0' });
  await reports('v1.37.0');
  rig.machine.kill('SIGKILL');
  await rig.until('over', () => upgrade(rig) === undefined);
  expect(rig.state.read(ranRecord)).toEqual({ version: 'v1.37.0' });
});
