/** An API server that hangs: commands that follow it report since when, and that it answers again, and then continue. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodeConfigSets } from '../src/api/node-config-set.js';
import { define } from './definitions.js';
import { OperatorCluster } from './operator-rig.js';
import { type Program, startRelet } from './program.js';

let cluster: OperatorCluster;
const commands: Program[] = [];

beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(async () => {
  await Promise.all(commands.map((command) => command.end()));
  await cluster?.close();
});

function follow(...args: string[]): Program {
  const command = startRelet(args, { env: cluster.environment(), cwd: cluster.dir });
  commands.push(command);
  return command;
}

test('get -w, wait and rollout status -w report since when a stopped API server has not answered, and continue when it answers', async () => {
  const node = await cluster.node('alpha', { does: 'deaf' });
  const get = follow('get', '-w');
  await get.printed(/^alpha /m);
  await cluster.relet('set alpha maxPods=50 --yes --no-wait');
  await get.printed(/^alpha .* kubelet-config-/m);
  const wait = follow('wait', 'alpha', '--for=active', '--timeout=5m', '-v', '6');
  await wait.printed(/watch=true.* 200 in/);
  await define(cluster.admin, 'nodeconfigsets');
  const spec = { selector: { matchLabels: { pool: 'blue' } }, config: { overlay: { maxPods: 77 } } };
  const metadata = { name: 'blue' };
  const kind = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfigSet' };
  await cluster.admin.create(nodeConfigSets, {}, { ...kind, metadata, spec });
  const status = follow('rollout', 'status', 'blue', '-w');
  await status.printed(/^blue: not seen by the controller yet/m);
  cluster.server.kill('SIGSTOP');
  const silent =
    /relet: the API server has not answered since \d\d:\d\d:\d\d \(\d+s\); everything shown here is as old/;
  try {
    await Promise.all([get, wait, status].map((command) => command.printed(silent)));
  } finally {
    cluster.server.kill('SIGCONT');
  }
  const answers = /relet: the API server answers again, after \d+s without an answer/;
  await Promise.all([get, wait, status].map((command) => command.printed(answers)));
  node.does = 'prove';
  await cluster.relet('set alpha maxPods=51 --yes --no-wait');
  await Promise.all([get.printed(/^alpha .* active/m), wait.printed(/node\/alpha condition met/)]);
  expect(get.output.match(/has not answered/g)).toHaveLength(1);
});
