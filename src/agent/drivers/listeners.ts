/**
 * Finds the process that listens on a port, from /proc, so that an answer of another process is not taken for the kubelet's. A kubelet
 * whose port is in use retries, or is about to exit.
 */
import { closeSync, openSync, readdirSync, readlinkSync, readSync, statSync } from 'node:fs';
import { SocketAddress } from 'node:net';
import { type ProcessIdentity, type ProcessStat, pids, quietly, statOf } from '../../proc.js';
import type { Port, PortOwner } from './driver.js';

export function ownerOf({ host, port }: Port, kubelet: ProcessIdentity): PortOwner {
  const inodes = inodesOf({ host, port }, listening(kubelet.pid));
  if (inodes.length === 0) return 'nobody';
  if (hasSocket(kubelet.pid, inodes)) return 'kubelet';
  const owner = pids().find((pid) => hasSocket(pid, inodes));
  const stat = owner === undefined ? undefined : statOf(owner);
  // The process is not visible, or has exited: its owner is unknown.
  if (owner === undefined || stat === undefined) return 'nobody';
  return belongsTo(owner, stat, kubelet) ? 'kubelet' : { other: `pid ${owner}` };
}

export interface ListeningSocket {
  host: string;
  port: number;
  inode: string;
}

/** The sockets that listen on this port, also those for all addresses. */
export function inodesOf({ host, port }: Port, sockets: readonly ListeningSocket[]): string[] {
  return sockets.filter((row) => row.port === port && overlaps(row.host, host)).map(({ inode }) => inode);
}

/** In the network that the process sees. */
function listening(pid: number): ListeningSocket[] {
  return ['tcp', 'tcp6'].flatMap((table) => quietly(() => readRows(`/proc/${pid}/net/${table}`)) ?? []);
}

const isListening = '0A';
const chunkBytes = 65_536;

/** Listening sockets come first, and a busy node has tens of thousands of others: no more is read than needed. */
function readRows(path: string): ListeningSocket[] {
  const fd = openSync(path, 'r');
  const chunk = Buffer.alloc(chunkBytes);
  const rows: ListeningSocket[] = [];
  try {
    for (let rest = ''; ; ) {
      const length = readSync(fd, chunk);
      if (length === 0) return rows;
      const lines = (rest + chunk.toString('latin1', 0, length)).split('\n');
      rest = lines.pop()!;
      for (const line of lines) {
        const row = parseRow(line);
        if (row === 'heading') continue;
        if (row === 'other') return rows;
        rows.push(row);
      }
    }
  } finally {
    closeSync(fd);
  }
}

/** A line of /proc/net/tcp. */
export function parseRow(line: string): ListeningSocket | 'heading' | 'other' {
  const [slot, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
  if (slot === 'sl') return 'heading';
  if (state !== isListening) return 'other';
  const [address = '', port = ''] = local.split(':');
  return { host: addressOf(address), port: Number.parseInt(port, 16), inode };
}

/** Words of four bytes, each in the order of the machine. Exported for its test. */
export function addressOf(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) => word.match(/../g)!.reverse());
  if (bytes.length === 4) return bytes.map((byte) => Number.parseInt(byte, 16)).join('.');
  const groups = bytes.join('').match(/.{4}/g)!.join(':');
  const { address } = new SocketAddress({ address: groups, family: 'ipv6' });
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}

function overlaps(a: string, b: string): boolean {
  return a === b || isEvery(a) || isEvery(b);
}

const isEvery = (host: string) => host === '0.0.0.0' || host === '::' || host === '';

function hasSocket(pid: number, inodes: string[]): boolean {
  const dir = `/proc/${pid}/fd`;
  const wanted = new Set(inodes.map((inode) => `socket:[${inode}]`));
  return (quietly(() => readdirSync(dir)) ?? []).some((fd) =>
    wanted.has(quietly(() => readlinkSync(`${dir}/${fd}`)) ?? ''),
  );
}

/** Started by the kubelet, where that is a script in front of one; or for it, as a container is: by the same user, and later. */
function belongsTo(pid: number, stat: ProcessStat, kubelet: ProcessIdentity): boolean {
  for (let parent = stat.parent; parent > 1; parent = statOf(parent)?.parent ?? 0)
    if (parent === kubelet.pid) return true;
  const userOf = (pid: number) => quietly(() => statSync(`/proc/${pid}`).uid);
  return userOf(pid) === userOf(kubelet.pid) && Number(stat.startTime) >= Number(kubelet.startTime);
}
