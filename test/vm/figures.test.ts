/**
 * Times of a change and of a rollback beside `systemctl restart kubelet` alone in the same machine, for docs/compatibility.md. Printed,
 * not asserted: `VM_FIGURES=5 npm run test:vm` takes five of each.
 */
import { expect, test } from 'vitest';
import { describeInMachines } from './describe.js';
import type { VmNode } from './node.js';

const rounds = Number(process.env.VM_FIGURES ?? 0);
const median = (list: number[]) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]!;

/** Seconds from `begin` to a healthy kubelet, printed by the machine. */
const measured = (begin: string, isOver = 'true') => `now() { cut -d ' ' -f 1 /proc/uptime; }
${begin}
until ${isOver} && /opt/vm/runs >/dev/null 2>&1; do sleep 0.2; done
echo "$start $(now)" | awk '{ print $2 - $1 }'`;

const restart = measured('start=$(now); systemctl restart kubelet');
/** From the stop of the old kubelet, through three crashes, to a healthy kubelet with the old config. */
const rollback = measured(
  'old=$(pidof kubelet); while [ -e /proc/$old ]; do sleep 0.1; done; start=$(now); until [ -e /run/relet/rolled-back ]; do sleep 0.2; done',
);

describeInMachines('figures', (created) => {
  test.skipIf(rounds === 0)('a change and a rollback, beside a restart', async () => {
    const node = created();
    await change(node, 40);
    const times = { restart: [] as number[], change: [] as number[], rollback: [] as number[] };
    for (let round = 1; round <= rounds; round++) {
      times.restart.push(Number(await node.machine.sh(restart)));
      times.change.push(await change(node, 40 + round));
      const seconds = node.machine.sh(rollback);
      await node.force(99, 'evictionHard: {memory.available: bogus}');
      times.rollback.push(Number(await seconds));
      await node.untilRuns(40 + round);
    }
    const restartS = median(times.restart);
    for (const [what, list] of Object.entries(times)) {
      const all = list.map((seconds) => seconds.toFixed(1)).join(', ');
      console.log(
        `${what}: median ${median(list).toFixed(1)} s (${all}), ${(median(list) / restartS).toFixed(2)} restarts`,
      );
    }
    expect(times.rollback).toHaveLength(rounds);
  });
});

/** Seconds from the assignment until the status has it as active. */
async function change(node: VmNode, maxPods: number): Promise<number> {
  const from = Date.now();
  await node.assign(maxPods);
  await node.until('active', async () => (await node.status()).config?.active?.configMap?.name === `pods-${maxPods}`);
  const seconds = (Date.now() - from) / 1000;
  await node.untilLastKnownGood(maxPods);
  return seconds;
}
