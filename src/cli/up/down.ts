/** `relet down`: stops the system that `relet up` runs in a directory. Its data stays on disk. */

import { realFiles } from '../../atomic-file.js';
import { CannotRun } from '../../cannot-run.js';
import { systemClock } from '../../clock.js';
import { defaultDataDir, findSystemDirectory } from '../../lab/up/directory.js';
import { stopLeftovers } from '../../lab/up/leftovers.js';
import { stopProcess, systemProcesses } from '../../proc.js';
import { lockHolder } from '../../process-lock.js';
import { runVerb, verb } from '../command-line.js';
import { openTerminal } from '../terminal/terminal.js';

/** Longer than any process that it stops may take. */
const graceMs = 60_000;

export async function run(args: string[]): Promise<void> {
  const command = verb('relet down', "Stop what 'relet up' runs; 'relet up' then resumes it.")
    .option('--data-dir <DIR>', "the directory of 'relet up'", defaultDataDir())
    .action(({ dataDir }: { dataDir: string }) => down(dataDir));
  await runVerb(command, args);
}

async function down(dataDir: string): Promise<void> {
  const { print } = openTerminal();
  const directory = findSystemDirectory(dataDir);
  if (directory === undefined)
    throw new CannotRun(`there is no cluster in ${dataDir}: give the directory of 'relet up' with --data-dir`);
  const holder = lockHolder({ path: directory.lock, host: systemProcesses, files: realFiles });
  if (holder !== undefined) {
    mayEnd(holder.pid);
    await stopProcess(holder, { graceMs, clock: systemClock });
  }
  const left = await stopLeftovers(directory.dir, systemClock);
  const wasUp = holder !== undefined || left > 0;
  print(wasUp ? `stopped the cluster in ${directory.dir}` : `nothing is running in ${directory.dir}`);
}

/** Otherwise this would wait for a process of another user until the grace period is over. */
function mayEnd(pid: number): void {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPERM')
      throw new CannotRun(`it was started by another user (pid ${pid}): stop it as that user, or as root`);
  }
}
