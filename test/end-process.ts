/** Ends a process that a test started: with SIGTERM, and with SIGKILL when it does not exit. */
import type { ChildProcess } from 'node:child_process';

const graceMs = 20_000;

export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const hard = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await gone;
  clearTimeout(hard);
}
