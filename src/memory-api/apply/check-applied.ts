/**
 * Validates an applied object by its schema. Unlike elsewhere, unknown fields are errors.
 */

import { isObject } from '../../json.js';
import { declaredField, ItemError, itemElement, itemSchema, listKeys, type MergeSchema } from './merge-schema.js';
import { elementText, fieldElement } from './path-element.js';

/** One message for all errors; undefined if there are none. */
export function checkApplied(object: unknown, schema: MergeSchema): string | undefined {
  const problems = check(object, schema, '', false);
  if (problems.length <= 1) return problems[0];
  return ['errors:', ...problems.map((problem) => `  ${problem}`)].join('\n');
}

function check(value: unknown, schema: MergeSchema, path: string, isFree: boolean): string[] {
  if (value === null) return [];
  const free = isFree || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const kind = kindOf(schema, value);
  if (kind === 'map') return checkMap(value, schema, path, free);
  if (kind === 'list') return checkList(value, schema, path, free);
  const why = scalarProblem(value, schema);
  return why === undefined ? [] : [at(path, why)];
}

function at(path: string, why: string): string {
  return path === '' ? why : `${path}: ${why}`;
}

/** The type of the schema or, where it has none, that of the value. */
function kindOf(schema: MergeSchema, value: unknown): 'map' | 'list' | 'scalar' {
  if (schema.type === 'object') return 'map';
  if (schema.type === 'array') return 'list';
  if (schema.type !== undefined) return 'scalar';
  return isObject(value) ? 'map' : Array.isArray(value) ? 'list' : 'scalar';
}

function checkMap(value: unknown, schema: MergeSchema, path: string, isFree: boolean): string[] {
  if (!isObject(value)) return [at(path, `expected map, got ${typeof value}`)];
  const problems: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const below = path + elementText(fieldElement(key));
    const field = declaredField(schema, key) ?? (isFree ? {} : undefined);
    // Fields below an unknown field are not checked.
    if (field === undefined) return [...problems, at(below, 'field not declared in schema')];
    problems.push(...check(value[key], field, below, isFree));
  }
  return problems;
}

function checkList(value: unknown, schema: MergeSchema, path: string, isFree: boolean): string[] {
  if (!Array.isArray(value)) return [at(path, `expected list, got ${typeof value}`)];
  const keys = listKeys(schema);
  const seen = new Set<string>();
  const problems: string[] = [];
  for (const [index, item] of value.entries()) {
    let element = `i:${index}`;
    if (keys !== undefined) {
      try {
        element = itemElement(item, keys, schema);
      } catch (error) {
        if (!(error instanceof ItemError)) throw error;
        return [...problems, at(path, `element ${index}: ${error.message}`)];
      }
      if (seen.has(element)) problems.push(at(path, `duplicate entries for key ${elementText(element)}`));
      seen.add(element);
    }
    problems.push(...check(item, itemSchema(schema), path + elementText(element), isFree));
  }
  return problems;
}

/** Formats such as date-time, and quantities, may be any scalar. */
function scalarProblem(value: unknown, { type, format }: MergeSchema): string | undefined {
  const isText = type === 'string' && (format === undefined || format === 'byte');
  const wanted = isText ? 'string' : type === 'boolean' ? 'boolean' : isNumber(type) ? 'number' : undefined;
  if (wanted === undefined) return typeof value !== 'object' ? undefined : 'expected a scalar';
  return typeof value === wanted ? undefined : `expected ${wanted}, got ${typeof value}`;
}

const isNumber = (type: string | undefined) => type === 'integer' || type === 'number';
