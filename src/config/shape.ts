/** The Go type of each field, by minor. Decoding, defaulting and the JSON Schema walk along these types. */
import { fieldsOf } from './fields.js';
import { knownMinor, type Minor } from './model.js';

export type Shape = StructShape | ListShape | MapShape | ScalarShape;

/** Go's name of the type, as its messages print it: `v1beta1.KubeletAuthentication`, `[]string`, `int32`. */
interface Named {
  goName: string;
  /** A pointer: null is kept as nil. */
  pointer: boolean;
}
export interface StructShape extends Named {
  kind: 'struct';
  fields: Map<string, Shape>;
  /** Fields left out when empty, in the elements of a list (configz leaves them out too). */
  omitEmpty: readonly string[];
}
export interface ListShape extends Named {
  kind: 'list';
  item: Shape;
}
export interface MapShape extends Named {
  kind: 'map';
  value: Shape;
}
export interface ScalarShape extends Named {
  kind: 'scalar';
  type: ScalarType;
}
export type ScalarType =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'uint32'
  | 'float64'
  | 'duration'
  | 'quantity'
  | 'time'
  /** logging.flushFrequency: text or nanoseconds since 1.28. */
  | 'duration-or-int';

export const integerRanges = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
} as const;

const goNames: Record<string, string> = {
  '': 'v1beta1.KubeletConfiguration',
  authentication: 'v1beta1.KubeletAuthentication',
  'authentication.x509': 'v1beta1.KubeletX509Authentication',
  'authentication.webhook': 'v1beta1.KubeletWebhookAuthentication',
  'authentication.anonymous': 'v1beta1.KubeletAnonymousAuthentication',
  authorization: 'v1beta1.KubeletAuthorization',
  'authorization.mode': 'v1beta1.KubeletAuthorizationMode',
  'authorization.webhook': 'v1beta1.KubeletWebhookAuthorization',
  configMapAndSecretChangeDetectionStrategy: 'v1beta1.ResourceChangeDetectionStrategy',
  memorySwap: 'v1beta1.MemorySwapConfiguration',
  'reservedMemory[]': 'v1beta1.MemoryReservation',
  'reservedMemory[].limits': 'v1.ResourceList',
  'shutdownGracePeriodByPodPriority[]': 'v1beta1.ShutdownGracePeriodByPodPriority',
  'registerWithTaints[]': 'v1.Taint',
  'registerWithTaints[].effect': 'v1.TaintEffect',
  tracing: 'v1.TracingConfiguration',
  crashLoopBackOff: 'v1beta1.CrashLoopBackOffConfig',
  userNamespaces: 'v1beta1.UserNamespaces',
  imagePullCredentialsVerificationPolicy: 'v1beta1.ImagePullCredentialsVerificationPolicy',
  memoryReservationPolicy: 'v1beta1.MemoryReservationPolicy',
};
const loggingNames: Record<string, string> = {
  logging: 'LoggingConfiguration',
  'logging.vmodule': 'VModuleConfiguration',
  'logging.vmodule[]': 'VModuleItem',
  'logging.options': 'FormatOptions',
  'logging.options.json': 'JSONOptions',
  'logging.options.text': 'TextOptions',
};

const cache = new Map<Minor, StructShape>();

/** The shape of the whole KubeletConfiguration in that minor. */
export function shapeOf(minor: Minor): StructShape {
  const known = knownMinor(minor);
  let root = cache.get(known);
  if (root === undefined) {
    root = buildShape(known);
    cache.set(known, root);
  }
  return root;
}

/** The shape of a field; undefined if that minor has none. */
export function shapeAt(path: readonly string[], minor: Minor): Shape | undefined {
  let shape: Shape | undefined = shapeOf(minor);
  for (const part of path) shape = shape?.kind === 'struct' ? shape.fields.get(part) : undefined;
  return shape;
}

function buildShape(minor: Minor): StructShape {
  const root = struct('', minor, false);
  for (const { path, goType, pointer } of fieldsOf(minor)) {
    const parts = path.split('.');
    const name = parts.pop()!;
    const parent = parts.reduce((shape, part) => descend(shape, part), root);
    // Until 1.22 an empty resolvConf could not be distinguished from a missing one.
    const isPointer = pointer && !(path === 'resolvConf' && minor < 23);
    parent.fields.set(name, shapeOfType(path, goType, isPointer, minor));
  }
  return root;
}

function descend(shape: StructShape, part: string): StructShape {
  const name = part.replace('[]', '');
  const child = shape.fields.get(name)!;
  return (child.kind === 'list' ? child.item : child) as StructShape;
}

function shapeOfType(path: string, goType: string, pointer: boolean, minor: Minor): Shape {
  if (goType === '{}') return struct(path, minor, pointer);
  if (goType.startsWith('[]')) {
    const item = shapeOfType(`${path}[]`, goType.slice(2), false, minor);
    return { kind: 'list', item, pointer, goName: nameOf(path, minor) ?? `[]${item.goName}` };
  }
  const map = /^map\[string\](.+)$/.exec(goType);
  if (map !== null) {
    const value = shapeOfType(`${path}{}`, map[1]!, false, minor);
    return { kind: 'map', value, pointer, goName: nameOf(path, minor) ?? `map[string]${value.goName}` };
  }
  return scalar(path, goType, pointer, minor);
}

function struct(path: string, minor: Minor, pointer: boolean): StructShape {
  const omitEmpty = path === 'registerWithTaints[]' ? ['value', 'timeAdded'] : [];
  const shape: StructShape = { kind: 'struct', fields: new Map(), omitEmpty, pointer, goName: nameOf(path, minor)! };
  if (path === 'logging.vmodule[]') {
    shape.fields.set('filePattern', scalar(`${path}.filePattern`, 'string', false, minor));
    shape.fields.set('verbosity', scalar(`${path}.verbosity`, 'uint32', false, minor));
  }
  return shape;
}

function scalar(path: string, goType: string, pointer: boolean, minor: Minor): ScalarShape {
  const named = (type: ScalarType, goName: string): ScalarShape => ({
    kind: 'scalar',
    type,
    pointer,
    goName: nameOf(path, minor) ?? goName,
  });
  if (path === 'logging.flushFrequency')
    return minor < 28 ? named('int64', 'time.Duration') : named('duration-or-int', 'int64');
  if (goType === 'uint32') return named('uint32', minor < 25 ? 'uint32' : 'v1.VerbosityLevel');
  // These read themselves: what Go reports is the text or number they asked for.
  if (goType === 'Duration') return named('duration', 'string');
  if (goType === 'Quantity') return named('quantity', 'resource.Quantity');
  if (goType === 'Time') return named('time', 'string');
  return named(goType as ScalarType, goType);
}

function nameOf(path: string, minor: Minor): string | undefined {
  const logging = loggingNames[path];
  if (logging !== undefined) return `${minor < 25 ? 'v1alpha1' : 'v1'}.${logging}`;
  return goNames[path];
}
