/**
 * A rollout to nodes that are real processes, and its rehearsal with the same failure: the same nodes in the same waves and order, and
 * the same node halts it. Six nodes; `npm run test:rehearsal` has thirty.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NodeConfigSet, nodeConfigSets } from '../src/api/node-config-set.js';
import { watchLoop } from '../src/kube/watch.js';
import { type Lab, startLab } from '../src/lab/index.js';
import type { Rehearsal } from '../src/rehearsal/report.js';
import { assess } from '../src/rollout/assessment.js';
import { clientFor } from './cluster-rig.js';
import { relet } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';

const count = Number(process.env.RELET_REHEARSAL_NODES ?? 6);
const root = join(import.meta.dirname, '..');
const names = Array.from({ length: count }, (_, index) => `node-${index + 1}`).sort();
const waves = [1, Math.ceil(count / 4), Math.ceil(count / 2), count];
/** The last of its wave: all others of the wave are assigned before it, however fast they are. */
const failing = names[waves[2]! - 1]!;
const overlay = { maxPods: 66 };
const set = {
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: { name: 'all' },
  spec: {
    selector: {},
    config: { overlay },
    strategy: { waves: waves.map((nodes) => ({ nodes })), maxUnavailable: 2, maxInTrial: '25%' },
  },
};

let lab: Lab;
const dir = temporaryDir();

/** relet, with a kubelet on one node that exits at its start with the new config. */
function failingRelet(): string {
  const flag = `--hollow-fail-if=maxPods=${overlay.maxPods}:exit-at-start`;
  const program = `
    if (process.argv.includes('--hostname-override=${failing}')) process.argv.push('${flag}');
    require(${JSON.stringify(join(root, 'bin', 'relet.cjs'))});`;
  mkdirSync(join(dir, 'bin'));
  writeFileSync(join(dir, 'bin', 'relet.cjs'), program);
  symlinkSync(join(root, 'deploy'), join(dir, 'deploy'));
  return dir;
}

beforeAll(async () => {
  lab = await startLab({ nodes: count, trialDuration: '2s', packageDir: failingRelet() });
});
afterAll(async () => {
  await lab?.stop();
});

interface Seen {
  reason: string;
  failed: string[];
  /** `WAVE NODE`, as the set decided. */
  order: string[];
}

async function rollOut(): Promise<Seen> {
  const client = clientFor(lab.kubeconfig);
  const order: string[] = [];
  let last: NodeConfigSet | undefined;
  const over = new AbortController();
  const see = (seen: NodeConfigSet | undefined) => {
    last = seen;
    const { intent } = seen?.status ?? {};
    for (const name of intent?.names ?? []) {
      const entry = `${intent!.wave} ${name}`;
      if (!order.includes(entry)) order.push(entry);
    }
    if (seen && ['complete', 'stopped'].includes(assess(seen).kind)) over.abort();
  };
  await client.create(nodeConfigSets, {}, set);
  await watchLoop<NodeConfigSet>(client, {
    type: nodeConfigSets,
    name: 'all',
    signal: over.signal,
    onList: ([seen]) => see(seen),
    onChange: (_type, seen) => see(seen),
    onFailure: () => {},
  });
  client.close();
  const assessment = assess(last!);
  const failed = (last!.status?.failedSamples ?? []).map(({ name }) => name);
  return { reason: 'reason' in assessment ? assessment.reason : '', failed, order };
}

describe(`a rollout to ${count} nodes that are processes, and its rehearsal`, () => {
  test('change the same nodes in the same waves and order, and the same node halts them', async () => {
    const words = [
      '-o',
      'json',
      '--progress',
      'none',
      '--trial',
      '2s',
      '--fail',
      failing,
      '--kubeconfig',
      lab.kubeconfig,
    ];
    const { stdout, stderr } = relet(['rollout', 'rehearse', '-', ...words], { stdin: JSON.stringify(set) });
    expect(stderr).toBe('');
    const { reason, failed, story }: Rehearsal = JSON.parse(stdout);
    const rehearsed: Seen = {
      reason,
      failed: failed.map(({ name }) => name),
      order: story.map(({ wave, name }) => `${wave} ${name}`),
    };
    expect(rehearsed).toMatchObject({ reason: 'Halted', failed: [failing] });
    expect(rehearsed.order).toHaveLength(waves[2]!);
    expect(await rollOut()).toEqual(rehearsed);
  }, 600_000);
});
