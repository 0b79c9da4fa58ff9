/** The hollow kubelet's command line: the kubelet flags that it uses, and its own, which all begin with --hollow. */
import { asCommandLine, splitCommandLine } from '../../config/command-line.js';
import {
  type ConditionalMisbehaviour,
  type Misbehaviour,
  parseConditional,
  parseMisbehaviour,
} from './misbehaviour.js';

export interface HollowOptions {
  /** The kubelet version, without the v: `1.32.1`. */
  version: string;
  showVersion: boolean;
  config: string | undefined;
  kubeconfig: string | undefined;
  hostnameOverride: string | undefined;
  nodeIp: string | undefined;
  nodeLabels: Record<string, string>;
  registerNode: boolean | undefined;
  rootDir: string;
  /** --root-dir where it was given: only there does the hollow kubelet keep state, never in a real kubelet's directory. */
  stateDir: string | undefined;
  certDir: string;
  lockFile: string | undefined;
  verbosity: number;
  /** Allow an API server that is not a relet apiserver. */
  force: boolean;
  fail: Misbehaviour[];
  failIf: ConditionalMisbehaviour[];
  /** The kubelet's flags as given, without ours; they override the config. */
  kubeletArgs: string[];
}

/** docs/hollow-kubelet.md lists these; a test compares them. */
export const ownFlags = ['hollow-version', 'hollow-force', 'hollow-fail', 'hollow-fail-if', 'hollow-worse-if'];

/** Throws an Error with the kubelet's message for an invalid command line, or ours for our own flags. */
export function readHollowOptions(args: readonly string[], defaultVersion: string): HollowOptions {
  const { flags, rest, incomplete } = splitCommandLine(args, ['hollow-force']);
  if (incomplete !== undefined) throw new Error(`failed to parse kubelet flag: flag needs an argument: ${incomplete}`);
  const stray = flags.find(({ name }) => name.startsWith('hollow-') && !ownFlags.includes(name));
  if (stray)
    throw new Error(`--${stray.name}: there is no such flag; the hollow kubelet has --${ownFlags.join(', --')}`);
  if (rest.length > 0) throw new Error(`unknown command ${JSON.stringify(rest[0])}`);
  const values = asCommandLine(flags);
  const last = (name: string) => values.get(name)?.at(-1);
  const registerNode = last('register-node');
  const version = (last('hollow-version') ?? defaultVersion).replace(/^v/, '');
  if (!/^1\.\d+\.\d+/.test(version)) throw new Error(`--hollow-version=${version}: must be a version such as 1.32.1`);
  return {
    version,
    showVersion: values.has('version') && last('version') !== 'false',
    config: last('config') || undefined,
    kubeconfig: last('kubeconfig') || undefined,
    hostnameOverride: last('hostname-override') || undefined,
    nodeIp: last('node-ip')?.split(',')[0] || undefined,
    nodeLabels: labels(values.get('node-labels') ?? []),
    registerNode: registerNode === undefined ? undefined : registerNode !== 'false',
    stateDir: last('root-dir') || undefined,
    rootDir: last('root-dir') || '/var/lib/kubelet',
    certDir: last('cert-dir') || '/var/lib/kubelet/pki',
    lockFile: last('lock-file') || undefined,
    verbosity: Number(last('v') ?? 0) || 0,
    force: last('hollow-force') === 'true',
    fail: (values.get('hollow-fail') ?? []).map((text) => parseMisbehaviour(text)),
    failIf: (values.get('hollow-fail-if') ?? []).map(parseConditional),
    kubeletArgs: flags.filter(({ name }) => !ownFlags.includes(name)).flatMap(({ words }) => words),
  };
}

function labels(values: readonly string[]): Record<string, string> {
  const pairs = values.flatMap((value) => value.split(',')).filter((pair) => pair !== '');
  return Object.fromEntries(
    pairs.map((pair) => pair.split('=', 2) as [string, string]).map(([key, value = '']) => [key, value]),
  );
}
