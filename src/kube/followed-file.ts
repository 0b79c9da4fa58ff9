/**
 * A file that others replace while we run: certificates, tokens, kubeconfigs. It is read again when its inode, size or
 * time changed; behind a symlink that is the target's.
 */
import { readFileSync, statSync } from 'node:fs';

export interface FollowedFile {
  /** The present content. Throws what the file system says when it cannot be read. */
  read(): string;
  /** Differs whenever the content may differ; equal means unchanged. Absent files have a stamp too. */
  stamp(): string;
}

export function followFile(path: string): FollowedFile {
  let held: { stamp: string; content: string } | undefined;
  const stamp = () => {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? 'absent' : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
  };
  return {
    stamp,
    read() {
      // Stamp first: a write in between makes the next read look again, never the other way round.
      const now = stamp();
      if (held?.stamp !== now) held = { stamp: now, content: readFileSync(path, 'utf8') };
      return held.content;
    },
  };
}
