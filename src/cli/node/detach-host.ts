/**
 * `relet detach --host`: removes relet from this host without the API. A running agent is requested to do it; otherwise this process is
 * the agent while it lasts: the local config is restored as a change like any other.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { answers } from '../../agent/drivers/systemd/agent-lock.js';
import { lockPath } from '../../agent/drivers/systemd/host-layout.js';
import { detachRecord } from '../../agent/requests.js';
import { NodeState } from '../../agent/state/node-state.js';
import { CannotRun } from '../../cannot-run.js';
import { systemClock } from '../../clock.js';
import { silentLog } from '../../log.js';
import { quietly } from '../../proc.js';
import { writeOut } from '../terminal/terminal.js';
import { detachOnce } from './agent.js';
import { readAgentFlags } from './agent-flags.js';
import { earlySignals } from './early-signals.js';
import { nodeDirs } from './node-dirs.js';
import { order, who } from './node-verbs.js';

export interface DetachHostOptions {
  unit?: string;
  all?: boolean;
  selector?: string;
}

/** As long as a trial of the local config may take, and more. */
const patienceMs = 180_000;
const lookEveryMs = 500;

export async function detachHost(
  names: string[],
  { unit = 'kubelet.service', all, selector }: DetachHostOptions,
): Promise<void> {
  const dir = nodeDirs[0];
  if (names.length > 0 || all || selector !== undefined)
    throw new CannotRun('--host is about this host: name no nodes with it');
  if (await answers(lockPath)) await askAgent(dir);
  else {
    const flags = readAgentFlags([`--unit=${unit}`, `--dir=${dir}`, '--metrics-bind-address=0'])!;
    const code = await detachOnce(flags, earlySignals);
    if (code !== 0)
      throw new CannotRun(
        `the kubelet of ${unit} does not run with its local config, so it keeps the one that it has; correct the local config and try again`,
      );
    // The records are no longer needed. In a pod the directory itself is a mount.
    for (const name of quietly(() => readdirSync(dir)) ?? []) rmSync(join(dir, name), { recursive: true, force: true });
    quietly(() => rmSync(dir, { recursive: true }));
  }
  writeOut(`detached: relet's files are removed from this host, and ${unit} runs with its local config\n`);
}

async function askAgent(dir: string): Promise<void> {
  await order({ dynamicConfigDir: dir }, { verb: 'detach', ...who() });
  const deadline = systemClock.monotonic() + patienceMs;
  while (new NodeState(dir, silentLog).read(detachRecord)?.done === undefined) {
    if (systemClock.monotonic() > deadline)
      throw new CannotRun(
        `the agent has not detached this host within ${patienceMs / 1000} s: 'relet node status' shows why; it leaves as soon as the kubelet is healthy with its local config`,
      );
    await systemClock.sleep(lookEveryMs);
  }
}
