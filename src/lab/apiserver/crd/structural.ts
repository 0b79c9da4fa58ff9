/** Whether a CRD's schema is structural: every value's type is known, as pruning and defaults require. */

import { compilePattern, PatternError } from '../../../go/regex.js';
import { type FieldError, fieldErrorText, forbiddenField, invalidField, requiredField } from '../field-error.js';
import { type JsonSchema, propertyOf } from './json-schema.js';
import { prune } from './prune.js';
import { validateValue } from './validate-value.js';

type Level = 'root' | 'item' | 'field';

const missingType: Record<Level, string> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

export function validateStructural(schema: JsonSchema, path: string): FieldError[] {
  const errors = checkLevel(schema, 'root', path);
  return errors.sort((a, b) => (fieldErrorText(a) < fieldErrorText(b) ? -1 : 1));
}

function checkLevel(schema: JsonSchema, level: Level, path: string): FieldError[] {
  const { items, properties = {}, additionalProperties } = schema;
  return [
    ...(schema.type === 'array' && items === undefined ? [requiredField(`${path}.items`, 'must be specified')] : []),
    ...(items === undefined ? [] : checkLevel(items, 'item', `${path}.items`)),
    ...Object.entries(properties).flatMap(([key, inner]) => checkLevel(inner, 'field', `${path}.properties[${key}]`)),
    ...(additionalProperties !== undefined && level === 'root'
      ? [forbiddenField(`${path}.additionalProperties`, 'must not be used at the root')]
      : []),
    ...(typeof additionalProperties === 'object'
      ? checkLevel(additionalProperties, 'field', `${path}.additionalProperties`)
      : []),
    ...checkType(schema, level, path),
    ...checkEmbedded(schema, path),
    ...checkNested(schema, path),
    ...checkPattern(schema, path),
    ...checkDefault(schema, path),
    ...(level === 'root' ? checkObjectFields(schema, path) : []),
  ];
}

function checkType(schema: JsonSchema, level: Level, path: string): FieldError[] {
  const { type } = schema;
  const isOpen =
    schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (schema['x-kubernetes-embedded-resource'] === true && type !== 'object') {
    const rule = 'must be object if x-kubernetes-embedded-resource is true';
    return [type === undefined ? requiredField(`${path}.type`, rule) : invalidField(`${path}.type`, type, rule)];
  }
  if (type === undefined) return isOpen ? [] : [requiredField(`${path}.type`, missingType[level])];
  return level === 'root' && type !== 'object'
    ? [invalidField(`${path}.type`, type, 'must be object at the root')]
    : [];
}

/** An embedded object has more than the common fields. */
function checkEmbedded(schema: JsonSchema, path: string): FieldError[] {
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (schema['x-kubernetes-embedded-resource'] !== true || isOpen) return [];
  if (Object.keys(schema.properties ?? {}).length > 0) return [];
  const rule =
    'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
  return [requiredField(`${path}.properties`, rule)];
}

const forbiddenInside: [keyof JsonSchema, string][] = [
  ['type', 'must be empty to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['additionalProperties', 'must be undefined to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
];

/** Inside allOf, anyOf, oneOf and not only value validations are allowed. */
function checkNested(schema: JsonSchema, path: string): FieldError[] {
  const { allOf = [], anyOf = [], oneOf = [], not } = schema;
  const each = (word: string, entries: JsonSchema[]) =>
    entries.flatMap((entry, index) => checkInside(entry, `${path}.${word}[${index}]`));
  return [
    ...(isIntOrStringPattern(schema) ? [] : each('anyOf', anyOf)),
    ...each('allOf', allOf),
    ...each('oneOf', oneOf),
    ...(not === undefined ? [] : checkInside(not, `${path}.not`)),
  ];
}

function checkInside(schema: JsonSchema, path: string): FieldError[] {
  return [
    ...forbiddenInside
      .filter(([field]) => schema[field] !== undefined && schema[field] !== false && schema[field] !== '')
      .map(([field, rule]) => forbiddenField(`${path}.${field}`, rule)),
    ...Object.entries(schema.properties ?? {}).flatMap(([key, inner]) =>
      checkInside(inner, `${path}.properties[${key}]`),
    ),
    ...(schema.items === undefined ? [] : checkInside(schema.items, `${path}.items`)),
    ...checkNested(schema, path),
    ...checkPattern(schema, path),
  ];
}

/** The one use of types inside anyOf that is allowed: integer or string. */
function isIntOrStringPattern(schema: JsonSchema): boolean {
  const types = (schema.anyOf ?? []).map((entry) => (Object.keys(entry).length === 1 ? entry.type : undefined));
  return schema['x-kubernetes-int-or-string'] === true && types.join() === 'integer,string';
}

function checkPattern({ pattern }: JsonSchema, path: string): FieldError[] {
  if (pattern === undefined) return [];
  try {
    compilePattern(pattern);
    return [];
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    const detail = `must be a valid regular expression, but isn't: ${error.message}`;
    return [invalidField(`${path}.pattern`, pattern, detail)];
  }
}

function checkDefault(schema: JsonSchema, path: string): FieldError[] {
  if (schema.default === undefined || schema.default === null) return [];
  const errors = validateValue(schema.default, schema, `${path}.default`);
  if (errors.length > 0) return errors;
  // A default must not be changed by pruning.
  const unknown = prune({ default: structuredClone(schema.default) }, { properties: { default: schema } });
  return unknown.length === 0 ? [] : [invalidField(`${path}.default`, schema.default, 'must not have unknown fields')];
}

function checkObjectFields(schema: JsonSchema, path: string): FieldError[] {
  const errors = ['kind', 'apiVersion'].flatMap((field) => {
    const type = propertyOf(schema, field)?.type;
    return propertyOf(schema, field) === undefined || type === 'string'
      ? []
      : [invalidField(`${path}.properties[${field}].type`, type ?? '', 'must be string')];
  });
  const metadata = propertyOf(schema, 'metadata');
  if (metadata === undefined) return errors;
  const extra = Object.keys(metadata.properties ?? {}).filter((key) => key !== 'name' && key !== 'generateName');
  if (metadata.type !== 'object')
    errors.push(invalidField(`${path}.properties[metadata].type`, metadata.type ?? '', 'must be object'));
  if (extra.length > 0)
    errors.push(
      forbiddenField(
        `${path}.properties[metadata]`,
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      ),
    );
  return errors;
}
