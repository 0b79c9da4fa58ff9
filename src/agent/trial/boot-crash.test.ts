/** A last known good config that crashes at a boot and comes back, on the whole agent in memory. */
import { expect, test } from 'vitest';
import { createFlowRig, type FlowRig } from '../../../test/rig/memory-node.js';

/** The kubelet crashes with `good` until local has run in this boot, as with protectKernelDefaults. */
async function good(): Promise<{ rig: FlowRig; boots: { needsLocal: boolean } }> {
  const rig = await createFlowRig();
  const boots = { needsLocal: false };
  let localRan = '';
  rig.machine.behaviour = ({ source }) => {
    if (source === undefined) localRan = rig.machine.bootId;
    const isReady = !boots.needsLocal || localRan === rig.machine.bootId;
    return source === undefined || isReady ? {} : { exits: { afterMs: 10, code: 1 }, log: ['invalid kernel flag'] };
  };
  rig.boot();
  await rig.makeLastKnownGood('good');
  return { rig, boots };
}

async function rebootAndReturn(rig: FlowRig): Promise<void> {
  const { length } = rig.starts;
  await rig.reboot();
  const since = () => rig.starts.slice(length);
  await rig.until('local has run, and good again', () => since().includes('local') && since().at(-1) === 'good');
  await rig.passTrial();
  await rig.untilStatus({ active: 'good', lastKnownGood: 'good' });
}

test('a last known good config that crashed at a boot and came back stays reported, until it has survived a boot', async () => {
  const { rig, boots } = await good();
  expect(rig.reporter.report?.bootCrash).toBeUndefined();
  boots.needsLocal = true;
  await rebootAndReturn(rig);
  const first = rig.reporter.report?.bootCrash;
  expect(first).toEqual({ at: expect.any(String), cause: expect.stringContaining('the kubelet crashed 3 times') });
  await rebootAndReturn(rig);
  expect(rig.reporter.report?.bootCrash?.at).not.toBe(first?.at);
  boots.needsLocal = false;
  await rig.reboot();
  await rig.clock.advance(120_000);
  expect(rig.reporter.report).not.toHaveProperty('bootCrash');
});

test('a crash loop in the middle of a boot is not one at a boot', async () => {
  const { rig } = await good();
  rig.machine.behaviour = ({ source }) => (source === undefined ? {} : { exits: { afterMs: 10, code: 1 } });
  rig.machine.kill('SIGABRT');
  await rig.until('local', () => rig.starts.at(-1) === 'local');
  expect(rig.reporter.report).not.toHaveProperty('bootCrash');
});

test('another config that runs as it should ends the report', async () => {
  const { rig, boots } = await good();
  boots.needsLocal = true;
  await rebootAndReturn(rig);
  await rig.makeLastKnownGood('other', 'maxPods: 99');
  expect(rig.reporter.report).not.toHaveProperty('bootCrash');
});
