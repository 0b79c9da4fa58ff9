/** Validates a value by a CRD's schema, with the messages of Kubernetes. */

import { quote } from '../../go/quote.js';
import { compilePattern } from '../../go/regex.js';
import { isObject } from '../../json.js';
import {
  type FieldError,
  invalidField,
  requiredField,
  tooLongField,
  tooManyField,
  unsupportedField,
} from '../field-error.js';
import { identityOf, isEquivalent } from '../json-equality.js';
import { duplicateErrors } from './duplicates.js';
import { additionalOf, type JsonMap, type JsonSchema, propertyOf } from './json-schema.js';

/** The place of a value: `base` is put before paths, `name` is also in the text of messages. */
interface Place {
  base: string;
  name: string;
}

/** Errors of the schema first, then duplicates in sets and maps, as in Kubernetes. */
export function validateValue(value: unknown, schema: JsonSchema, base = ''): FieldError[] {
  return [...check(value, schema, { base, name: '' }), ...duplicateErrors(value, schema, base)];
}

function check(value: unknown, schema: JsonSchema, place: Place): FieldError[] {
  if (value === null) return schema.nullable === true || allowsAnything(schema) ? [] : typeErrors(value, schema, place);
  return [
    ...typeErrors(value, schema, place),
    ...alternativeErrors(value, schema, place),
    ...(typeof value === 'string' ? textErrors(value, schema, place) : []),
    ...(typeof value === 'number' ? numberErrors(value, schema, place) : []),
    ...(Array.isArray(value) ? listErrors(value, schema, place) : []),
    ...(schema.enum === undefined || schema.enum.some((entry) => isEquivalent(entry, value))
      ? []
      : [
          unsupportedField(
            path(place),
            value,
            schema.enum.map((entry) => (typeof entry === 'string' ? entry : JSON.stringify(entry))),
          ),
        ]),
    ...(isObject(value) ? mapErrors(value, schema, place) : []),
  ];
}

function allowsAnything(schema: JsonSchema): boolean {
  return schema.type === undefined && schema['x-kubernetes-int-or-string'] !== true;
}

function path({ base, name }: Place): string {
  const trimmed = name.replace(/^\./, '');
  return base === '' || trimmed === '' ? base + trimmed : `${base}.${trimmed}`;
}

function typeErrors(value: unknown, schema: JsonSchema, place: Place): FieldError[] {
  const actual = jsonType(value);
  const wanted = schema['x-kubernetes-int-or-string'] === true ? 'integer,string' : schema.type;
  if (wanted !== undefined && !fits(actual, wanted)) return [typeError(actual, wanted, actual, place)];
  if (typeof value === 'string' && schema.format !== undefined && !isOfFormat(value, schema.format))
    return [typeError(value, schema.format, value, place)];
  return [];
}

function typeError(shown: string, wanted: string, data: string, place: Place): FieldError {
  const detail = `${place.name} in body must be of type ${wanted}: ${quote(data)}`;
  return { type: 'TypeInvalid', field: path(place), value: quote(shown), detail };
}

function jsonType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function fits(actual: string, wanted: string): boolean {
  return wanted.split(',').some((type) => type === actual || (type === 'number' && actual === 'integer'));
}

function invalid(place: Place, value: unknown, rule: string): FieldError {
  return invalidField(path(place), value, `${place.name} in body ${rule}`);
}

function textErrors(value: string, schema: JsonSchema, place: Place): FieldError[] {
  const { minLength, maxLength, pattern } = schema;
  const length = [...value].length;
  // Kubernetes reports one error per text.
  if (maxLength !== undefined && length > maxLength) return [tooLongField(path(place), maxLength)];
  if (minLength !== undefined && length < minLength)
    return [invalid(place, value, `should be at least ${minLength} chars long`)];
  if (pattern !== undefined && !compilePattern(pattern).test(value))
    return [invalid(place, value, `should match '${pattern}'`)];
  return [];
}

