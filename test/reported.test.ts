/** On the host, `reported` is the time at which the API took the report, and the log claims no connection that is not there. */
import { expect, test } from 'vitest';
import { readHostStatus } from '../src/agent/host-status.js';
import { realFiles } from '../src/atomic-file.js';
import { systemProcesses } from '../src/proc.js';
import { createClusterRig } from './cluster-rig.js';
import { createRig, type Rig } from './rig/process-node.js';

const shown = (rig: Rig) =>
  readHostStatus(rig.dir, rig.state, { host: systemProcesses, files: realFiles, clock: rig.clock });

test('a node without an API has something to report and has never reported it', async () => {
  const rig = await createRig();
  rig.boot();
  await rig.until('a report', () => shown(rig).changedAt !== undefined);
  expect(shown(rig).reportedAt).toBeUndefined();
});

test('the API goes away: what changes after that is not called reported', async () => {
  const rig = await createClusterRig();
  await rig.node.until('reported', () => (shown(rig.node).reportedAt ?? '') >= shown(rig.node).changedAt!);
  const { reportedAt } = shown(rig.node);
  await rig.server.close();
  rig.node.clock.advance(10_000);
  await rig.node.request({ verb: 'hold', why: 'the API is away' });
  await rig.node.until('held', () => shown(rig.node).changedAt! > reportedAt!);
  expect(shown(rig.node).reportedAt).toBe(reportedAt);
});

test('a kubeconfig whose server does not listen is loaded, and not called connected', async () => {
  const rig = await createClusterRig({ boot: false });
  await rig.server.close();
  rig.node.boot();
  await rig.node.until('failed', () => rig.node.log().includes('will be tried again'));
  expect(rig.node.log()).toContain('kubeconfig loaded');
  expect(rig.node.log()).not.toMatch(/INFO {2}connected /);
});
