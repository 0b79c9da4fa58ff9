/** Checks of the kubelet's command line, made before it reads any document: feature gates, node labels, retired flags. */
import { type GateError, type Gates, gateErrors, isGateOn } from '../gates.js';
import type { CommandLine, Minor } from '../model.js';
import { nameErrors, namespaceOf, valueErrors } from './label.js';

/** The gates of `--feature-gates=A=true,B=false`; a later one wins. Bad values were refused when the flags were parsed. */
export function gatesOfFlags(flags: CommandLine): Gates {
  const gates: Record<string, boolean> = Object.create(null);
  for (const [name, value] of pairs(flags.get('feature-gates'))) gates[name] = /^[1tT]/.test(value);
  return gates;
}

export function flagGateErrors(flags: CommandLine, minor: Minor): GateError[] {
  return gateErrors([gatesOfFlags(flags)], minor);
}

export interface FlagError {
  flag: string;
  message: string;
}

export function flagError(flags: CommandLine, minor: Minor): FlagError | undefined {
  return (
    retiredFlagError(flags, minor) ??
    (minor >= 16 ? nodeLabelError(flags, minor) : undefined) ??
    seccompError(flags, minor)
  );
}

function retiredFlagError(flags: CommandLine, minor: Minor): FlagError | undefined {
  if (minor <= 23 && flags.has('dynamic-config-dir') && !isGateOn('DynamicKubeletConfig', gatesOfFlags(flags), minor))
    return {
      flag: 'dynamic-config-dir',
      message: 'the DynamicKubeletConfig feature gate must be enabled in order to use the --dynamic-config-dir flag',
    };
  const port = Number(last(flags, 'cadvisor-port') ?? 0);
  if (minor === 11 && (port < 0 || port > 65535))
    return {
      flag: 'cadvisor-port',
      message: `invalid configuration: CAdvisorPort (--cadvisor-port) ${port} must be between 0 and 65535, inclusive`,
    };
  if (minor <= 18 && Number(last(flags, 'node-status-max-images') ?? 0) < -1)
    return {
      flag: 'node-status-max-images',
      message: 'invalid configuration: NodeStatusMaxImages (--node-status-max-images) must be -1 or greater',
    };
  return undefined;
}

function seccompError(flags: CommandLine, minor: Minor): FlagError | undefined {
  const isWanted = /^[1tT]/.test(last(flags, 'seccomp-default') ?? 'false');
  if (minor < 22 || minor > 26 || !isWanted || isGateOn('SeccompDefault', gatesOfFlags(flags), minor)) return undefined;
  return {
    flag: 'seccomp-default',
    message: 'the SeccompDefault feature gate must be enabled in order to use the --seccomp-default flag',
  };
}

const namespaces = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const labels = [
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
];
const stableLabels = ['kubernetes.io/arch', 'kubernetes.io/hostname', 'kubernetes.io/os'];

function allowedLabels(minor: Minor): string[] {
  if (minor === 16)
    return [
      ...labels,
      'failure-domain.kubernetes.io/region',
      'failure-domain.kubernetes.io/zone',
      'kubernetes.io/arch',
      'kubernetes.io/hostname',
      'kubernetes.io/instance-type',
      'kubernetes.io/os',
    ];
  const topology = ['topology.kubernetes.io/region', 'topology.kubernetes.io/zone'];
  return [...labels, ...stableLabels, 'node.kubernetes.io/instance-type', ...topology];
}

function nodeLabelError(flags: CommandLine, minor: Minor): FlagError | undefined {
  const given = [...new Map(pairs(flags.get('node-labels')))];
  const allowed = allowedLabels(minor);
  const unknown = given
    .map(([key]) => key)
    .filter((key) => isWithin(namespaceOf(key), ['kubernetes.io', 'k8s.io']))
    .filter((key) => !allowed.includes(key) && !isWithin(namespaceOf(key), namespaces))
    .sort();
  const message =
    unknown.length > 0
      ? `unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [${unknown.join(' ')}]\n--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix (${namespaces.join(', ')}) or be in the specifically allowed set (${allowed.join(', ')})`
      : invalidLabels(given, minor);
  return message === undefined ? undefined : { flag: 'node-labels', message };
}

function invalidLabels(given: readonly (readonly [string, string])[], minor: Minor): string | undefined {
  if (minor < 25) return undefined;
  const wrong = given.flatMap(([key, value]) =>
    [[key, nameErrors(key)] as const, [value, valueErrors(value)] as const].flatMap(([text, errors]) =>
      errors.length > 0 ? [`'${text}' - ${errors.join(', ')}`] : [],
    ),
  );
  return wrong.length > 0 ? `invalid node labels: ${wrong.join('; ')}` : undefined;
}

function isWithin(namespace: string, parents: readonly string[]): boolean {
  return parents.some((parent) => namespace === parent || namespace.endsWith(`.${parent}`));
}

function pairs(values: readonly string[] | undefined): [name: string, value: string][] {
  return (values ?? [])
    .flatMap((value) => value.split(','))
    .filter((pair) => pair !== '')
    .map((pair) => {
      const equals = pair.indexOf('=');
      return equals < 0 ? [pair.trim(), ''] : [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()];
    });
}

function last(flags: CommandLine, name: string): string | undefined {
  return flags.get(name)?.at(-1);
}
