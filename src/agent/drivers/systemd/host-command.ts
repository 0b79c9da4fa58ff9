/**
 * Runs a program on the host for its output, from wherever the agent is: as a transient service that systemd starts, with its
 * output in files under /run/relet. A pod needs neither the host's processes nor its file system for that.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { parse } from 'node:path';
import { makeDirectory } from '../../../make-directory.js';
import type { Random } from '../../../random.js';
import type { Output, RunCommand } from '../command.js';
import { type Variant, variant } from './dbus-message.js';
import { execStart, type Systemd } from './systemd.js';

export interface HostCommandOptions {
  systemd: Systemd;
  random: Random;
  /** In front of the paths: where the host's /run is. Default none. */
  root?: string;
}

const directory = '/run/relet/commands';
const mostBytes = 1_000_000;

export function hostCommand(options: HostCommandOptions): RunCommand {
  return (command, timeoutMs) => runOnHost(options, { command, timeoutMs });
}

export interface HostService {
  command: string[];
  timeoutMs: number;
  /** Variables that others must not see: they are in a file, since D-Bus shows Environment= to every user. */
  secrets?: Record<string, string>;
  /** EnvironmentFile= that are read before the secrets. */
  environmentFiles?: readonly { path: string; optional: boolean }[];
  properties?: [name: string, value: Variant][];
  /** Stops the service. */
  signal?: AbortSignal;
}

/** Removes what a process left that was killed while a command of it ran: the output may be a credential. */
export async function removeLeftFiles({ systemd, root = '' }: Pick<HostCommandOptions, 'systemd' | 'root'>) {
  for (const name of existsSync(root + directory) ? readdirSync(root + directory) : []) {
    const { activeState } = await systemd.unit(serviceOf(parse(name).name));
    // Another relet may wait for it, such as `relet agent --check`.
    if (!activeState.endsWith('ing')) rmSync(`${root}${directory}/${name}`, { force: true });
  }
}

const serviceOf = (id: string) => `relet-command-${id}.service`;

export async function runOnHost(
  { systemd, random, root = '' }: HostCommandOptions,
  { command, timeoutMs, secrets, environmentFiles = [], properties = [], signal }: HostService,
): Promise<Output> {
  const id = random.uuid();
  const name = serviceOf(id);
  const files = { stdout: `${directory}/${id}.out`, stderr: `${directory}/${id}.err` };
  const secretFile = `${directory}/${id}.env`;
  makeDirectory(root + directory);
  const stop = () => void systemd.stop(name).catch(() => {});
  try {
    // Before systemd opens them, so that nobody else can read what the program prints.
    for (const path of Object.values(files)) createFile(root + path, '');
    if (secrets) createFile(root + secretFile, environmentFile(secrets));
    signal?.addEventListener('abort', stop, { once: true });
    const result = await systemd.startTransient({
      name,
      properties: [
        ['Description', variant('s', 'relet: a command on the host')],
        ['Type', variant('s', 'oneshot')],
        // Not in system.slice, which a config of the kubelet can limit.
        ['Slice', variant('s', '-.slice')],
        ['ExecStart', execStart(command.map(withoutVariables))],
        ['EnvironmentFiles', variant('a(sb)', fileList(environmentFiles, secrets && secretFile))],
        ['StandardOutputFile', variant('s', files.stdout)],
        ['StandardErrorFile', variant('s', files.stderr)],
        ['UMask', variant('u', 0o077)],
        ['TimeoutStartUSec', variant('t', timeoutMs * 1000)],
        ['TimeoutStopUSec', variant('t', 1000)],
        // Warnings: that it was started and has ended is not for the journal.
        ['LogLevelMax', variant('i', 4)],
        ['LimitFSIZE', variant('t', 16 * mostBytes)],
        ...properties,
      ],
    });
    const code = result === 'done' ? 0 : await exitCodeOf(systemd, name, command);
    return { code, stdout: textOf(root + files.stdout), stderr: textOf(root + files.stderr) };
  } finally {
    signal?.removeEventListener('abort', stop);
    await systemd.resetFailed(name).catch(() => {});
    for (const file of [...Object.values(files), secretFile]) rmSync(root + file, { force: true });
  }
}

const createFile = (path: string, text: string) => writeFileSync(path, text, { mode: 0o600, flag: 'wx' });

/** A later file overrides an earlier one. */
const fileList = (files: NonNullable<HostService['environmentFiles']>, last: string | undefined) => [
  ...files.map(({ path, optional }) => [path, optional]),
  ...(last === undefined ? [] : [[last, false]]),
];

/** As systemd reads it: in double quotes a backslash precedes the characters that a shell would interpret. */
function environmentFile(variables: Record<string, string>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}="${value.replace(/["\\`$]/g, '\\$&')}"\n`)
    .join('');
}

/** systemd's own exit code for a program that it cannot start. */
const cannotExecute = 203;
const exited = 1;

async function exitCodeOf(systemd: Systemd, name: string, [program]: string[]): Promise<number | null> {
  const { result, execMainCode, execMainStatus } = await systemd.unit(name);
  if (result === 'exit-code' && execMainStatus === cannotExecute) throw new Error(`${program}: cannot be started`);
  // Such as a missing EnvironmentFile=.
  if (result === 'resources') throw new Error(`${program}: systemd could not start it (${result})`);
  return result !== 'timeout' && execMainCode === exited ? execMainStatus : null;
}

/** systemd would replace variables in the words. */
const withoutVariables = (word: string): string => word.replaceAll('$', '$$$$');

function textOf(path: string): string {
  try {
    return readFileSync(path).subarray(-mostBytes).toString('utf8');
  } catch {
    return '';
  }
}
