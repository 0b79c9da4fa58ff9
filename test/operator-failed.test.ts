/** relet set, undo and edit on nodes that reject or roll back a change, in a pipe. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OperatorCluster } from './operator-rig.js';

let cluster: OperatorCluster;

beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster?.close());

describe('a change that a node does not take', () => {
  test('is reported with its cause, exits with 1, and stops before the next node', async () => {
    for (const name of ['b-1', 'b-2', 'b-3'])
      await cluster.node(name, { labels: { pool: 'blue' }, does: name === 'b-2' ? 'refuse' : 'prove' });
    const { status, stdout, stderr } = await cluster.relet('set -l pool=blue maxPods=98 --yes');
    expect(status).toBe(1);
    expect(stdout).toMatch(
      /^b-2: rejected: the kubelet would accept the assigned config and then exit at startup\n {4}port 10250 is taken$/m,
    );
    expect(stdout).toMatch(/^Done \(1\): b-1\nFailed \(1\): b-2\nNot changed \(1\): b-3$/m);
    expect(stderr).toContain("'relet undo b-2' takes the change back");
    expect(stderr).toContain('b-3 was not changed. Correct the value first; the same command would now change b-3.');
    expect(await cluster.sourceOf('b-3')).toBeUndefined();
  });

  test('an old rejection is not taken for the result of a new config', async () => {
    const rejecting = await cluster.node('rejecting', { does: 'prove' });
    await cluster.relet('set rejecting maxPods=96 --yes');
    rejecting.does = 'refuse';
    expect((await cluster.relet('set rejecting maxPods=95 --yes')).status).toBe(1);
    rejecting.does = 'prove';
    const { status, stdout } = await cluster.relet('undo rejecting --yes');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^rejecting: active: relet-system/m);
  });

  test('a rollback is reported', async () => {
    const crashing = await cluster.node('crashing', { does: 'roll back' });
    const { status, stdout } = await cluster.relet('set crashing maxPods=97 --yes');
    expect(status).toBe(1);
    expect(stdout).toMatch(/^crashing: rolled back: the kubelet kept crashing with the assigned config/m);
    crashing.does = 'prove';
    expect((await cluster.relet('undo crashing --yes')).status).toBe(0);
  });

  test('a node that does nothing ends the wait with 3', async () => {
    await cluster.node('deaf', { does: 'deaf' });
    const { status, stdout } = await cluster.relet('set deaf maxPods=30 --yes --timeout 200ms');
    expect(status).toBe(3);
    expect(stdout).toContain("is 'relet kubelet'");
    expect(stdout).toMatch(/^deaf: not active in time/m);
  });
});

test('a rollback says what the node runs, and which change on trial is no longer used', async () => {
  const unlucky = await cluster.node('unlucky');
  await cluster.relet('set unlucky maxPods=150 --yes');
  const onTrial = await cluster.sourceOf('unlucky');
  unlucky.does = 'roll back';
  const { status, stdout } = await cluster.relet('set unlucky port=10269 --yes');
  expect(status).toBe(1);
  expect(stdout.replace(/\s+/g, ' ')).toContain(
    `The node runs its local config. relet-system/${onTrial}/kubelet, which was active before, is no longer used; 'relet undo unlucky' assigns it again.`,
  );
});

describe('on a node that runs something else than it is assigned', () => {
  test('set changes the assignment that failed', async () => {
    const failing = await cluster.node('failing', { does: 'roll back' });
    expect((await cluster.relet('set failing maxPods=7 port=10269 --yes')).status).toBe(1);
    const failed = await cluster.sourceOf('failing');
    failing.does = 'prove';
    const { status, stdout } = await cluster.relet('set failing maxPods=111 --yes');
    expect(stdout.replace(/\s+/g, ' ')).toMatch(
      /Warning: the kubelet of failing rolled back the assigned config \(.+\), and this change keeps what it sets: port: 10269\. To drop it: relet set failing port- port/,
    );
    expect(status).toBe(0);
    expect(await cluster.sourceOf('failing')).not.toBe(failed);
  });

  test('undo to a config that failed before warns of it, and is not recommended', async () => {
    const twice = await cluster.node('twice', { does: 'roll back' });
    await cluster.relet('set twice port=10269 --yes');
    const failed = `relet-system/${await cluster.sourceOf('twice')}/kubelet`;
    const { stderr } = await cluster.relet('set twice maxPods=111 --yes');
    const hint = `'relet reset twice' returns to its local config ('relet undo twice' would assign ${failed} again, which was rolled back before)`;
    expect(stderr).toContain(hint);
    expect((await cluster.relet('describe twice')).stdout.replace(/\s+/g, ' ')).toContain(hint);
    twice.does = 'prove';
    const { stdout } = await cluster.relet('undo twice --dry-run=client');
    expect(stdout.replace(/\s+/g, ' ')).toMatch(/Warning: twice rolled this config back before \(.+\); 'relet reset/);
  });

  test('the difference to what runs is noted as such', async () => {
    await cluster.node('late', { does: 'deaf' }).then((late) => late.report({}));
    await cluster.relet('set late maxPods=70 --yes --no-wait');
    const { stdout } = await cluster.relet('set late maxPods=71 --dry-run');
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      'Note: late: it does not run its assigned config yet; the difference',
    );
  });

  test('set of what failed is not reported as well', async () => {
    await cluster.node('stubborn', { does: 'refuse' });
    await cluster.relet('set stubborn maxPods=9 --yes');
    const { status, stdout } = await cluster.relet('set stubborn maxPods=9 --yes');
    expect(status).toBe(1);
    expect(stdout).toMatch(/^stubborn: is assigned that already, and it was rejected; see 'relet describe stubborn'/m);
  });

  test('edit opens the config that failed, with the error', async () => {
    await cluster.node('mistaken', { does: 'refuse' });
    await cluster.relet('set mistaken maxPods=8 port=10269 --yes');
    const copy = join(cluster.dir, 'mistaken.yaml');
    await cluster.relet('edit mistaken --yes', { env: { KUBE_EDITOR: `sh -c 'cp "$0" ${copy}'` } });
    const opened = readFileSync(copy, 'utf8');
    expect(opened).toMatch(/^# relet: What mistaken \(kubelet v1.32.1\) is assigned; it was rejected\.$/m);
    // The cause names the field port.
    expect(opened).toMatch(/^ {2}maxPods: 8\n# relet: error: rejected: .*: port 10250 is taken\n {2}port: 10269$/m);
  });
});
