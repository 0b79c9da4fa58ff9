/**
 * Credentials from a program on the host: the exec plugin of the kubelet's kubeconfig, run by systemd as the kubelet would run it, for an
 * agent in a pod, which does not have the program. EKS, GKE and AKS give nodes their credentials like this.
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
    const output = await runOnHost(options, {
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
    signal.throwIfAborted();
    if (output.code !== 0) throw failure(output, { unit, timeoutMs });
    return output.stdout;
  };
}

function failure({ code, stderr }: Output, { unit, timeoutMs }: { unit: string; timeoutMs: number }): PluginFailure {
  if (code === null) return new PluginFailure(noAnswer(timeoutMs));
  if (code === notFound) return new PluginFailure(`is not in the PATH of ${unit} on the host`, { isMissing: true });
  if (code === notExecutable) return new PluginFailure('cannot be executed on the host');
  const last = stderr.trim().split('\n').at(-1);
  return new PluginFailure(
    `failed on the host with exit code ${code}${last ? `: ${shorten(oneLine(last), mostShown)}` : ''}`,
  );
}
