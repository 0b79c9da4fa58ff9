/** Why a file cannot be read or written, in words for people. */
import { readFileSync } from 'node:fs';
import { CannotRun } from '../cannot-run.js';

const reasons: Record<string, string> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a directory; name the files in it',
  ENOTDIR: 'a part of its path is a file, not a directory',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left on the device; free some and try again',
  EDQUOT: 'your disk quota is used up; free some and try again',
  EMFILE: "too many open files; raise the limit ('ulimit -n')",
  ENFILE: 'too many open files on this machine',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'too many symbolic links',
};

export function whyUnreadable(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return reasons[code ?? ''] ?? message;
}

/** The text of a file that a flag names. */
export function readNamedBy(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CannotRun(`--${flag}=${file}: cannot be read: ${whyUnreadable(error)}`);
  }
}
