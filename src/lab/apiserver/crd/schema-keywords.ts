/**
 * Which keywords of OpenAPI a CRD's schema may use, and how the list and map extensions of Kubernetes combine. Checked
 * before the structure (structural.ts), which relies on it.
 */
import { type FieldError, forbiddenField, invalidField, requiredField, unsupportedField } from '../field-error.js';
import { type JsonSchema, propertyOf } from './json-schema.js';

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const unsupported = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'];

export function validateKeywords(schema: JsonSchema, path: string): FieldError[] {
  const { additionalProperties, properties = {}, items, not } = schema;
  const inner = (word: string, entries: JsonSchema[] = []) =>
    entries.flatMap((entry, index) => validateKeywords(entry, `${path}.${word}[${index}]`));
  return [
    ...ownWords(schema, path),
    ...(typeof additionalProperties === 'object'
      ? validateKeywords(additionalProperties, `${path}.additionalProperties`)
      : []),
    ...Object.entries(properties).flatMap(([key, property]) =>
      validateKeywords(property, `${path}.properties[${key}]`),
    ),
    ...(not === undefined ? [] : validateKeywords(not, `${path}.not`)),
    ...inner('allOf', schema.allOf),
    ...inner('oneOf', schema.oneOf),
    ...inner('anyOf', schema.anyOf),
    ...(items === undefined || Array.isArray(items) ? [] : validateKeywords(items, `${path}.items`)),
    ...openWords(schema, path),
    ...mapWords(schema, path),
    ...listWords(schema, path),
  ];
}

function ownWords(schema: JsonSchema, path: string): FieldError[] {
  const { type, additionalProperties, properties = {} } = schema;
  const isClosed = additionalProperties !== undefined && additionalProperties !== true;
  return [
    ...(type && !types.includes(type) ? [unsupportedField(`${path}.type`, type, types)] : []),
    ...unsupported
      .filter((word) => schema[word] !== undefined && schema[word] !== '')
      .map((word) => forbiddenField(`${path}.${word}`, `${word} is not supported`)),
    ...(type === 'null'
      ? [forbiddenField(`${path}.type`, 'type cannot be set to null, use nullable as an alternative')]
      : []),
    ...(Array.isArray(schema.items)
      ? [forbiddenField(`${path}.items`, 'items must be a schema object and not an array')]
      : []),
    ...(schema.uniqueItems
      ? [
          forbiddenField(
            `${path}.uniqueItems`,
            'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
          ),
        ]
      : []),
    ...(isClosed && Object.keys(properties).length > 0
      ? [forbiddenField(`${path}.additionalProperties`, 'additionalProperties and properties are mutual exclusive')]
      : []),
  ];
}

function openWords(schema: JsonSchema, path: string): FieldError[] {
  const word = 'x-kubernetes-preserve-unknown-fields';
  return schema[word] === false ? [invalidField(`${path}.${word}`, false, 'must be true or undefined')] : [];
}

/** A type that an extension of Kubernetes requires. */
function needsType(schema: JsonSchema, type: string, word: string, path: string): FieldError[] {
  const rule = `must be ${type} if ${word} is specified`;
  if (schema.type === type) return [];
  return [schema.type ? invalidField(`${path}.type`, schema.type, rule) : requiredField(`${path}.type`, rule)];
}

function mapWords(schema: JsonSchema, path: string): FieldError[] {
  const word = 'x-kubernetes-map-type';
  const kind = schema[word];
  if (kind === undefined) return [];
  const known = ['atomic', 'granular'];
  return [
    ...needsType(schema, 'object', word, path),
    ...(known.includes(kind) ? [] : [unsupportedField(`${path}.${word}`, kind, known)]),
  ];
}

