/**
 * Files that others replace while we run: certificates, tokens, kubeconfigs. Their content is cached, and read again when
 * inode, size or times changed; of a symbolic link those of its target count.
 */
import { readFileSync, statSync } from 'node:fs';

/** How a client reads files. Symbolic links are followed: a Pod's service account consists of them. */
export interface FileReader {
  /** Throws the error of the file system when the file cannot be read. */
  read(path: string): string;
  /** Differs whenever the content may differ; equal means unchanged. Undefined when there is no file. */
  stamp(path: string): string | undefined;
}

export const systemFileReader: FileReader = {
  read: (path) => readFileSync(path, 'utf8'),
  stamp(path) {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat && `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
  },
};

/** Returns the present content of the file, and throws as FileReader does. */
export type CachedFile = () => string;

export function cachedFile(path: string, files: FileReader): CachedFile {
  let cached: { stamp: string | undefined; content: string } | undefined;
  return () => {
    // Stamp first: after a write in between, the next call reads again.
    const stamp = files.stamp(path);
    if (cached === undefined || cached.stamp !== stamp) cached = { stamp, content: files.read(path) };
    return cached.content;
  };
}
