/**
 * Facts about this host that validation depends on. Cheap, since every node computes them at every start. The local files are read
 * again each time, because an administrator may have edited them.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import type { CommandLine, Host } from '../../config/model.js';
import { quietly } from '../../proc.js';
import type { HostFile } from '../documents.js';
import { embeddedDropIn } from '../embedded-drop-in.js';

/** In the order in which they apply. Missing files are left out: the kubelet itself reports them. */
export function localFiles(flags: CommandLine, initConfigDir: string | undefined): HostFile[] {
  const config = localFileOf(flags, initConfigDir);
  const dropIns = flags.get('config-dir')?.at(-1);
  const files: Omit<HostFile, 'data'>[] = [
    ...(config ? [{ path: config }] : []),
    ...(dropIns ? dropInFiles(dropIns).map((path) => ({ path, dropIn: true as const })) : []),
  ];
  return files
    .filter(({ path }) => statSync(path, { throwIfNoEntry: false })?.isFile())
    .map((file) => ({ ...file, data: readFileSync(file.path) }));
}

/** The file of --config, or the init config of DKC alpha. */
export function localFileOf(flags: CommandLine, initConfigDir: string | undefined): string | undefined {
  return initConfigDir === undefined ? flags.get('config')?.at(-1) : join(initConfigDir, 'kubelet');
}

/** Files ending in .conf, below the directory too, in lexical order; without the one that relet gives to an embedded kubelet. */
function dropInFiles(dir: string): string[] {
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.conf') && name !== embeddedDropIn)
    .sort()
    .map((name) => join(dir, name));
}

/**
 * Only facts that are certain; an absent fact decides nothing. Those of the machine, as the kubelet counts them: limits of our own
 * service or pod are not limits of the kubelet.
 */
export function describeMachine(root = ''): Host {
  const numaNodes = numaNodesIn(`${root}/sys/devices/system/node`);
  const swaps = quietly(() => readFileSync(`${root}/proc/swaps`, 'utf8'));
  const maxPids = maxPidsIn(`${root}/proc/sys/kernel`);
  return {
    cgroupVersion: existsSync(`${root}/sys/fs/cgroup/cgroup.controllers`) ? 2 : 1,
    cpus: cpus().length,
    memoryBytes: totalmem(),
    ...(maxPids !== undefined && { maxPids }),
    // The first line is a header.
    ...(swaps !== undefined && { swap: swaps.trim().split('\n').length > 1 }),
    ...(numaNodes !== undefined && { numaNodes }),
  };
}

/** As the kubelet computes it, from those of the two that can be read. */
function maxPidsIn(dir: string): number | undefined {
  const texts = ['pid_max', 'threads-max'].map((name) => quietly(() => readFileSync(join(dir, name), 'utf8')));
  const limits = texts.map((text) => Number.parseInt(text ?? '', 10)).filter(Number.isFinite);
  return limits.length > 0 ? Math.min(...limits) : undefined;
}

/** Undefined if the nodes are not numbered from 0 on: then their number does not show which ones there are. */
function numaNodesIn(dir: string): number | undefined {
  const names = quietly(() => readdirSync(dir)) ?? [];
  const ids = names.flatMap((name) => /^node(\d+)$/.exec(name)?.[1] ?? []).map(Number);
  return ids.length > 0 && Math.max(...ids) === ids.length - 1 ? ids.length : undefined;
}
