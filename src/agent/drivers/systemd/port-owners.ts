/** Finds the processes that own the kubelet's ports by a command on the host, since a pod does not see the host's /proc. */
import type { RunCommand } from '../command.js';
import type { Port, PortOwner } from '../driver.js';
import { inodesOf, type ListeningSocket, parseRow } from '../listeners.js';

const timeoutMs = 10_000;
/**
 * Sockets that listen, then what the process and its children have open: RKE2 is the parent of its kubelet. Only these lines of a
 * table that may be very long.
 */
const sockets =
  'grep -h " 0A " /proc/$1/net/tcp /proc/$1/net/tcp6 2>/dev/null; echo --; ls -l /proc/$1/fd || exit; for c in $(cat /proc/$1/task/*/children 2>/dev/null); do ls -l /proc/$c/fd 2>/dev/null; done; true';
/** The processes that have one of these sockets. */
const holders = 'for i; do find /proc/[0-9]*/fd -lname "socket:\\[$i\\]" 2>/dev/null; done';

/** Undefined when the process is gone. */
export async function portOwnersOnHost(
  ports: readonly Port[],
  pid: number,
  run: RunCommand,
): Promise<PortOwner[] | undefined> {
  const { code, stdout } = await run(['/bin/sh', '-c', sockets, 'sh', String(pid)], timeoutMs);
  if (code !== 0) return undefined;
  const [table = '', open = ''] = stdout.split(/^--$/m);
  const rows = table.split('\n').flatMap((line) => asSocket(parseRow(line)));
  return Promise.all(ports.map((port) => ownerOf(inodesOf(port, rows), open, run)));
}

const asSocket = (row: ReturnType<typeof parseRow>): ListeningSocket[] => (typeof row === 'object' ? [row] : []);

async function ownerOf(inodes: string[], open: string, run: RunCommand): Promise<PortOwner> {
  if (inodes.some((inode) => open.includes(`socket:[${inode}]`))) return 'kubelet';
  if (inodes.length === 0) return 'nobody';
  const { stdout } = await run(['/bin/sh', '-c', holders, 'sh', ...inodes], timeoutMs);
  const pid = /^\/proc\/(\d+)\//.exec(stdout)?.[1];
  // The process is not visible, or has exited: its owner is unknown.
  return pid === undefined ? 'nobody' : { other: `pid ${pid}` };
}
