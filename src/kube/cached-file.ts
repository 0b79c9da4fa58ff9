/**
 * The cached content of a file that others replace while we run: certificates, tokens, kubeconfigs. It is read again when
 * its inode, size or times changed; of a symbolic link those of its target count.
 */
import { readFileSync, statSync } from 'node:fs';

export interface CachedFile {
  /** The present content. Throws the error of the file system when it cannot be read. */
  read(): string;
  /** Differs whenever the content may differ; equal means unchanged. Absent files have a stamp too. */
  stamp(): string;
}

export function cachedFile(path: string): CachedFile {
  let held: { stamp: string; content: string } | undefined;
  const stamp = () => {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? 'absent' : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
  };
  return {
    stamp,
    read() {
      // Stamp first: after a write in between, the next call reads again.
      const now = stamp();
      if (held?.stamp !== now) held = { stamp: now, content: readFileSync(path, 'utf8') };
      return held.content;
    },
  };
}
