/** Reads files of the machine outside relet's own directory: certificates, static pods and other paths that a config names. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { sha256 } from './state/checkpoints.js';

export interface HostFiles {
  /** Changes with the bytes of a file, the names in a directory, and whether there is one at all. */
  contentOf(path: string): string;
  /** Whether a directory has anything in it. */
  hasEntries(path: string): Promise<boolean>;
}

const maxHashedBytes = 1_048_576;

export const systemHostFiles: HostFiles = {
  contentOf(path) {
    try {
      const found = statSync(path);
      if (found.isDirectory()) return `directory ${sha256(readdirSync(path).sort().join('\0'))}`;
      // Only the existence of a socket or a device counts; its inode changes with every boot.
      if (!found.isFile()) return 'special';
      return found.size > maxHashedBytes ? `${found.size} ${found.mtimeMs}` : sha256(readFileSync(path));
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? 'unreadable';
    }
  },
  async hasEntries(path) {
    try {
      return readdirSync(path).length > 0;
    } catch {
      return false;
    }
  },
};
