/** The real files of this host as the sampler reads them: the text of a file, the subdirectories of a directory. */
import { readdirSync, readFileSync } from 'node:fs';
import { quietly } from '../../proc.js';
import type { HostText } from './host-reading.js';

export const systemHost: HostText = {
  read: (path) => quietly(() => readFileSync(path, 'utf8')),
  dirs: (path) =>
    quietly(() =>
      readdirSync(path, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name),
    ) ?? [],
};

/** The cgroup of this process, which that of a kubelet is that relet started. */
export function ownGroups({ read }: Pick<HostText, 'read'> = systemHost): string[] {
  const lines = read('/proc/self/cgroup')?.split('\n') ?? [];
  const paths = lines.flatMap((line) => /^\d+:(?:memory|):(\/.+)$/.exec(line)?.[1] ?? []);
  return [...new Set(paths)];
}
