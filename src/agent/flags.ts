/**
 * Divides the command line of `relet kubelet`: relet's own flags are consumed, the kubelet's pass through unchanged, but
 * for --config and --config-dir, which a dynamic config replaces, and the gate of the feature that relet brings back.
 */
import type { KubeletFlag } from '../api/node-config.js';
import { asCommandLine, type Flag, splitCommandLine } from '../config/command-line.js';
import { flagRows } from '../config/facts/flag-rows.js';
import type { CommandLine } from '../config/model.js';
import { isOwnFlag, type NodeOptions, ownBooleans, readOptions } from './options.js';

export interface DividedCommandLine {
  options: NodeOptions;
  /** The kubelet's flags, without relet's own and without the gate. */
  kubelet: Flag[];
  /** The same by name, as the kubelet will see them. */
  values: CommandLine;
  /** The same as the status shows them. */
  shown: KubeletFlag[] | undefined;
  /** The gate DynamicKubeletConfig was set to false: run the plain kubelet. */
  turnedOff: boolean;
  /** Words that the kubelet will reject; passed on, so that the kubelet reports the error itself. */
  trailing: string[];
}

const gate = 'DynamicKubeletConfig';

export function divideCommandLine(args: readonly string[]): DividedCommandLine {
  const { flags, rest, incomplete } = splitCommandLine(args, ownBooleans);
  if (incomplete !== undefined && isOwnFlag(incomplete.replace(/^-+/, '')))
    throw new Error(`flag needs an argument: ${incomplete}`);
  const options = readOptions(asCommandLine(flags.filter(({ name }) => isOwnFlag(name))));
  const kubelet = flags.filter(({ name }) => !isOwnFlag(name)).flatMap(withoutGate);
  const trailing = [...rest, ...(incomplete === undefined ? [] : [incomplete])];
  const isOff = gateValue(flags) === false;
  return { options, kubelet, values: asCommandLine(kubelet), shown: shownFlags(kubelet), turnedOff: isOff, trailing };
}

/** The kubelet's arguments; a dynamic config stands in for the local files. */
export function kubeletArgs({ kubelet, trailing }: DividedCommandLine, configFile: string | undefined): string[] {
  const kept =
    configFile === undefined ? kubelet : kubelet.filter(({ name }) => name !== 'config' && name !== 'config-dir');
  return [
    ...kept.flatMap(({ words }) => words),
    ...(configFile === undefined ? [] : [`--config=${configFile}`]),
    ...trailing,
  ];
}

/** Kubelets from 1.24 do not know the gate and refuse to start with it. */
function withoutGate(flag: Flag): Flag[] {
  if (flag.name !== 'feature-gates') return [flag];
  const all = flag.value.split(',');
  const kept = all.filter((entry) => !isGate(entry));
  if (kept.length === all.length) return [flag];
  const value = kept.join(',');
  return value === '' ? [] : [{ name: flag.name, value, words: [`--feature-gates=${value}`] }];
}

/** The last one wins, as for the kubelet. */
function gateValue(flags: readonly Flag[]): boolean | undefined {
  const entries = flags.filter(({ name }) => name === 'feature-gates').flatMap(({ value }) => value.split(','));
  const last = entries.findLast(isGate)?.split('=')[1]?.trim().toLowerCase();
  if (last === undefined) return undefined;
  return !['false', 'f', '0'].includes(last);
}

function isGate(entry: string): boolean {
  return entry.split('=')[0]!.trim() === gate;
}

const mostFlags = 200;
const longestName = 253;
const longestValue = 1024;

/** Flags without a config field that rules need; --cert-dir is where the kubelet writes its self-signed serving certificate. */
const ofRules = ['cadvisor-port', 'cert-dir', 'container-runtime', 'node-labels', 'seccomp-default'];
/** Paths that a pod of `relet detach --image` mounts. */
const ofDetach = ['config', 'config-dir', 'kubeconfig'];
/** May hold a secret, such as a token. */
const secret = 'manifest-url-header';

/**
 * All names, since a kubelet does not start with a flag that it does not know, and the values that a check looks at. Undefined when there
 * are too many. Flags of the hollow kubelet are left out: no other kubelet has them.
 */
function shownFlags(all: readonly Flag[]): KubeletFlag[] | undefined {
  const flags = all.filter(({ name }) => !name.startsWith('hollow-'));
  const withValue = new Set([
    ...flagRows.map(([name]) => name).filter((name) => name !== secret),
    ...ofRules,
    ...ofDetach,
  ]);
  if (flags.length > mostFlags || flags.some(({ name }) => name.length > longestName)) return undefined;
  return flags.map(({ name, value }) => {
    const isShown = withValue.has(name) && value.length <= longestValue;
    return { name, ...(isShown && { value }) };
  });
}
