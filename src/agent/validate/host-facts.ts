/**
 * Facts about this host on which validation depends. Light: every node loads it at every start.
 *
 * The local config as one document: the --config file with the drop-ins of --config-dir merged over it, or the init
 * config of DKC alpha. Read again each time, because an administrator may have edited it.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import type { CommandLine, Host } from '../../config/model.js';

/** Name → bytes of each file, in the order in which they apply. Missing files are left out: the kubelet says so itself. */
export function localFiles(flags: CommandLine, initConfigDir: string | undefined): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  const add = (path: string) => {
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) files.set(path, readFileSync(path));
  };
  const config = initConfigDir === undefined ? flags.get('config')?.at(-1) : join(initConfigDir, 'kubelet');
  if (config) add(config);
  const dropIns = flags.get('config-dir')?.at(-1);
  if (dropIns) for (const file of dropInFiles(dropIns)) add(file);
  return files;
}

/** Files ending in .conf, below the directory too, in lexical order. */
function dropInFiles(dir: string): string[] {
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.conf'))
    .sort()
    .map((name) => join(dir, name));
}

/** Only facts that are certain; an absent fact decides nothing. */
export function describeMachine(): Host {
  return {
    cgroupVersion: existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1,
    cpus: availableParallelism(),
    memoryBytes: totalmem(),
  };
}