function listWords(schema: JsonSchema, path: string): FieldError[] {
  const [word, keysWord] = ['x-kubernetes-list-type', 'x-kubernetes-list-map-keys'] as const;
  const kind = schema[word];
  const keys = schema[keysWord] ?? [];
  const known = ['atomic', 'set', 'map'];
  const onlyMaps = `must be map if ${keysWord} is non-empty`;
  const wrongType = kind === undefined ? [] : needsType(schema, 'array', word, path);
  return [
    ...(wrongType.length > 0 || kind !== 'set' ? wrongType : setItems(schema.items, `${path}.items`)),
    ...(kind !== undefined && !known.includes(kind) ? [unsupportedField(`${path}.${word}`, kind, known)] : []),
    ...(keys.length > 0 && kind === undefined ? [requiredField(`${path}.${word}`, onlyMaps)] : []),
    ...(keys.length > 0 && kind !== undefined && kind !== 'map'
      ? [invalidField(`${path}.${word}`, kind, onlyMaps)]
      : []),
    ...(kind === 'map' ? mapListItems(schema, keys, path) : []),
    ...(kind === 'map' || kind === 'set' ? identityErrors(schema, kind, keys, path) : []),
  ];
}

/** Elements of a set are compared whole, so they must be atomic. */
function setItems(items: JsonSchema | undefined, path: string): FieldError[] {
  const rule = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const [list, map] = [items?.['x-kubernetes-list-type'], items?.['x-kubernetes-map-type']];
  if (items?.type === 'array' && list !== undefined && list !== 'atomic')
    return [invalidField(`${path}.x-kubernetes-list-type`, list, rule)];
  // Kubernetes shows the list type here as well, which is empty for a map.
  if (items?.type === 'object' && map !== 'atomic') return [invalidField(`${path}.x-kubernetes-map-type`, list, rule)];
  return [];
}

function mapListItems({ items }: JsonSchema, keys: string[], path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (keys.length === 0)
    errors.push(
      requiredField(`${path}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map'),
    );
  if (items === undefined)
    return [...errors, requiredField(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map')];
  if (items.type !== 'object')
    errors.push(
      invalidField(
        `${path}.items.type`,
        items.type ?? '',
        "must be object if parent array's x-kubernetes-list-type is map",
      ),
    );
  if (items.type === 'object') errors.push(...mapListKeys(items, keys, path));
  return errors;
}

function mapListKeys(items: JsonSchema, keys: string[], path: string): FieldError[] {
  const complain = (rule: string) => invalidField(`${path}.x-kubernetes-list-map-keys`, keys, rule);
  const scalar = "must be a scalar type if parent array's x-kubernetes-list-type is map";
  return keys.flatMap((key, index) => {
    const property = propertyOf(items, key);
    const isScalar = property?.type !== 'array' && property?.type !== 'object';
    return [
      ...(property === undefined ? [complain('entries must all be names of item properties')] : []),
      // Kubernetes shows the type of the items here.
      ...(isScalar ? [] : [invalidField(`${path}.items.properties[${key}].type`, 'object', scalar)]),
      ...(keys.indexOf(key) < index ? [complain('must not contain duplicate entries')] : []),
    ];
  });
}

/** Keys of items are required and never null. */
function identityErrors({ items }: JsonSchema, kind: string, keys: string[], path: string): FieldError[] {
  if (items === undefined) return [];
  const isKey = 'this property is in x-kubernetes-list-map-keys, so it';
  return [
    ...(items.nullable
      ? [forbiddenField(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${kind}`)]
      : []),
    ...keys.flatMap((key) => {
      const property = propertyOf(items, key);
      if (property === undefined) return [];
      const at = `${path}.items.properties[${key}]`;
      const isAlwaysThere = (items.required ?? []).includes(key) || property.default !== undefined;
      return [
        ...(isAlwaysThere
          ? []
          : [requiredField(`${at}.default`, `${isKey} must have a default or be a required property`)]),
        ...(property.nullable ? [forbiddenField(`${at}.nullable`, `${isKey} cannot be nullable`)] : []),
      ];
    }),
  ];
}
