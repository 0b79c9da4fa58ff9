/**
 * Schemas as types of CEL: types for the checker, and conversion of JSON values. What a schema leaves
 * open (preserved unknown fields) is not visible to expressions, as in Kubernetes.
 */
import type { Environment } from '@marcbachmann/cel-js';
import { isEqual } from './equality.js';
import { dynamicValue } from './values.js';

/** The part of a JSON schema that defines types. */
export interface TypeSchema {
  type?: string;
  format?: string;
  nullable?: boolean;
  properties?: Record<string, TypeSchema>;
  additionalProperties?: TypeSchema | boolean;
  items?: TypeSchema;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  [other: string]: unknown;
}

export interface CelType {
  /** As declarations write it: int, list<string>, selfType.spec … */
  name: string;
  fromJson(value: unknown): unknown;
  /** Declares the types inside in an environment. */
  declare(environment: Environment): void;
}

const objectMeta: TypeSchema = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
};
/** Fields of every object, in its schema or not. */
const objectFields: Record<string, TypeSchema> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: objectMeta,
};

export interface TypeOptions {
  /** The schema is of a whole object with apiVersion, kind and metadata. Default false. */
  isObject?: boolean;
  /** The name of a property that is not an identifier, or is reserved. Default: escaped, as Kubernetes does for schemas. */
  nameOf?(property: string): string | undefined;
}

/** Undefined if the schema has no type. `name` becomes the name of the type if it is an object. */
export function celTypeOf(schema: TypeSchema, name: string, options: TypeOptions = {}): CelType | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) return dynamic;
  const type = ofType(schema, name, {
    nameOf: options.nameOf ?? escapeName,
    isObject: options.isObject === true || schema['x-kubernetes-embedded-resource'] === true,
  });
  // Null has a type of its own; the checker must accept it.
  if (type === undefined || schema.nullable !== true) return type;
  return { ...type, name: 'dyn', fromJson: (value) => (value === null ? null : type.fromJson(value)) };
}

function ofType(schema: TypeSchema, name: string, options: Required<TypeOptions>): CelType | undefined {
  const inner = { nameOf: options.nameOf };
  switch (schema.type) {
    case 'boolean':
      return plain('bool');
    case 'integer':
      return plain('int', (value) => BigInt(value as number));
    case 'number':
      return plain('double');
    case 'string':
      return plain('string');
    case 'array':
      return listType(schema, name, inner);
    case 'object':
      return typeof schema.additionalProperties === 'object' && schema.properties === undefined
        ? mapType(schema.additionalProperties, name, inner)
        : objectType(schema, name, options);
    default:
      return undefined;
  }
}

function plain(name: string, fromJson: (value: unknown) => unknown = (value) => value): CelType {
  return { name, fromJson, declare() {} };
}

export const dynamic = plain('dyn', dynamicValue);

function listType({ items }: TypeSchema, name: string, options: TypeOptions): CelType | undefined {
  const item = items && celTypeOf(items, `${name}.items`, options);
  if (item === undefined) return undefined;
  return {
    name: `list<${item.name}>`,
    fromJson: (value) => (value as unknown[]).map((entry) => item.fromJson(entry)),
    declare: (environment) => item.declare(environment),
  };
}

function mapType(values: TypeSchema, name: string, options: TypeOptions): CelType | undefined {
  const inner = celTypeOf(values, `${name}.values`, options);
  if (inner === undefined) return undefined;
  return {
    name: `map<string, ${inner.name}>`,
    fromJson: (value) => new Map(Object.entries(value as object).map(([key, entry]) => [key, inner.fromJson(entry)])),
    declare: (environment) => inner.declare(environment),
  };
}

function objectType(schema: TypeSchema, name: string, { isObject, nameOf }: Required<TypeOptions>): CelType {
  const fields = new Map<string, { key: string; type: CelType }>();
  const properties = isObject ? { ...schema.properties, ...objectFields } : (schema.properties ?? {});
  for (const [key, property] of Object.entries(properties)) {
    const field = nameOf(key);
    const type = field === undefined ? undefined : celTypeOf(property, `${name}.${field}`, { nameOf });
    if (field !== undefined && type !== undefined) fields.set(field, { key, type });
  }
  // A class for each type: the checker finds the type of a value by it.
  const Ctor = class extends Map<string, unknown> {};
  return {
    name,
    fromJson(value) {
      const given = value as Record<string, unknown>;
      const made = new Ctor();
      for (const [field, { key, type }] of fields)
        if (Object.hasOwn(given, key) && given[key] !== undefined) made.set(field, type.fromJson(given[key]));
      return made;
    },
    declare(environment) {
      for (const { type } of fields.values()) type.declare(environment);
      const declared = Object.fromEntries([...fields].map(([field, { type }]) => [field, type.name]));
      environment.registerType(name, { ctor: Ctor, fields: declared }).registerOperator(`${name} == ${name}`, isEqual);
    },
  };
}

const reserved: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

const escapes: Record<string, string> = { __: '__underscores__', '.': '__dot__', '-': '__dash__', '/': '__slash__' };

/** A property name as CEL writes it: `a-b` as `a__dash__b`, `namespace` as `__namespace__`. Undefined if it cannot be an identifier. */
function escapeName(name: string): string | undefined {
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  if (reserved.has(name)) return `__${name}__`;
  return name.replace(/__|[-./]/g, (found) => escapes[found]!);
}
