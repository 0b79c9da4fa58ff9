/** Zero values as Go encodes them, and when omitempty leaves a field out. */
import { type Field, isTime, type Scalar, structOf, type Type } from './types.js';

/** Undefined if the field is left out. Structs and times have no empty form: omitempty does not apply to them. */
export function zero(field: Field): unknown {
  const { type } = field;
  if (type.kind === 'struct') return zeroStruct(type.name);
  if (isTime(type)) return null;
  return field.omitEmpty ? undefined : zeroOf(type);
}

export function zeroStruct(name: string): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const field of structOf(name).fields) {
    const value = zero(field);
    if (value !== undefined) result[field.name] = value;
  }
  return result;
}

/** The value of a list or map element that was given as null. */
export function zeroOf(type: Type): unknown {
  switch (type.kind) {
    case 'struct':
      return zeroStruct(type.name);
    case 'enum':
      return '';
    case 'scalar':
      return zeroScalar(type.name);
    default:
      return null;
  }
}

export function isEmpty(type: Type, value: unknown): boolean {
  if (value === null) return !isTime(type);
  switch (type.kind) {
    case 'pointer':
    case 'struct':
      return false;
    case 'list':
      return (value as unknown[]).length === 0;
    case 'map':
      return Object.keys(value as object).length === 0;
    default:
      return value === '' || value === 0 || value === false;
  }
}

function zeroScalar(scalar: Scalar): unknown {
  switch (scalar) {
    case 'string':
      return '';
    case 'bool':
      return false;
    case 'int32':
    case 'int64':
    case 'float64':
    case 'intorstring':
      return 0;
    case 'quantity':
      return '0';
    default:
      return null;
  }
}
