/** Default directories of relet's records on a host. */
import { join } from 'node:path';
import type { Files } from '../../atomic-file.js';
import { lockHolder, type Processes } from '../../process-lock.js';

/** Directories of `relet agent` and of `relet kubelet`. */
export const nodeDirs = ['/var/lib/relet', '/var/lib/kubelet/dynamic-config'] as const;

/** A node that moved from the one to the other has both: the one counts whose relet runs. */
export function usedDir(dirs: readonly string[], { host, files }: { host: Processes; files: Files }): string {
  const present = dirs.filter((dir) => files.stat(join(dir, 'meta'))?.isDirectory());
  const running = present.find((dir) => lockHolder({ path: join(dir, 'meta', 'lock'), host, files }) !== undefined);
  return running ?? present[0] ?? dirs.at(-1)!;
}
