/** `'%s has %d'.format([…])`: the verbs s d f e b o x X, and %%. */
import { EvaluationError } from '@marcbachmann/cel-js';

const verb = /%(?:\.(\d{1,2}))?([a-zA-Z%])/g;

export function formatText(text: string, values: unknown[]): string {
  let next = 0;
  const result = text.replace(verb, (_whole, precision: string | undefined, letter: string) => {
    if (letter === '%') return '%';
    if (next >= values.length) throw new EvaluationError(`index ${next} out of range`);
    return formatOne(letter, values[next++], precision === undefined ? 6 : Number(precision));
  });
  return result;
}

function formatOne(letter: string, value: unknown, precision: number): string {
  const wrong = () => new EvaluationError(`error during formatting: no value for %${letter} in ${shown(value)}`);
  switch (letter) {
    case 's':
      return typeof value === 'string' ? value : shown(value);
    case 'd':
      if (typeof value === 'bigint' || typeof value === 'number' || isUnsigned(value)) return String(value);
      throw wrong();
    case 'f':
    case 'e': {
      if (typeof value !== 'number' && typeof value !== 'bigint') throw wrong();
      const number = Number(value);
      return letter === 'f' ? number.toFixed(precision) : exponential(number, precision);
    }
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0';
      if (typeof value === 'bigint') return value.toString(2);
      throw wrong();
    case 'o':
      if (typeof value === 'bigint') return value.toString(8);
      throw wrong();
    case 'x':
    case 'X': {
      const hex = hexOf(value);
      if (hex === undefined) throw wrong();
      return letter === 'x' ? hex : hex.toUpperCase();
    }
    default:
      throw new EvaluationError(`unrecognized formatting clause "${letter}"`);
  }
}

/** Go writes at least two digits of exponent. */
function exponential(value: number, precision: number): string {
  return value.toExponential(precision).replace(/e([+-])(\d)$/, 'e$10$2');
}

function hexOf(value: unknown): string | undefined {
  if (typeof value === 'bigint') return value.toString(16);
  if (typeof value === 'string') return Buffer.from(value).toString('hex');
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : undefined;
}

function isUnsigned(value: unknown): boolean {
  return typeof value === 'object' && value !== null && value.constructor.name === 'UnsignedInt';
}

/** Inside lists and maps text is quoted. */
function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value === null) return 'null';
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  if (value instanceof Date) return value.toISOString().replace(/\.000Z$/, 'Z');
  if (value instanceof Map) return mapShown([...value]);
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype)
    return mapShown(Object.entries(value));
  return String(value);
}

function mapShown(entries: [unknown, unknown][]): string {
  const sorted = entries.map(([key, value]) => `${shown(key)}: ${shown(value)}`).sort();
  return `{${sorted.join(', ')}}`;
}
