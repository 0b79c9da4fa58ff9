/**
 * `relet agent --export DIR`: moves a host from attached mode to `relet kubelet`. The kubelet keeps running until its unit is
 * restarted.
 */
import { resolve } from 'node:path';
import { takeAgentLock } from '../../agent/drivers/systemd/agent-lock.js';
import { detach } from '../../agent/drivers/systemd/detach.js';
import { hostLayout, lockPath } from '../../agent/drivers/systemd/host-layout.js';
import { OwnFiles } from '../../agent/drivers/systemd/own-files.js';
import { copyRecords } from '../../agent/state/copy-records.js';
import { openDirectory } from '../../agent/state/directory.js';
import { CannotRun } from '../../cannot-run.js';
import { systemProcesses } from '../../proc.js';
import { writeOut } from '../terminal/terminal.js';
import type { AttachInput } from './attached-host.js';
import { embeddingProgram } from './embedded-kubelet.js';

export async function exportRecords({ flags, systemd, log }: AttachInput, exportTo: string): Promise<number> {
  const { unit, dir } = flags;
  const program = embeddingProgram(await systemd.unit(unit));
  if (program !== undefined)
    throw new CannotRun(
      `'relet kubelet' cannot be in front of the kubelet of ${program}; 'relet detach' removes relet`,
    );
  const to = resolve(exportTo);
  const lock = await takeAgentLock(lockPath);
  try {
    const { lock: target } = openDirectory({ dir: to, host: systemProcesses, log });
    try {
      copyRecords({ from: dir, to, replace: true });
    } finally {
      target.release();
    }
    await detach(systemd, new OwnFiles(hostLayout({ unit, dir }), ''));
  } finally {
    await lock.release();
  }
  writeOut(`The records of ${dir} are in ${to}, and relet's files are off ${unit}.
The next start of ${unit} is that of the unit as it is: with 'relet kubelet
--dynamic-config-dir=${to} …' in it, it runs what it ran.
`);
  return 0;
}
