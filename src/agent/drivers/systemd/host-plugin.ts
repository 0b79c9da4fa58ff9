/**
 * Credentials from a program on the host: the exec plugin of the kubelet's kubeconfig, run by systemd as the kubelet would run it. An
 * agent in a pod does not have the program, and one on the host does not have its environment. EKS gives nodes their credentials like this.
 *
 *     Environment= and EnvironmentFile= of the kubelet's unit < exec.env < KUBERNETES_EXEC_INFO
 *
 * The command is found in the PATH of the unit. What is added is in a file of mode 0600, as is what the program prints; both are removed
 * once they were read, and neither is in a log.
 */
import { noAnswer, PluginFailure, type RunPlugin } from '../../../kube/exec-plugin.js';
import { shorten } from '../../../shorten.js';
import { oneLine } from '../../../visible-text.js';
import type { Output } from '../command.js';
import { variant } from './dbus-message.js';
import { type HostCommandOptions, runOnHost } from './host-command.js';

export interface HostPluginOptions extends HostCommandOptions {
  /** The kubelet's unit. */
  unit: string;
}

/** Exit codes of a shell that cannot run the program. */
const notFound = 127;
const notExecutable = 126;
const mostShown = 300;

export function hostPlugin({ unit, ...options }: HostPluginOptions): RunPlugin {
  return async ({ command, args, variables, timeoutMs }, signal) => {
    const { environment, environmentFiles, user } = await options.systemd.unit(unit);
    const running = runOnHost(options, {
      // systemd looks for programs in a path of its own; the shell does in that of the unit.
      command: ['/bin/sh', '-c', 'exec "$0" "$@"', command, ...args],
      timeoutMs,
      secrets: variables,
      environmentFiles,
      properties: [
        ['Environment', variant('as', environment)],
        ['User', variant('s', user)],
      ],
      signal,
    });
    const output = await running.catch((cause: Error) => {
      signal.throwIfAborted();
      throw new PluginFailure(`cannot be run with the environment of ${unit}: ${cause.message}`, { cause });
    });
    signal.throwIfAborted();
    if (output.code !== 0) throw failure(output, { command, unit, timeoutMs });
    return output.stdout;
  };
}

interface Run {
  command: string;
  unit: string;
  timeoutMs: number;
}

function failure({ code, stderr }: Output, { command, unit, timeoutMs }: Run): PluginFailure {
  if (code === null) return new PluginFailure(noAnswer(timeoutMs));
  const place = command.includes('/') ? 'on the host' : `in the PATH of ${unit} on the host`;
  if (code === notFound) return new PluginFailure(`is not ${place}`, { isMissing: true });
  if (code === notExecutable) return new PluginFailure('cannot be executed on the host');
  const last = stderr.trim().split('\n').at(-1);
  return new PluginFailure(
    `failed on the host with exit code ${code}${last ? `: ${shorten(oneLine(last), mostShown)}` : ''}`,
  );
}
