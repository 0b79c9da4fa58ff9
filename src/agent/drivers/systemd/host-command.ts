/**
 * Runs a program on the host for its output, from wherever the agent is: as a transient service that systemd starts, with its
 * output in files under /run/relet. A pod needs neither the host's processes nor its file system for that.
 */
import { readFileSync, rmSync } from 'node:fs';
import { makeDirectory } from '../../../make-directory.js';
import type { Random } from '../../../random.js';
import type { Output, RunCommand } from '../command.js';
import { variant } from './dbus-message.js';
import { execStart, type Systemd } from './systemd.js';

export interface HostCommandOptions {
  systemd: Systemd;
  random: Random;
  /** In front of the paths: where the host's /run is. Default none. */
  root?: string;
}

const directory = '/run/relet/commands';
const mostBytes = 1_000_000;

export function hostCommand({ systemd, random, root = '' }: HostCommandOptions): RunCommand {
  return async (command, timeoutMs) => {
    const id = random.uuid();
    const name = `relet-command-${id}.service`;
    const files = { stdout: `${directory}/${id}.out`, stderr: `${directory}/${id}.err` };
    makeDirectory(root + directory);
    try {
      const result = await systemd.startTransient({
        name,
        properties: [
          ['Description', variant('s', 'relet: a command on the host')],
          ['Type', variant('s', 'oneshot')],
          // Not in system.slice, which a config of the kubelet can limit.
          ['Slice', variant('s', '-.slice')],
          ['ExecStart', execStart(command.map(withoutVariables))],
          ['StandardOutputFile', variant('s', files.stdout)],
          ['StandardErrorFile', variant('s', files.stderr)],
          ['TimeoutStartUSec', variant('t', timeoutMs * 1000)],
          ['TimeoutStopUSec', variant('t', 1000)],
          // Warnings: that it was started and has ended is not for the journal.
          ['LogLevelMax', variant('i', 4)],
          ['LimitFSIZE', variant('t', 16 * mostBytes)],
        ],
      });
      const code = result === 'done' ? 0 : await exitCodeOf(systemd, name, command);
      return { code, stdout: textOf(root + files.stdout), stderr: textOf(root + files.stderr) } satisfies Output;
    } finally {
      await systemd.resetFailed(name).catch(() => {});
      for (const file of Object.values(files)) rmSync(root + file, { force: true });
    }
  };
}

/** systemd's own exit code for a program that it cannot start. */
const cannotExecute = 203;
const exited = 1;

async function exitCodeOf(systemd: Systemd, name: string, [program]: string[]): Promise<number | null> {
  const { result, execMainCode, execMainStatus } = await systemd.unit(name);
  if (result === 'exit-code' && execMainStatus === cannotExecute) throw new Error(`${program}: cannot be started`);
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
