/**
 * Power cuts at the write points of a change, on machines that boot: the machine resets itself as soon as an event of the point is seen,
 * and loses what it had not written. VM_POWER_CUTS says how many cuts, or from which to which as in 5-8, and VM_SEED in which order the
 * points come; a row for each is in the output.
 */
import { expect, test } from 'vitest';
import { type SeededRandom, seededRandom } from '../../src/rehearsal/simulation/seeded-random.js';
import { describeInMachines } from './describe.js';
import type { VmNode } from './node.js';
import { slowMs } from './virtual-machine.js';

const given = process.env.VM_POWER_CUTS ?? '4';
const [from, to] = given.includes('-') ? given.split('-').map(Number) : [1, Number(given)];
const seed = process.env.VM_SEED ?? '1';

type Change = 'attach' | 'a config that runs' | 'a config that crashes' | 'back to local';
type Point = [change: Change, point: string, event: string];

/** Events are those of inotifywait, and lines of the journal. */
const points: Point[] = [
  ['attach', 'lock of the agent: made', 'CREATE /run/relet/agent.sock'],
  ['attach', 'records: directory made', 'CREATE,ISDIR /var/lib/relet/meta'],
  ['attach', 'script of the host: written', 'CLOSE_WRITE,CLOSE /var/lib/relet/tmp_host.sh'],
  ['attach', 'script of the host: renamed', 'MOVED_TO /var/lib/relet/host.sh'],
  ['attach', 'unit of the rollback in /run: renamed', 'MOVED_TO /run/systemd/system/relet-rollback@'],
  ['attach', 'unit of the fallback in /etc: renamed', 'MOVED_TO /etc/systemd/system/relet-fallback'],
  ['a config that runs', 'checkpoint: directory renamed', 'MOVED_TO,ISDIR /var/lib/relet/checkpoints/'],
  ['a config that runs', 'record assigned: written', 'CLOSE_WRITE,CLOSE /var/lib/relet/meta/tmp_assigned'],
  ['a config that runs', 'record assigned: renamed', 'MOVED_TO /var/lib/relet/meta/assigned'],
  ['a config that runs', 'config for the unit: directory made', 'CREATE,ISDIR /var/lib/relet/configs/'],
  ['a config that runs', 'record unit: renamed', 'MOVED_TO /var/lib/relet/meta/unit'],
  ['a config that runs', 'deadline in /run: renamed', 'MOVED_TO /run/systemd/system/relet-deadline.timer'],
  [
    'a config that runs',
    'trial drop-in in /run: renamed',
    'MOVED_TO /run/systemd/system/kubelet.service.d/zz-relet-90',
  ],
  ['a config that runs', 'daemon-reload: begun', '^Reloading\\.'],
  ['a config that runs', 'restart: kubelet stops', '^Stopping kubelet.service'],
  ['a config that runs', 'limits of the host: noted', 'MOVED_TO /run/relet/limits'],
  ['a config that runs', 'restart: kubelet started', '^Started kubelet.service'],
  ['a config that runs', 'deadline in /run: removed', 'DELETE /run/systemd/system/relet-deadline.timer'],
  ['a config that runs', 'healthy: mark confirmed', 'MOVED_TO /run/relet/confirmed'],
  ['a config that runs', 'record last-known-good: written', 'CLOSE_WRITE,CLOSE /var/lib/relet/meta/tmp_last-known'],
  ['a config that runs', 'record last-known-good: renamed', 'MOVED_TO /var/lib/relet/meta/last-known-good'],
  [
    'a config that runs',
    'good drop-in in /etc: written',
    'CLOSE_WRITE,CLOSE /etc/systemd/system/kubelet.service.d/tmp_',
  ],
  ['a config that runs', 'good drop-in in /etc: renamed', 'MOVED_TO /etc/systemd/system/kubelet.service.d/zz-relet-50'],
  ['a config that runs', 'trial drop-in: removed', 'DELETE /run/systemd/system/kubelet.service.d/zz-relet-90'],
  ['a config that runs', 'kept: daemon-reload done', 'kept for the next start'],
  ['a config that crashes', 'first crash', '^kubelet.service: Main process exited'],
  ['a config that crashes', 'exit counted', 'MOVED_TO /run/relet/count'],
  ['a config that crashes', 'rollback begun', '^Starting relet-rollback'],
  [
    'a config that crashes',
    'rollback: trial drop-in removed',
    'DELETE /run/systemd/system/kubelet.service.d/zz-relet-90',
  ],
  ['a config that crashes', 'rollback finished', '^Finished relet-rollback'],
  ['a config that crashes', 'reported: rolled back', 'config rolled back'],
  ['back to local', 'record assigned: renamed', 'MOVED_TO /var/lib/relet/meta/assigned'],
  ['back to local', 'restart: kubelet started', '^Started kubelet.service'],
  ['back to local', 'good drop-in in /etc: removed', 'DELETE /etc/systemd/system/kubelet.service.d/zz-relet-50'],
  ['back to local', 'kept: daemon-reload done', 'kept for the next start'],
];

