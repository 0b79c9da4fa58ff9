/**
 * Directory of a system on one machine:
 *
 *   DIR/admin.kubeconfig          the administrator's way in
 *   DIR/system.json               the options of `relet up`, and the addresses it chose
 *   DIR/lock, DIR/log             of the `relet up` that runs; its log when it runs in the background
 *   DIR/pki, DIR/store            of the API server; DIR/apiserver.log and .pid as well
 *   DIR/controller.kubeconfig     of the controller; DIR/controller.log and .pid as well
 *   DIR/nodes/NAME/               one node: kubelet.yaml, kubeconfig, dynamic-config, log, pid, root, pki
 */

import { existsSync, readdirSync, realpathSync, renameSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { removeTree, temporaryPrefix } from '../../atomic-file.js';
import { CannotRun } from '../../cannot-run.js';
import { makeDirectory } from '../../make-directory.js';

export const defaultDataDir = (): string => join(homedir(), '.relet');

/** Returns the flag that a command needs for a system outside the default directory. */
export const dataDirFlag = (dir: string): string => (dir === defaultDataDir() ? '' : ` --data-dir ${dir}`);

export interface NodePaths {
  dir: string;
  config: string;
  kubeconfig: string;
  dynamicConfig: string;
  log: string;
  pid: string;
  root: string;
  pki: string;
}

export class SystemDirectory {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  readonly at = (...parts: string[]): string => join(this.dir, ...parts);

  get kubeconfig(): string {
    return this.at('admin.kubeconfig');
  }
  get controllerKubeconfig(): string {
    return this.at('controller.kubeconfig');
  }
  get settings(): string {
    return this.at('system.json');
  }
  get lock(): string {
    return this.at('lock');
  }
  get log(): string {
    return this.at('log');
  }

  node(name: string): NodePaths {
    const at = (part: string) => this.at('nodes', name, part);
    return {
      dir: this.at('nodes', name),
      config: at('kubelet.yaml'),
      kubeconfig: at('kubeconfig'),
      dynamicConfig: at('dynamic-config'),
      log: at('log'),
      pid: at('pid'),
      root: at('root'),
      pki: at('pki'),
    };
  }

  /** Removes everything but the lock and the log of the calling process. */
  clear(): void {
    const kept = ['lock', 'log'];
    for (const name of readdirSync(this.dir)) if (isOurs(name) && !kept.includes(name)) removeTree(this.at(name));
  }
}

const ourNames = [
  'admin.kubeconfig',
  'system.json',
  'lock',
  'log',
  'log.old',
  'pki',
  'store',
  'nodes',
  'apiserver.log',
  'apiserver.log.old',
  'apiserver.pid',
  'controller.kubeconfig',
  'controller.log',
  'controller.log.old',
  'controller.pid',
  // More links to the dashboard (cli/dashboard-links.ts).
  'dashboard.sock',
];

/** Left by 'relet apiserver restore' of a relet before 0.1.0. */
const restoreName = /^store-(before-.+|restoring|restored)$/;

const isOurs = (name: string) => ourNames.includes(name) || name.startsWith(temporaryPrefix) || restoreName.test(name);

/** Makes the directory when it is missing. One with other things in it is left alone: `--fresh` deletes what is in it. */
export function openSystemDirectory(path: string): SystemDirectory {
  const dir = resolve(path);
  try {
    makeDirectory(dir);
    const stranger = readdirSync(dir).find((name) => !isOurs(name));
    if (stranger !== undefined)
      throw new CannotRun(
        `${dir} has '${stranger}' in it, which is not relet's: give a directory of its own with --data-dir`,
      );
    return new SystemDirectory(realpathSync(dir));
  } catch (error) {
    if (error instanceof CannotRun) throw error;
    throw new CannotRun(`cannot use ${dir}: ${(error as Error).message}; give another with --data-dir`);
  }
}

/** Undefined if no `relet up` ever was. */
export function findSystemDirectory(path: string): SystemDirectory | undefined {
  const dir = resolve(path);
  return existsSync(join(dir, 'system.json')) ? new SystemDirectory(realpathSync(dir)) : undefined;
}

const longLogBytes = 8 << 20;

/** Starts a long log again; the one before is kept as LOG.old. */
export function turnLog(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > longLogBytes) renameSync(path, `${path}.old`);
}
