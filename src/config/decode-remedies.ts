/** Remedies for values that Go cannot decode. The error names Go types; the remedy says what to write in the document. */
import type { Value } from '../go/yaml/value.js';
import { integerRanges, type ScalarShape, type Shape } from './shape.js';

/** As an order, without a full stop. */
export function remedyFor(value: Value, shape: Shape, path: string): string {
  switch (shape.kind) {
    case 'struct':
      return `write its fields below ${path}: ${[...shape.fields.keys()].join(', ')}`;
    case 'map':
      return `write names and values below ${path}, such as ${exampleEntry(shape.value, path)}`;
    case 'list':
      return isScalar(value)
        ? `write a list, also for one value: [${shownIn(shape.item, value)}]`
        : `write a list: each item of ${path} on a line that begins with "- "`;
    case 'scalar':
      return isScalar(value)
        ? scalarRemedy(value, shape, path)
        : `write one value, not a ${value.kind === 'array' ? 'list' : 'map'}: ${path} takes ${nounOf(shape, path)}`;
  }
}

type ScalarValue = Extract<Value, { kind: 'bool' | 'number' | 'string' | 'null' }>;

/** `kubeReserved` for `kubeReserved[memory]`. */
const fieldOf = (path: string): string => path.replace(/\[.*$/s, '');

const isScalar = (value: Value): value is ScalarValue => value.kind !== 'array' && value.kind !== 'object';

/** The text as a person wrote it, near enough. */
function written(value: ScalarValue): string {
  if (value.kind === 'null') return 'null';
  const text = value.kind === 'number' ? value.text : String(value.value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

const shownIn = (item: Shape, value: ScalarValue): string =>
  item.kind === 'scalar' && item.type === 'string' ? `"${written(value)}"` : written(value);

function scalarRemedy(value: ScalarValue, shape: ScalarShape, path: string): string {
  switch (shape.type) {
    case 'string':
      return `write "${written(value)}" in quotes: ${fieldOf(path)} takes ${nounOf(shape, path)}`;
    case 'bool':
      return booleanRemedy(value);
    case 'duration':
    case 'duration-or-int':
      return value.kind === 'number' && /^\d+$/.test(value.text)
        ? `write ${value.text}s for seconds: a duration has a unit`
        : 'write a number and a unit, such as 90s, 1m30s or 2h; there is no unit for days';
    case 'quantity':
      return 'write a quantity such as 500m, 1Gi or 10G';
    case 'time':
      return 'write a time such as "2026-01-31T12:00:00Z", in quotes';
    case 'float64':
      return isNumber(value) ? `write ${written(value)} without quotes` : 'write a number';
    default:
      return integerRemedy(value, shape.type);
  }
}

function booleanRemedy(value: ScalarValue): string {
  const text = written(value).toLowerCase();
  if (/^(true|yes|on|y|t|1|enabled?)$/.test(text)) return 'write true, without quotes';
  if (/^(false|no|off|n|f|0|disabled?)$/.test(text)) return 'write false, without quotes';
  return 'write true or false';
}

function integerRemedy(value: ScalarValue, type: keyof typeof integerRanges): string {
  const [min, max] = integerRanges[type];
  if (value.kind === 'string' && /^-?\d{1,18}$/.test(value.value) && isWithin(BigInt(value.value), min, max))
    return `write ${value.value} without quotes`;
  return value.kind === 'number' && /^-?\d+$/.test(value.text)
    ? `write a number from ${min} to ${max}`
    : 'write a whole number';
}

const isWithin = (number: bigint, min: bigint, max: bigint): boolean => number >= min && number <= max;
const isNumber = (value: ScalarValue): boolean =>
  value.kind === 'string' && value.value.trim() !== '' && Number.isFinite(Number(value.value));

/** Text that the kubelet reads as something else when it starts: what it is, and an entry of the map. */
const texts: Record<string, readonly [noun: string, entry: string]> = {
  kubeReserved: ['quantities as text', 'memory: 500Mi'],
  systemReserved: ['quantities as text', 'memory: 500Mi'],
  evictionHard: ['quantities and percentages as text', 'memory.available: 200Mi'],
  evictionSoft: ['quantities and percentages as text', 'memory.available: 500Mi'],
  evictionMinimumReclaim: ['quantities and percentages as text', 'nodefs.available: 500Mi'],
  evictionSoftGracePeriod: ['durations as text', 'memory.available: 1m30s'],
  qosReserved: ['percentages as text', 'memory: 50%'],
  containerLogMaxSize: ['a quantity as text', ''],
};

const textAt = (path: string) => (Object.hasOwn(texts, fieldOf(path)) ? texts[fieldOf(path)] : undefined);

function nounOf({ type }: ScalarShape, path: string): string {
  if (type === 'string') return textAt(path)?.[0] ?? 'text';
  if (type === 'bool') return 'true or false';
  if (type.startsWith('duration')) return 'a duration';
  return type === 'quantity' || type === 'time' ? `a ${type}` : 'a number';
}

function exampleEntry(value: Shape, path: string): string {
  if (value.kind === 'list') return 'NAME: [VALUE]';
  return textAt(path)?.[1] ?? (value.kind === 'scalar' && value.type === 'bool' ? 'NAME: true' : 'NAME: VALUE');
}
