/** Validation of containers, as far as this server needs it. */

import { checkDnsLabel, checkQualifiedName } from '../../../api/names.js';
import { compareQuantities, parseQuantity } from '../../../go/quantity.js';
import { duplicateField, type FieldError, invalidField, requiredField, unsupportedField } from '../field-error.js';
import type { Container, Probe } from './pod-parts.js';

const pullPolicies = ['Always', 'IfNotPresent', 'Never'];
const messagePolicies = ['File', 'FallbackToLogsOnError'];
const protocols = ['SCTP', 'TCP', 'UDP'];
const handlers = ['exec', 'httpGet', 'tcpSocket', 'grpc'];
const maxPort = 65_535;

export interface Surroundings {
  /** Names of containers before these. */
  taken: Set<string>;
  volumes: ReadonlySet<string>;
  hostNetwork: boolean;
}

export function validateContainers(containers: Container[], path: string, around: Surroundings): FieldError[] {
  const { taken } = around;
  return containers.flatMap((container, index) => {
    const at = `${path}[${index}]`;
    const errors = [...validateName(container.name, `${at}.name`), ...validateImage(container.image ?? '', at)];
    if (taken.has(container.name)) errors.push(duplicateField(`${at}.name`, container.name));
    taken.add(container.name);
    return [...errors, ...validateParts(container, at, around)];
  });
}

function validateName(name: string, at: string): FieldError[] {
  return name === '' ? [requiredField(at)] : checkDnsLabel(name).map((why) => invalidField(at, name, why));
}

function validateImage(image: string, at: string): FieldError[] {
  if (image === '') return [requiredField(`${at}.image`)];
  if (image === image.trim()) return [];
  return [invalidField(`${at}.image`, image, 'must not have leading or trailing whitespace')];
}

function validateParts(container: Container, at: string, around: Surroundings): FieldError[] {
  const { terminationMessagePolicy: message = '', imagePullPolicy: pull = '' } = container;
  return [
    ...validateProbes(container, at),
    ...(messagePolicies.includes(message)
      ? []
      : [unsupportedField(`${at}.terminationMessagePolicy`, message, messagePolicies)]),
    ...validatePorts(container.ports ?? [], `${at}.ports`),
    ...validateEnvironment(container.env ?? [], `${at}.env`),
    ...validateMounts(container.volumeMounts ?? [], `${at}.volumeMounts`, around.volumes),
    ...(pullPolicies.includes(pull) ? [] : [unsupportedField(`${at}.imagePullPolicy`, pull, pullPolicies)]),
    ...validateResources(container.resources ?? {}, `${at}.resources`),
    ...(around.hostNetwork ? validateHostPorts(container.ports ?? [], `${at}.ports`) : []),
  ];
}

function validateProbes(container: Container, at: string): FieldError[] {
  return (['livenessProbe', 'readinessProbe', 'startupProbe'] as const).flatMap((field) => {
    const probe = container[field];
    return probe === undefined || hasHandler(probe)
      ? []
      : [requiredField(`${at}.${field}`, 'must specify a handler type')];
  });
}

function hasHandler(probe: Probe): boolean {
  return handlers.some((handler) => probe[handler as keyof Probe] !== undefined);
}

type Port = NonNullable<Container['ports']>[number];

function validatePorts(ports: Port[], path: string): FieldError[] {
  const inRange = 'must be between 1 and 65535, inclusive';
  const isPort = (port: number) => port > 0 && port <= maxPort;
  const isDuplicate = duplicateFinder<string>();
  return ports.flatMap(({ name = '', containerPort: port, hostPort = 0, protocol = '' }, index) => {
    const at = `${path}[${index}]`;
    const isRepeated = name !== '' && isDuplicate(name);
    const wrongName = name === '' ? [] : checkPortName(name);
    return [
      ...wrongName.map((why) => invalidField(`${at}.name`, name, why)),
      ...(isRepeated && wrongName.length === 0 ? [duplicateField(`${at}.name`, name)] : []),
      ...(port === 0 ? [requiredField(`${at}.containerPort`)] : []),
      ...(port !== 0 && !isPort(port) ? [invalidField(`${at}.containerPort`, port, inRange)] : []),
      ...(hostPort !== 0 && !isPort(hostPort) ? [invalidField(`${at}.hostPort`, hostPort, inRange)] : []),
      ...(protocols.includes(protocol) ? [] : [unsupportedField(`${at}.protocol`, protocol, protocols)]),
    ];
  });
}

