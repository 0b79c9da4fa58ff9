/** Reads the facts of the machine for the Node object. */
import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism, hostname, networkInterfaces, release, totalmem } from 'node:os';
import { dirname } from 'node:path';
import type { Machine } from './node-object.js';

export function readMachine(rootDir: string): Machine {
  return {
    hostname: hostname().trim().toLowerCase(),
    cpus: availableParallelism(),
    memoryBytes: totalmem(),
    storageBytes: storageBytes(rootDir),
    info: {
      machineID: firstLine('/etc/machine-id'),
      systemUUID: firstLine('/sys/class/dmi/id/product_uuid') || firstLine('/etc/machine-id'),
      bootID: firstLine('/proc/sys/kernel/random/boot_id'),
      kernelVersion: release(),
      osImage: /^PRETTY_NAME="?([^"\n]*)/m.exec(textOf('/etc/os-release'))?.[1] ?? 'Linux',
    },
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
  };
}

/** The address of the node: the first that is not loopback, else loopback. */
export function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return all.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1';
}

function storageBytes(dir: string): number {
  for (let path = dir; ; path = dirname(path)) {
    if (existsSync(path)) {
      const { blocks, bsize } = statfsSync(path);
      return blocks * bsize;
    }
  }
}

/** Empty if it is unknown. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function firstLine(path: string): string {
  return textOf(path).split('\n')[0]!.trim();
}
