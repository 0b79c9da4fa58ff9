/** `relet down`: stops what `relet up` runs in a directory; everything stays on disk. */

import { lockHolder } from '../../agent/disk/lock.js';
import { createHost, stopProcess } from '../../agent/host/host.js';
import { realFiles } from '../../atomic-file.js';
import { systemClock } from '../../clock.js';
import { CannotRun } from '../cannot-run.js';
import { runVerb, verb } from '../command-line.js';
import { openTerminal } from '../terminal.js';
import { defaultDataDir, findSystemDirectory } from './directory.js';
import { stopLeftovers } from './leftovers.js';

/** Longer than anything it ends may take to end. */
const graceMs = 60_000;

export async function run(args: string[]): Promise<void> {
  const command = verb('relet down', "Stop what 'relet up' runs; 'relet up' then goes on where it was.")
    .option('--data-dir <DIR>', "the directory of 'relet up'", defaultDataDir())
    .action(({ dataDir }: { dataDir: string }) => down(dataDir));
  await runVerb(command, args);
}

async function down(dataDir: string): Promise<void> {
  const { print } = openTerminal();
  const directory = findSystemDirectory(dataDir);
  if (directory === undefined)
    throw new CannotRun(`there is no system in ${dataDir}: give the directory of 'relet up' with --data-dir`);
  const host = createHost({});
  const holder = lockHolder({ path: directory.lock, host, files: realFiles });
  if (holder !== undefined) {
    mayEnd(holder.pid);
    await stopProcess(host, holder, { graceMs, clock: systemClock });
  }
  const left = await stopLeftovers(directory.dir, systemClock);
  print(
    holder === undefined && left === 0 ? `nothing runs in ${directory.dir}` : `stopped what ran in ${directory.dir}`,
  );
}

/** Without this, another user's process would be waited for in vain. */
function mayEnd(pid: number): void {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPERM')
      throw new CannotRun(`it was started by another user (pid ${pid}): stop it as that user, or as root`);
  }
}
