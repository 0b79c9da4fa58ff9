/** How a kubelet exits with an error: one log line with the message of its version, and an exit code. */
import { parseMinor } from '../../config/model.js';
import type { Log } from '../../log.js';

/** Ends the process with a code; the reason has been logged. */
export class Exit extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/** Kubelets before 1.24 log a message for each step; later ones the same for all. */
export function isBefore124(version: string): boolean {
  return parseMinor(version)! < 24;
}

export type GiveUp = (headline: string, message: string) => Exit;

export function giveUpAs(version: string, log: Log): GiveUp {
  return (headline, message) => giveUpIn(log, isBefore124(version) ? headline : 'command failed', message);
}

/** As the servers and managers of a kubelet do, which exit on their own: with the same message in every version. */
export function giveUpIn(log: Log, headline: string, message: string): Exit {
  log.error(headline, { err: message });
  return new Exit(1);
}

/** The error of the file system, as Go prints it. */
export function goReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const known: Record<string, string> = {
    ENOENT: 'no such file or directory',
    EACCES: 'permission denied',
    EISDIR: 'is a directory',
    ENOTDIR: 'not a directory',
  };
  return known[code ?? ''] ?? message;
}
