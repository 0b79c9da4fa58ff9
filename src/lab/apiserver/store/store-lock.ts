/** The lock of a store's directory: one open store at a time, also within one process. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { realFiles } from '../../../atomic-file.js';
import { bootId, identify, type ProcessIdentity } from '../../../proc.js';
import { type Lock, Locked, lockHolder, type Processes, takeLock } from '../../../process-lock.js';

/** Throws Locked when the store is open. */
export function lockStore(directory: string): Lock {
  const options = { path: join(directory, 'lock'), host, files: realFiles };
  const holder = lockHolder(options);
  if (holder !== undefined) throw new Locked(options.path, holder);
  return takeLock(options);
}

/** A system without /proc identifies a process by its pid alone. */
const host: Processes = existsSync('/proc/self/stat')
  ? { bootId, identify }
  : { bootId: () => '', identify: identifyByPid };

function identifyByPid(pid: number): ProcessIdentity | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs as another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return undefined;
  }
  return { pid, startTime: '' };
}
