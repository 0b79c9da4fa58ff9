/**
 * Reads the log of one kubelet process. The kubelet inherits relet's standard error, so its lines are in that file (`relet up`,
 * `StandardError=append:…`), in the journal under its process id, or in its --log-file (kubelets up to 1.25). If standard error is a
 * pipe, as in a container, they cannot be read: a pipe of relet's own would end the kubelet together with relet.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { isOwnLine } from '../../log.js';
import { quietly } from '../../proc.js';
import type { RunCommand } from './command.js';
import { type KubeletLog, summarizeLog } from './kubelet-error.js';

export interface LogPlaces {
  /** Files that the kubelet may write to. What is not a regular file is not read. */
  files: readonly string[];
  /** relet's output goes to the journal, so that the kubelet's does too. */
  journal: boolean;
}

/** Relet's own standard error, which the kubelet inherits. */
export const ownStandardError = '/proc/self/fd/2';

/** A kubelet that has exited, or is running. */
export interface LoggingProcess {
  pid: number | undefined;
  /** Unix time. */
  startedAtMs: number;
}

interface FileMark {
  path: string;
  /** Device and inode: after a rotation the path is another file. */
  file: string;
  size: number;
}

/** Enough for the stack traces of all goroutines. */
const mostBytes = 512 * 1024;
const mostJournalLines = 3000;
const timeoutMs = 2000;

/** Called before a kubelet starts; the result reads what it has logged since. Undefined if that cannot be read. Never rejects. */
export function markKubeletLog(
  { files, journal }: LogPlaces,
  run: RunCommand,
): (process: LoggingProcess) => Promise<KubeletLog | undefined> {
  const marks = files.map(mark);
  return async (process) => {
    const found: KubeletLog[] = [];
    const texts = [...marks.map((file) => () => since(file)), ...(journal ? [() => journalOf(process, run)] : [])];
    for (const text of texts) {
      const lines = ((await text()) ?? '').split('\n').filter((line) => !isOwnLine(line));
      const log = summarizeLog(lines);
      if (log?.error !== undefined) return log;
      if (log !== undefined) found.push(log);
    }
    return found[0];
  };
}

async function journalOf({ pid, startedAtMs }: LoggingProcess, run: RunCommand): Promise<string | undefined> {
  if (pid === undefined) return undefined;
  // A process id is used again: only lines since the start. --all: control characters are shown, and escaped by us.
  const command = ['journalctl', '--boot', `_PID=${pid}`, `--since=@${Math.floor(startedAtMs / 1000)}`];
  const output = [`--lines=${mostJournalLines}`, '--output=cat', '--all', '--no-pager', '--quiet'];
  const { code, stdout } = await run([...command, ...output], timeoutMs).catch(() => ({ code: null, stdout: '' }));
  return code === 0 ? stdout : undefined;
}

function mark(path: string): FileMark {
  const stat = quietly(() => statSync(path));
  return { path, file: `${stat?.dev}:${stat?.ino}`, size: stat?.size ?? 0 };
}

function since({ path, file, size }: FileMark): string | undefined {
  return quietly(() => {
    // A pipe must not be opened: that would wait, and take what another process should read.
    const now = statSync(path);
    if (!now.isFile()) return undefined;
    const start = mark(path).file === file && now.size >= size ? size : 0;
    return readTail(path, start);
  });
}

function readTail(path: string, start: number): string {
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    const from = Math.max(start, size - mostBytes);
    const bytes = Buffer.alloc(size - from);
    const length = readSync(fd, bytes, 0, bytes.length, from);
    const text = bytes.toString('utf8', 0, length);
    return from === start ? text : text.slice(text.indexOf('\n') + 1);
  } finally {
    closeSync(fd);
  }
}
