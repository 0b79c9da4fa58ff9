/** Why a file cannot be read, in words for people. */
import { readFileSync } from 'node:fs';
import { CannotRun } from './cannot-run.js';

export function whyUnreadable(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'it is a directory; name the files in it';
  if (code === 'EACCES') return 'permission denied';
  return message;
}

/** The text of a file that a flag names. */
export function readNamedBy(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CannotRun(`--${flag}=${file}: cannot be read: ${whyUnreadable(error)}`);
  }
}