function numberErrors(value: number, schema: JsonSchema, place: Place): FieldError[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const errors: FieldError[] = [];
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf))
    errors.push(invalid(place, value, `should be a multiple of ${multipleOf}`));
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum))
    errors.push(invalid(place, value, `should be less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`));
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum))
    errors.push(invalid(place, value, `should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`));
  return errors;
}

function listErrors(value: unknown[], schema: JsonSchema, place: Place): FieldError[] {
  const { items, minItems, maxItems } = schema;
  const errors = value.flatMap((item, index) =>
    items === undefined ? [] : check(item, items, { ...place, name: `${place.name}[${index}]` }),
  );
  if (minItems !== undefined && value.length < minItems)
    errors.push(invalid(place, value.length, `should have at least ${minItems} items`));
  if (maxItems !== undefined && value.length > maxItems) errors.push(tooManyField(path(place), value.length, maxItems));
  if (schema.uniqueItems && hasDuplicate(value)) errors.push(invalid(place, value, "shouldn't contain duplicates"));
  return errors;
}

function hasDuplicate(value: unknown[]): boolean {
  return new Set(value.map(identityOf)).size < value.length;
}

function mapErrors(value: JsonMap, schema: JsonSchema, place: Place): FieldError[] {
  const keys = Object.keys(value);
  const errors: FieldError[] = [];
  const { minProperties, maxProperties } = schema;
  if (minProperties !== undefined && keys.length < minProperties)
    errors.push(invalid(place, keys.length, `should have at least ${minProperties} properties`));
  if (maxProperties !== undefined && keys.length > maxProperties)
    errors.push(tooManyField(path(place), keys.length, maxProperties));
  for (const key of keys) {
    const own = propertyOf(schema, key);
    const inner = own ?? additionalOf(schema);
    const name = place.name === '' && own !== undefined ? key : `${place.name}.${key}`;
    if (inner !== undefined) errors.push(...check(value[key], inner, { ...place, name }));
    else if (schema.additionalProperties === false)
      errors.push(invalidField(path({ ...place, name }), '', `${place.name}.${key} in body is a forbidden property`));
  }
  for (const key of schema.required ?? [])
    if (!Object.hasOwn(value, key)) errors.push(requiredField(path({ ...place, name: `${place.name}.${key}` })));
  return errors;
}

/** allOf, anyOf, oneOf and not. Of several alternatives that fail, the one with the fewest errors is reported. */
function alternativeErrors(value: unknown, schema: JsonSchema, place: Place): FieldError[] {
  const errors: FieldError[] = [];
  const failures = (entries: JsonSchema[]) => entries.map((entry) => check(value, entry, place));
  const best = (results: FieldError[][]) => [...results].sort((a, b) => a.length - b.length)[0] ?? [];
  const complain = (rule: string) =>
    invalidField(path({ ...place, name: '' }) || '<nil>', '', `${quote(place.name)} ${rule}`);
  if (schema.anyOf !== undefined) {
    const results = failures(schema.anyOf);
    if (!results.some((found) => found.length === 0))
      errors.push(complain('must validate at least one schema (anyOf)'), ...best(results));
  }
  if (schema.oneOf !== undefined) {
    const results = failures(schema.oneOf);
    const valid = results.filter((found) => found.length === 0).length;
    const count = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`;
    if (valid !== 1)
      errors.push(
        complain(`must validate one and only one schema (oneOf). ${count}`),
        ...(valid === 0 ? best(results) : []),
      );
  }
  if (schema.allOf !== undefined) {
    const results = failures(schema.allOf);
    const none = results.every((found) => found.length > 0) ? '. None validated' : '';
    if (results.some((found) => found.length > 0))
      errors.push(...results.flat(), complain(`must validate all the schemas (allOf)${none}`));
  }
  if (schema.not !== undefined && check(value, schema.not, place).length === 0)
    errors.push(complain('must not validate the schema (not)'));
  return errors;
}

/** Validates date-time; strings of other formats are taken as they are. */
function isOfFormat(text: string, format: string): boolean {
  if (format !== 'date-time') return true;
  const isShaped = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/.test(text);
  return isShaped && !Number.isNaN(Date.parse(text));
}
