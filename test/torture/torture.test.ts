/** Random assignments and faults on nodes with real kubelets, for hours: `npm run torture`. A line for each round, then a summary. */
import { join } from 'node:path';
import { describe, onTestFailed, test } from 'vitest';
import { systemClock } from '../../src/clock.js';
import { has } from '../programs.js';
import { address, assets, kubeletBinary } from '../real-kubelet-rig.js';
import { cannotBoot } from '../systemd-machine.js';
import { cannotBoot as cannotBootVm } from '../vm/describe.js';
import { processNode } from './process-node.js';
import { Torture } from './round.js';
import { systemdNode } from './systemd-node.js';
import { vmNode } from './vm-node.js';

const { TORTURE_DRIVER: driver, TORTURE_HOURS: hours = '8', TORTURE_SEED: seed = '1' } = process.env;
const hoursMs = Number(hours) * 3_600_000;
const kubelet = kubeletBinary('KUBEBUILDER_ASSETS');
const drivers: Record<string, { create: typeof processNode; cannot(): string | undefined }> = {
  process: { create: processNode, cannot: () => undefined },
  systemd: { create: systemdNode, cannot: cannotBoot },
  vm: { create: vmNode, cannot: cannotBootVm },
};

function cannotRun(): string | undefined {
  if (driver === undefined) return 'only npm run torture runs it';
  if (!(driver in drivers)) return `no driver ${driver}; known: ${Object.keys(drivers).join(', ')}`;
  if (process.getuid?.() !== 0) return 'it needs root';
  if (address === undefined) return 'no address outside 127/8: NODE_IP';
  const binary = ['etcd', 'kube-apiserver', 'kubectl', 'kubelet'].find((name) => !has(join(assets, name)));
  if (assets === '' || binary !== undefined) return `there is no ${binary} in KUBEBUILDER_ASSETS`;
  const missing = ['containerd', 'curl'].find((program) => !has(program));
  return missing === undefined ? drivers[driver]!.cannot() : `${missing} is not installed`;
}

const reason = cannotRun();
const note = reason === undefined ? '' : ` (skipped: ${reason})`;
describe.skipIf(reason !== undefined)(`a node of driver ${driver ?? 'process'} under faults${note}`, () => {
  test('recovers after each round, and its status is true', { timeout: 2 * hoursMs + 3_600_000 }, async () => {
    const logDir = process.env.TORTURE_LOGS!;
    const startedMs = systemClock.monotonic();
    const spentMs = () => systemClock.monotonic() - startedMs;
    const counts = new Map<string, number>();
    const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
    const summary = (violations: number) => {
      const parts = [...counts].sort().map(([what, times]) => `  ${String(times).padStart(5)} ${what}`);
      const hoursRun = (spentMs() / 3_600_000).toFixed(2);
      console.log([`seed ${seed}: ${hoursRun} h, ${violations} violations; logs: ${logDir}`, ...parts].join('\n'));
    };
    onTestFailed(() => summary(1));
    const node = await drivers[driver!]!.create(kubelet!, logDir);
    console.log(node.description);
    const torture = new Torture(node);
    await torture.begin();
    for (let round = 1; spentMs() < hoursMs; round++) {
      const { actions, faults, runs, recoveredMs } = await torture.round(`${seed}-${round}`, (text) =>
        process.stdout.write(`${seed}-${round}: ${text}`),
      );
      console.log(`${runs} after ${(recoveredMs / 1000).toFixed(1)} s`);
      count('round');
      for (const action of actions) count(`assignment: ${action.replace(/ c-\d+/, '')}`);
      for (const fault of faults) count(`fault: ${fault.replace(/ at .*/, '')}`);
      count(`end: ${runs}`);
    }
    summary(0);
  });
});
