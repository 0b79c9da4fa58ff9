/** The flags of `relet agent`: its own, and those that it shares with `relet kubelet`. docs/node-flags.md is checked against this list. */
import { type NodeOptions, type OwnFlag, ownFlags, readOptions } from '../../agent/options.js';
import { CannotRun } from '../../cannot-run.js';
import { asCommandLine, splitCommandLine } from '../../config/command-line.js';
import { nearest } from '../../config/suggest.js';
import { flagHelp } from './flag-help.js';
import { nodeDirs } from './node-dirs.js';

const agentOnly = {
  unit: {
    value: 'NAME',
    default: 'kubelet.service',
    help: 'The unit whose main process is the kubelet; on a host without it, that of k3s or RKE2.',
  },
  dir: {
    value: 'DIR',
    default: nodeDirs[0],
    help: 'Where records, checkpoints and configs are kept on the host. In a pod it must be mounted under the same path.',
  },
  kubeconfig: { value: 'FILE', default: '', help: "The credential to use instead of the kubelet's own --kubeconfig." },
  'node-name': {
    value: 'NAME',
    default: '',
    help: "The name of the Node, where neither the client certificate nor the kubelet's --hostname-override has it.",
  },
  import: {
    value: 'DIR',
    default: '',
    help: "Takes over the records of 'relet kubelet' from its --dynamic-config-dir, once, and then runs.",
  },
  export: {
    value: 'DIR',
    default: '',
    help: "Copies the records to a --dynamic-config-dir of 'relet kubelet', takes relet's files off the unit, and exits.",
  },
} as const satisfies Record<string, OwnFlag>;

const { 'dynamic-config-dir': _dir, 'kubelet-binary': _binary, 'on-change': _onChange, ...others } = ownFlags;
const { 'init-config-dir': _init, check: _check, ...shared } = others;

export const agentFlags: Readonly<Record<string, OwnFlag>> = {
  ...agentOnly,
  ...shared,
  check: { default: 'false', help: 'Prints what relet finds on this host and would do, and exits. Changes nothing.' },
};

export interface AgentFlags {
  unit: string;
  dir: string;
  kubeconfig: string | undefined;
  nodeName: string | undefined;
  importFrom: string | undefined;
  exportTo: string | undefined;
  /** --trial-health-deadline is given. */
  hasOwnDeadline: boolean;
  options: NodeOptions;
}

/** Returns undefined for --help. Throws CannotRun for an unknown flag. */
export function readAgentFlags(args: readonly string[]): AgentFlags | undefined {
  const names = Object.keys(agentFlags);
  const { flags, rest, incomplete } = splitCommandLine(args, ['check', 'no-forecast', 'help']);
  if (flags.some(({ name }) => name === 'help' || name === 'h')) return undefined;
  const unknown = flags.find(({ name }) => !names.includes(name));
  if (unknown !== undefined || rest.length > 0 || incomplete !== undefined)
    throw new CannotRun(wrongUsage(unknown && `--${unknown.name}`, rest[0], incomplete));
  const given = asCommandLine(flags);
  const text = (name: keyof typeof agentOnly) => given.get(name)?.at(-1) || agentOnly[name].default;
  return {
    unit: text('unit'),
    dir: text('dir'),
    kubeconfig: text('kubeconfig') || undefined,
    nodeName: text('node-name') || undefined,
    importFrom: text('import') || undefined,
    exportTo: text('export') || undefined,
    hasOwnDeadline: given.has('trial-health-deadline'),
    options: readOptions(given),
  };
}

function wrongUsage(unknown: string | undefined, word: string | undefined, incomplete: string | undefined): string {
  const see = "see 'relet agent --help'";
  if (unknown === undefined)
    return word === undefined ? `${incomplete} needs a value; ${see}` : `unexpected argument '${word}'; ${see}`;
  const near = nearest(unknown.slice(2), Object.keys(agentFlags));
  const hint = near === undefined ? '' : ` (did you mean --${near}?)`;
  return `there is no flag ${unknown}${hint}: flags of the kubelet belong in its unit; ${see}`;
}

export function agentHelp(): string {
  return `relet agent: changes the config of the kubelet of this host, which stays in its
own systemd unit. As root, as a pod or a service; docs/attached-mode.md.

Usage: relet agent [FLAGS]

The unit, the kubelet's command line, its kubeconfig and the name of the node
are found on the host:

${flagHelp(agentFlags)}`;
}
