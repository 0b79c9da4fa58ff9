/** Objects inside objects (x-kubernetes-embedded-resource) have apiVersion, kind and metadata, as every object. */
import { isObject } from '../../../json.js';
import { type FieldError, requiredField } from '../field-error.js';
import { additionalOf, type JsonSchema, propertyOf } from './json-schema.js';

export function embeddedErrors(value: unknown, schema: JsonSchema, path = ''): FieldError[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? [] : value.flatMap((item, index) => embeddedErrors(item, items, `${path}[${index}]`));
  }
  if (!isObject(value)) return [];
  const own = schema['x-kubernetes-embedded-resource'] === true ? missingTypes(value, path) : [];
  const inside = Object.entries(value).flatMap(([key, item]) => {
    const inner = propertyOf(schema, key) ?? additionalOf(schema);
    return inner === undefined ? [] : embeddedErrors(item, inner, path === '' ? key : `${path}.${key}`);
  });
  return [...own, ...inside];
}

function missingTypes(value: Record<string, unknown>, path: string): FieldError[] {
  return ['apiVersion', 'kind']
    .filter((field) => !value[field])
    .map((field) => requiredField(`${path}.${field}`, 'must not be empty'));
}
