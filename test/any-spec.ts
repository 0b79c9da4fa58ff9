/** Objects from the schema of a CustomResourceDefinition: objects that it accepts, and objects in which one value is another. */
import fc from 'fast-check';
import { isObject } from '../src/json.js';

export interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema;
  items?: Schema;
  enum?: unknown[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  minLength?: number;
  maxLength?: number;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-list-type'?: string;
}

/** Values of fields that matter, by path: `strategy.waves[].soak`. A field that is undefined is left out. */
export type Known = (path: string) => fc.Arbitrary<unknown> | undefined;

/** Rules in CEL are not read: some of these objects break one. */
export function anyOf(schema: Schema, known: Known, path = ''): fc.Arbitrary<unknown> {
  const chosen = known(path);
  if (chosen !== undefined) return chosen;
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const { minimum = 0, maximum = 5 } = schema;
  const integer = fc.integer({ min: minimum, max: Math.max(minimum, maximum) });
  if (schema['x-kubernetes-int-or-string']) return fc.oneof(integer, textOf(schema));
  switch (schema.type) {
    case 'object':
      return anyObject(schema, known, path);
    case 'array': {
      const item = anyOf(schema.items ?? {}, known, `${path}[]`);
      const length = { minLength: schema.minItems ?? 0, maxLength: Math.max(schema.minItems ?? 0, 3) };
      return schema['x-kubernetes-list-type'] === 'set' ? fc.uniqueArray(item, length) : fc.array(item, length);
    }
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return integer;
    case 'number':
      return fc.double({ min: -10, max: 200, noNaN: true });
    default:
      return textOf(schema);
  }
}

function anyObject(schema: Schema, known: Known, path: string): fc.Arbitrary<object> {
  const { properties = {}, required = [], additionalProperties } = schema;
  if (additionalProperties !== undefined) {
    const value = anyOf(additionalProperties, known, `${path}{}`);
    return fc.dictionary(fc.constantFrom('a', 'pool', 'x/y'), value, { maxKeys: 2 });
  }
  const prefix = path === '' ? '' : `${path}.`;
  const fields = Object.entries(properties).map(
    ([name, child]) => [name, anyOf(child, known, prefix + name)] as [string, fc.Arbitrary<unknown>],
  );
  return fc
    .record(Object.fromEntries(fields), { requiredKeys: required })
    .map((object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)));
}

function textOf({ pattern, minLength = 0, maxLength = 8 }: Schema): fc.Arbitrary<string> {
  if (pattern === undefined) return fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, 8)) });
  return fc.stringMatching(new RegExp(pattern)).filter((text) => text.length <= maxLength);
}

const others = [null, -1, 2 ** 53, 1.5, '', 'x', '10%', true, [], {}, [null], { a: 'b' }, '-5s'];

/** With one value, anywhere in it, replaced or taken out. */
export const withAnother = (objects: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.tuple(objects, fc.nat(), fc.constantFrom(undefined, ...others)).map(([object, at, value]) => {
    const copy = structuredClone(object);
    const places = placesIn(copy);
    if (places.length > 0) places[at % places.length]!(value);
    return copy;
  });

/** Setters of all values inside it. */
function placesIn(value: unknown): ((other: unknown) => void)[] {
  if (!isObject(value) && !Array.isArray(value)) return [];
  const target = value as Record<string, unknown>;
  return Object.keys(target).flatMap((key) => [
    (other: unknown) => {
      if (other === undefined) delete target[key];
      else target[key] = other;
    },
    ...placesIn(target[key]),
  ]);
}