/** Every point once before one comes again, then up to a second after its event. */
function* drawn(random: SeededRandom): Generator<{ point: Point; delayMs: number }> {
  for (let round = 0; ; round++)
    for (const left = [...points]; left.length > 0; ) {
      const point = random.pick(left);
      left.splice(left.indexOf(point), 1);
      yield { point, delayMs: round === 0 ? 0 : 100 * random.pick([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) };
    }
}

const local = 110;
const crash = 'evictionHard: {memory.available: bogus}';

describeInMachines(`power cuts, seed ${seed}`, (created) => {
  test(`cuts ${from} to ${to} leave a node that runs what it should, and says so`, {
    timeout: to! * slowMs,
  }, async () => {
    const node = created();
    const draw = drawn(seededRandom(seed));
    let kept = local;
    const failures: string[] = [];
    for (let count = 1; count <= to!; count++) {
      const { point, delayMs } = draw.next().value!;
      if (count < from!) continue;
      if (point[0] === 'attach') kept = await detach(node);
      else if (kept === local) kept = await keep(node, 20);
      const next = point[0] === 'back to local' ? local : 20 + count;
      const row = (words: string[]) => `| ${[count, ...point.slice(0, 2), `${delayMs} ms`, ...words].join(' | ')} |`;
      try {
        const first = await cut(node, point, { next, delayMs });
        const ends = point[0] === 'a config that crashes' ? kept : next;
        await untilEnded(node, point[0], ends);
        const what = (maxPods: number) => (maxPods === kept ? 'last known good' : maxPods === next ? 'new' : 'WRONG');
        console.log(row([what(first), what(ends)]));
        if (what(first) === 'WRONG') failures.push(row([`booted with ${first}`]));
        kept = ends;
      } catch (error) {
        failures.push(row([`${error}`]));
        console.log(failures.at(-1));
      }
    }
    expect(failures).toEqual([]);
  });
});

/** The node runs the config with which this ends, and the status is true. */
async function untilEnded(node: VmNode, change: Change, ends: number): Promise<void> {
  const reasons = {
    attach: 'ConfigActive',
    'a config that runs': 'ConfigActive',
    'a config that crashes': 'CrashLoop',
    'back to local': 'LocalConfigActive',
  };
  await node.untilReason(reasons[change]);
  await node.untilRuns(ends);
  if (ends === local) await node.untilKept();
  else await node.untilLastKnownGood(ends);
}

async function keep(node: VmNode, maxPods: number): Promise<number> {
  await node.assign(maxPods);
  await node.untilRuns(maxPods);
  await node.untilLastKnownGood(maxPods);
  return maxPods;
}

/** As on a host that relet has never been on. */
async function detach(node: VmNode): Promise<number> {
  await node.assignLocal();
  await node.untilRuns(local);
  await node.machine.sh('systemctl stop relet-agent && relet detach --host && rm -rf /var/lib/relet /run/relet');
  return local;
}

/** Returns maxPods of the first kubelet after the cut that logs its config. */
async function cut(node: VmNode, [change, , event]: Point, how: { next: number; delayMs: number }): Promise<number> {
  const { machine } = node;
  const before = await machine.bootId();
  await machine.sh(
    `systemd-run --quiet --unit=cut /opt/vm/cut '${event}' ${how.delayMs / 1000} && until [ -e /run/cut ]; do sleep 0.1; done`,
  );
  if (how.next === local) await node.assignLocal();
  else await node.force(how.next, ...(change === 'a config that crashes' ? [crash] : []));
  if (change === 'attach') await machine.sh('systemctl start --no-block relet-agent');
  await machine.untilBooted(before);
  // A kubelet logs its config some seconds after its start; before that the agent may have begun the trial again.
  const log = `journalctl -q -b -u kubelet -o cat | sed -n 's/^\\s*maxPods: //p' | head -n 1`;
  return machine.until('a kubelet was started', async () => Number(await machine.sh(log)) || false);
}
