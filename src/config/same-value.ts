/** Compares two values of a field by meaning: durations and quantities as values, maps in any order. */
import { parseDuration } from '../go/duration.js';
import { parseQuantity } from '../go/quantity.js';
import { fieldAt } from './fields.js';

/** `path` may name an element: `clusterDNS[0]`, `evictionHard[memory.available]`. */
export function sameValue(a: unknown, b: unknown, path: string): boolean {
  if (a === b) return true;
  if (a === null || b === null || a === undefined || b === undefined) {
    const absent = absentMeans[path] ?? null;
    return (a ?? absent) === (b ?? absent);
  }
  if (Array.isArray(a) || Array.isArray(b)) return sameLists(a, b, path);
  if (typeof a === 'object' && typeof b === 'object') return sameMaps(a, b, path);
  return sameScalars(a, b, meaningOf(path));
}

/** A kubelet shows these in /configz although nobody set them and they have no default. */
const absentMeans: Record<string, unknown> = { enableSystemLogQuery: false };

function sameLists(a: unknown, b: unknown, path: string): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((item, index) => sameValue(item, b[index], `${path}[]`));
}

/** A nil value is like none: `limits: null` in an item of reservedMemory. */
function sameMaps(a: object, b: object, path: string): boolean {
  const [left, right] = [entriesOf(a), entriesOf(b)];
  if (left.size !== right.size) return false;
  return [...left].every(([key, value]) => right.has(key) && sameValue(value, right.get(key), childOf(path, key)));
}

const entriesOf = (object: object): Map<string, unknown> =>
  new Map(Object.entries(object).filter(([, value]) => value !== null && value !== undefined));

/** The path of a map's value or a struct's field; which of the two makes no difference to its meaning. */
function childOf(path: string, key: string): string {
  const field = `${path}.${key}`;
  return fieldAt(field) !== undefined ? field : `${path}{}`;
}

type Meaning = 'duration' | 'quantity' | 'socket' | 'text';

const sockets = ['containerRuntimeEndpoint', 'imageServiceEndpoint'];

const quantityMaps = ['kubeReserved', 'systemReserved', 'evictionHard', 'evictionSoft', 'evictionMinimumReclaim'];
const quantities = ['containerLogMaxSize', 'reservedMemory[].limits{}', ...quantityMaps.map((map) => `${map}{}`)];

/** Several fields are text to Go and hold a duration or a quantity all the same. */
export function meaningOf(path: string): Meaning {
  if (path === 'evictionSoftGracePeriod{}') return 'duration';
  if (sockets.includes(path)) return 'socket';
  if (quantities.includes(path)) return 'quantity';
  const goType = fieldAt(path)?.goType;
  return goType === 'Duration' ? 'duration' : goType === 'Quantity' ? 'quantity' : 'text';
}

function sameScalars(a: unknown, b: unknown, meaning: Meaning): boolean {
  if (meaning === 'text')
    return typeof a !== 'object' && typeof b !== 'object' && String(a) === String(b) && typeof a === typeof b;
  if (meaning === 'socket') return socketOf(a) === socketOf(b);
  const read = meaning === 'duration' ? durationOf : quantityOf;
  const [x, y] = [read(a), read(b)];
  return x === undefined || y === undefined ? String(a) === String(b) : x === y;
}

/** The kubelet takes a path for a unix socket, and /var/run is a link to /run on every Linux that it runs on. */
const socketOf = (value: unknown): string =>
  String(value)
    .replace(/^unix:\/\//, '')
    .replace(/^\/var\/run\//, '/run/');

/** A number is nanoseconds (logging.flushFrequency). */
function durationOf(value: unknown): bigint | undefined {
  try {
    return typeof value === 'string' ? parseDuration(value) : BigInt(value as number);
  } catch {
    return undefined;
  }
}

/** Eviction thresholds may be percentages of what the host has; those compare among themselves. */
function quantityOf(value: unknown): bigint | string | undefined {
  const percent = /^([0-9.]+)%$/.exec(String(value));
  return percent === null ? parseQuantity(String(value))?.nano : `${Number(percent[1])}%`;
}
