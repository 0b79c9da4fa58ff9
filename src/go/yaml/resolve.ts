/** Resolves the type of a plain scalar as Go's YAML 1.1 does: yes is true, 0144 is 100, 1_000 is 1000, 1:30 stays text. */

import type { Dialect } from './dialect.js';

export type Resolved =
  | { type: 'null' }
  | { type: 'bool'; value: boolean }
  /** `text` is the number as JSON. */
  | { type: 'int'; text: string }
  | { type: 'float'; value: number }
  | { type: 'str'; value: string };

const prefix = 'tag:yaml.org,2002:';
const words = new Map<string, Resolved>();
for (const word of ['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'])
  words.set(word, { type: 'bool', value: true });
for (const word of ['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'])
  words.set(word, { type: 'bool', value: false });
for (const word of ['', '~', 'null', 'Null', 'NULL']) words.set(word, { type: 'null' });
for (const word of ['.nan', '.NaN', '.NAN']) words.set(word, { type: 'float', value: Number.NaN });
for (const word of ['.inf', '.Inf', '.INF'])
  for (const [sign, value] of [
    ['', Infinity],
    ['+', Infinity],
    ['-', -Infinity],
  ] as const)
    words.set(sign + word, { type: 'float', value });

const resolvable = new Set(
  ['', 'str', 'bool', 'int', 'float', 'null', 'timestamp'].map((name) => name && prefix + name),
);

/** Error for a tag that does not fit its text; Go's wording. */
export class TagError extends Error {}

/** `tag` in its long form, '' for none. */
export function resolveScalar(text: string, tag: string, dialect: Dialect): Resolved {
  if (tag === `${prefix}binary`) return { type: 'str', value: decodeBinary(text) };
  if (!resolvable.has(tag) || tag === `${prefix}str`) return { type: 'str', value: text };
  const found = resolvePlain(text, dialect);
  if (tag === '') return found;
  const wanted = tag.slice(prefix.length);
  if (wanted === found.type) return found;
  if (wanted === 'float' && found.type === 'int' && isInt64(found.text))
    return { type: 'float', value: Number(found.text) };
  const isTime = /^\d{4}-\d{1,2}-\d{1,2}([Tt ].*)?$/.test(text);
  if (wanted === 'timestamp' && isTime) return { type: 'str', value: text };
  throw new TagError(`cannot decode !!${found.type} \`${text}\` as a !!${wanted}`);
}

function resolvePlain(text: string, dialect: Dialect): Resolved {
  const word = words.get(text);
  if (word !== undefined) return word;
  const first = text.charCodeAt(0);
  const isDigit = first >= 48 && first <= 57;
  if (first === 0x2e) {
    const value = Number(text.replaceAll('_', ''));
    if (/^\.\d+(_\d+)*([eE][-+]?\d+(_\d+)*)?$/.test(text) && Number.isFinite(value)) return { type: 'float', value };
  } else if (isDigit || first === 0x2b || first === 0x2d) {
    return resolveNumber(text.replaceAll('_', ''), dialect) ?? { type: 'str', value: text };
  }
  return { type: 'str', value: text };
}

const float = /^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/;
const olderFloat = /^[-+]?\d*\.?\d+([eE][-+]\d+)?$/;

function resolveNumber(plain: string, dialect: Dialect): Resolved | undefined {
  // Most numbers: without a bigint.
  if (/^(0|-?[1-9]\d{0,14})$/.test(plain)) return { type: 'int', text: plain };
  const int = parseInteger(plain);
  if (int !== undefined) return { type: 'int', text: int.toString() };
  if ((dialect.allowsBareExponent ? float : olderFloat).test(plain)) {
    const value = Number(plain);
    if (Number.isFinite(value)) return { type: 'float', value };
  }
  return undefined;
}

/** With a base prefix or a leading 0 for octal, within int64 or, without a sign, uint64. */
function parseInteger(plain: string): bigint | undefined {
  const match = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9]\d*)$/.exec(plain);
  if (match === null) return undefined;
  const [, sign, digits] = match as unknown as [string, string, string];
  const isOldOctal = /^0[0-7]+$/.test(digits);
  const size = BigInt(isOldOctal ? `0o${digits.slice(1)}` : digits.toLowerCase());
  const value = sign === '-' ? -size : size;
  const max = sign === '' ? 2n ** 64n - 1n : 2n ** 63n - 1n;
  return value >= -(2n ** 63n) && value <= max ? value : undefined;
}

function isInt64(text: string): boolean {
  return BigInt(text) < 2n ** 63n;
}

function decodeBinary(text: string): string {
  const compact = text.replace(/[\r\n]/g, '');
  if (compact.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(compact))
    throw new TagError('!!binary value contains invalid base64 data');
  const bytes = Uint8Array.from(atob(compact), (char) => char.charCodeAt(0));
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