function checkPortName(name: string): string[] {
  return [
    ...(name.length > 15 ? ['must be no more than 15 characters'] : []),
    ...(/^[-a-z0-9]+$/.test(name) ? [] : ['must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)']),
    ...(/[a-z]/.test(name) ? [] : ['must contain at least one letter (a-z)']),
    ...(name.includes('--') ? ['must not contain consecutive hyphens'] : []),
    ...(/^-|-$/.test(name) ? ['must not begin or end with a hyphen'] : []),
  ];
}

function validateHostPorts(ports: Port[], path: string): FieldError[] {
  return ports.flatMap(({ containerPort, hostPort }, index) =>
    hostPort === containerPort
      ? []
      : [invalidField(`${path}[${index}].hostPort`, hostPort, 'must match `containerPort` when `hostNetwork` is true')],
  );
}

function validateEnvironment(variables: NonNullable<Container['env']>, path: string): FieldError[] {
  const rule = "a valid environment variable name must consist only of printable ASCII characters other than '='";
  return variables.flatMap(({ name = '' }, index) => {
    const at = `${path}[${index}].name`;
    if (name === '') return [requiredField(at)];
    return /^[ -<>-~]+$/.test(name) ? [] : [invalidField(at, name, rule)];
  });
}

function validateMounts(
  mounts: NonNullable<Container['volumeMounts']>,
  path: string,
  volumes: ReadonlySet<string>,
): FieldError[] {
  const isDuplicate = duplicateFinder<string>();
  return mounts.flatMap(({ name = '', mountPath = '' }, index) => {
    const at = `${path}[${index}]`;
    const isRepeated = isDuplicate(mountPath);
    return [
      ...(name === '' ? [requiredField(`${at}.name`)] : []),
      ...(volumes.has(name) ? [] : [{ ...invalidField(`${at}.name`, name, ''), type: 'NotFound' as const }]),
      ...(mountPath === '' ? [requiredField(`${at}.mountPath`)] : []),
      ...(isRepeated ? [invalidField(`${at}.mountPath`, mountPath, 'must be unique')] : []),
    ];
  });
}

const standardResources: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);

function validateResources(
  { requests = {}, limits = {} }: NonNullable<Container['resources']>,
  at: string,
): FieldError[] {
  const errors: FieldError[] = (['limits', 'requests'] as const).flatMap((field) =>
    Object.keys(field === 'limits' ? limits : requests).flatMap((name) =>
      checkResourceName(name).map((detail) => ({
        type: 'Invalid' as const,
        field: `${at}.${field}[${name}]`,
        value: name,
        detail,
      })),
    ),
  );
  for (const [name, limit] of Object.entries(limits)) {
    const request = requests[name];
    if (request === undefined || isAtMost(request, limit)) continue;
    errors.push(invalidField(`${at}.requests`, request, `must be less than or equal to ${name} limit of ${limit}`));
  }
  return errors;
}

function checkResourceName(name: string): string[] {
  if (standardResources.has(name) || name.startsWith('hugepages-')) return [];
  const wrong = checkQualifiedName(name);
  if (name.includes('/')) return wrong;
  return [
    ...wrong,
    'must be a standard resource type or fully qualified',
    'must be a standard resource for containers',
  ];
}

/** Both were read as quantities before. */
function isAtMost(request: string, limit: string): boolean {
  return compareQuantities(parseQuantity(request)!, parseQuantity(limit)!) <= 0;
}

/** A function that returns whether it was called with the same value before. */
export function duplicateFinder<T>(): (value: T) => boolean {
  const seen = new Set<T>();
  return (value) => seen.size === seen.add(value).size;
}
