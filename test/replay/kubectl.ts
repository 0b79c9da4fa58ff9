/** Finds kubectl clients on this machine and runs recorded command lines with one of them. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { Program } from '../program.js';

export interface Client {
  /** Such as 1.33. */
  version: string;
  path: string;
}

/** Every minor version once: named kubectl or kubectl.1.NN, on PATH or in RELET_KUBECTL_DIRS. */
export function findClients(): Client[] {
  const folders = `${process.env.RELET_KUBECTL_DIRS ?? ''}${delimiter}${process.env.PATH ?? ''}`.split(delimiter);
  const found = new Map<string, Client>();
  for (const folder of folders.filter((entry) => entry !== '')) {
    for (const name of clientNames(folder)) {
      const path = join(folder, name);
      const version = versionOf(path);
      if (version !== undefined && !found.has(version)) found.set(version, { version, path });
    }
  }
  return [...found.values()];
}

function clientNames(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^kubectl(\.1\.\d+)?$/.test(name));
  } catch {
    return [];
  }
}

/** Not every file of that name is a kubectl: wrappers exist that only forward to one. */
function versionOf(path: string): string | undefined {
  const { stdout } = spawnSync(path, ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
  const match = /"major": "(\d+)",\s*"minor": "(\d+)/.exec(stdout ?? '');
  return match === null ? undefined : `${match[1]}.${match[2]}`;
}

export interface Outcome {
  exit: number;
  stdout: string;
  stderr: string;
}

export interface ShellOptions {
  client: Client;
  kubeconfig: string;
  /** Holds the command's input files. */
  folder: string;
}

/** A shell in which `kubectl` is the chosen client. */
export function shell({ client, kubeconfig, folder }: ShellOptions): (command: string) => Promise<Outcome> {
  const bin = join(folder, '.bin');
  mkdirSync(bin, { recursive: true });
  symlinkSync(client.path, join(bin, 'kubectl'));
  const env = {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    KUBECONFIG: kubeconfig,
    KUBECTL: client.path,
    HOME: folder,
    TMPDIR: '/tmp',
    LC_ALL: 'C',
  };
  return async (command) => {
    const { status, stdout, stderr } = await new Program('bash', ['-c', command], { cwd: folder, env }).ended;
    return { exit: status ?? 1, stdout, stderr };
  };
}
