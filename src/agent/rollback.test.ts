/** Rollback on a host that gives no answer any more, on the whole agent in memory. */
import { expect, test } from 'vitest';
import { bootFlowRig, createFlowRig, type FlowRig, quietUnit } from '../../test/rig/memory-node.js';
import type { KubeletUnit } from './drivers/driver.js';

/** A good config is kept, and one that never gets healthy is on trial. */
async function onTrial(line = '# never healthy', unit?: KubeletUnit): Promise<FlowRig> {
  const rig = await createFlowRig();
  rig.unit = unit;
  rig.boot();
  await rig.makeLastKnownGood('good');
  await rig.assign('bad', line);
  await rig.until('bad is started', () => rig.starts.includes('bad'));
  return rig;
}

test('a config that strangles the host is rolled back although no program on the host and no service manager answers', async () => {
  const rig = await onTrial();
  rig.strangle();
  await rig.clock.advance(70_000);
  expect(rig.starts).toEqual(['local', 'good', 'bad', 'good']);
});

test('the host is asked to return to the kept config before anything else, and is asked again while it has not', async () => {
  const calls: string[] = [];
  const rollBack: KubeletUnit['rollBack'] = async (to) => {
    calls.push(`to ${to?.name ?? 'local'}`);
    return true;
  };
  const rig = await onTrial('# hangs', { ...quietUnit, rollBack });
  const logged = (line: string) => rig.logLines.some((logged) => logged.includes(line));
  rig.strangle();
  await rig.until('handed over', () => calls.length === 1);
  expect(calls).toEqual(['to good']);
  await rig.clock.advance(31_000);
  expect(calls).toEqual(['to good', 'to good']);
  expect(logged('config failed, rolling back')).toBe(true);
  expect(logged('config rolled back')).toBe(false);
  expect(logged('rollback not complete, trying again')).toBe(true);
  expect(rig.reporter.report?.notices).toEqual([
    { reason: 'RollbackPending', message: 'not complete after 30 s, relet asks systemd again' },
  ]);
  await rig.until('another config runs', () => rig.starts.at(-1) === 'good');
  expect(logged('config rolled back')).toBe(true);
  expect(rig.reporter.report?.notices).toBeUndefined();
});

test('a rollback is logged and sent as an event only once another config runs', async () => {
  const rig = await onTrial();
  await rig.until('rolled back', () => rig.starts.at(-1) === 'good');
  const order = rig.logLines.flatMap((line) => line.match(/config failed, rolling back|config rolled back/)?.[0] ?? []);
  expect(order).toEqual(['config failed, rolling back', 'config rolled back']);
  await rig.until('an event', async () =>
    (await rig.events()).some(({ reason }) => reason === 'KubeletConfigRolledBack'),
  );
  expect(rig.reporter.report?.notices).toBeUndefined();
});

test('a config that validation rejected is not started by the rollback of the last known good', async () => {
  const rig = await bootFlowRig();
  await rig.makeLastKnownGood('good');
  await rig.assign('invalid', 'kubeAPIQPS: -1');
  await rig.untilStatus({ assigned: 'invalid', active: 'good' });
  rig.machine.behaviour = () => ({ exits: { afterMs: 10, code: 1 } });
  rig.machine.kill('SIGABRT');
  await rig.clock.advance(120_000);
  expect(rig.starts).toContain('local');
  expect(rig.starts).not.toContain('invalid');
});
