/** The node of test/vm: a virtual machine with cgroup v2, whose clock jumps and whose host a config can starve. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Kubelet } from '../real-kubelet-rig.js';
import { localConfig, VmNode } from '../vm/node.js';
import { images } from '../vm/virtual-machine.js';
import { apiFaults, type BeginFault, faultInside, linesOf, machineFaults, type TorturedNode } from './tortured-node.js';

export async function vmNode({ version }: Kubelet, logDir: string): Promise<TorturedNode> {
  const node = await VmNode.create(images[0]!);
  const { machine, cluster } = node;
  onTestFinished(() => node.close());
  onTestFinished(async () => writeFileSync(join(logDir, 'journal.log'), (await machine.run('journalctl')).stdout));
  const inside = (line: string) => machine.sh(line);
  const boot = (how: 'reboot' | 'cutPower'): BeginFault => {
    return async () => {
      await machine[how]();
      return () => {};
    };
  };
  return {
    description: `${version}, relet agent beside it, in a virtual machine of ${images[0]}`,
    cluster,
    config: (fields) => localConfig(...linesOf(fields)),
    badFields: {
      'crash at start': { evictionHard: { 'memory.available': 'bogus' } },
      'port taken': { port: 22 },
      'starved host': {
        enforceNodeAllocatable: ['pods', 'system-reserved'],
        systemReservedCgroup: '/system.slice',
        systemReserved: { memory: '30Mi' },
      },
    },
    faults: {
      ...apiFaults(cluster),
      ...machineFaults(inside),
      'machine rebooted': boot('reboot'),
      'machine power cut': boot('cutPower'),
      'clock two hours forward': faultInside(inside, "date -s '2 hours'", "date -s '-2 hours'"),
      'clock two hours back': faultInside(inside, "date -s '-2 hours'", "date -s '2 hours'"),
    },
    runs: async () => {
      const maxPods = await node.runs();
      if (maxPods === undefined) throw new Error('no kubelet is healthy');
      return maxPods;
    },
  };
}
