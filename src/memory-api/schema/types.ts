/**
 * The shapes of the built-in kinds: every struct of the Kubernetes API that this server uses, from `facts/types.json`.
 *
 * A line there reads `name? type flags…`: `?` is Go's omitempty; types are Go's (`*T` pointer, `[]T`, `map:T`, a scalar
 * or the name of another shape); flags are patch strategy and merge key, list type and keys, and whether OpenAPI calls
 * it required.
 */
import table from '../facts/types.json' with { type: 'json' };

export type Type =
  | { kind: 'scalar'; name: Scalar }
  | { kind: 'pointer' | 'list' | 'map'; of: Type }
  | { kind: 'enum'; name: string; values: string[] }
  | { kind: 'struct'; name: string };

export type Scalar =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'float64'
  | 'bytes'
  | 'time'
  | 'microtime'
  | 'duration'
  | 'quantity'
  | 'intorstring'
  | 'schemaOrBool'
  | 'raw'
  | 'any';

export interface Field {
  name: string;
  type: Type;
  omitEmpty: boolean;
  required: boolean;
  /** Left out of an object that does not have it; others get their zero value. */
  vanishes: boolean;
  patchStrategy?: string;
  patchMergeKey?: string;
  listType?: string;
  listMapKeys?: string[];
  /** An atomic map. */
  isAtomic?: boolean;
  /** The default of a list key. */
  default?: unknown;
  /** An empty list differs from an absent one. */
  keepsEmpty?: boolean;
}

export interface Struct {
  /** Such as core.v1.NodeSpec. */
  name: string;
  fields: Field[];
  byName: Map<string, Field>;
}

/** Shared, so that it can be compared by identity. */
export const plainText: Type = { kind: 'scalar', name: 'string' };

const lines = new Map<string, string | string[]>(Object.entries(table as Record<string, string | string[]>));
const parsed = new Map<string, Struct>();

/** Throws for an unknown shape, which is a programming error. */
export function structOf(name: string): Struct {
  const known = parsed.get(name);
  if (known !== undefined) return known;
  const fields = lines.get(name);
  if (!Array.isArray(fields)) throw new Error(`no struct ${name} in the table of API types`);
  const struct: Struct = { name, fields: fields.map(parseField), byName: new Map() };
  for (const field of struct.fields) struct.byName.set(field.name, field);
  parsed.set(name, struct);
  return struct;
}

/** The last part of a shape's name, as Go prints it in errors: core.v1.NodeSpec → NodeSpec. */
export function shortName(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

const zeroDefaults: Partial<Record<Scalar, unknown>> = { string: '', int32: 0, int64: 0, bool: false };

function parseField(line: string): Field {
  const [declared = '', type = '', ...flags] = line.split(' ');
  const omitEmpty = declared.endsWith('?');
  const flag = (name: string) => flags.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1);
  const field: Field = {
    name: omitEmpty ? declared.slice(0, -1) : declared,
    type: parseType(type),
    omitEmpty,
    required: flags.includes('required'),
    vanishes: false,
  };
  field.vanishes = omitEmpty && field.type.kind !== 'struct' && !isTime(field.type);
  const [patchStrategy, patchMergeKey, listType, keys] = [flag('patch'), flag('key'), flag('list'), flag('keys')];
  if (patchStrategy !== undefined) field.patchStrategy = patchStrategy;
  if (patchMergeKey !== undefined) field.patchMergeKey = patchMergeKey;
  if (listType !== undefined) field.listType = listType;
  if (keys !== undefined) field.listMapKeys = keys.split(',');
  if (flags.includes('atomic')) field.isAtomic = true;
  const defaulted = flag('default');
  if (defaulted?.startsWith('"')) field.default = JSON.parse(defaulted);
  else if (!omitEmpty && field.type.kind === 'scalar') field.default = zeroDefaults[field.type.name];
  if (flags.includes('keepsEmpty')) field.keepsEmpty = true;
  return field;
}

export function isTime(type: Type): boolean {
  return type.kind === 'scalar' && (type.name === 'time' || type.name === 'microtime');
}

function parseType(text: string): Type {
  if (text.startsWith('*')) return { kind: 'pointer', of: parseType(text.slice(1)) };
  if (text.startsWith('[]')) return { kind: 'list', of: parseType(text.slice(2)) };
  if (text.startsWith('map:')) return { kind: 'map', of: parseType(text.slice(4)) };
  if (text === 'string') return plainText;
  if (!text.includes('.')) return { kind: 'scalar', name: text as Scalar };
  const entry = lines.get(text);
  if (typeof entry === 'string')
    return {
      kind: 'enum',
      name: text,
      values: entry
        .split(' ')
        .slice(1)
        .map((value) => (value === '""' ? '' : value)),
    };
  return { kind: 'struct', name: text };
}
