/** Evaluates the CEL rules of a custom resource's schema, with the messages of Kubernetes. */

import { Optional } from '@marcbachmann/cel-js';
import { quote } from '../../go/quote.js';
import { isObject } from '../../json.js';
import { RunError } from '../cel/program.js';
import { type FieldError, forbiddenField, requiredField } from '../field-error.js';
import { identityOf, isSameJson } from '../json-equality.js';
import type { JsonMap, ValidationRule } from './json-schema.js';
import type { Rule, RuleNode } from './rules.js';

/** The longest result of a messageExpression. */
const maxMessageBytes = 5 * 1024;

/** Errors of these types mean that rules could meet values they do not expect. */
const blocking: ReadonlySet<FieldError['type']> = new Set([
  'NotSupported',
  'Required',
  'TooLong',
  'TooMany',
  'TypeInvalid',
]);

/** Appends the errors of rules to those of the schema; `old` is absent on create. */
export function withRuleErrors(
  found: FieldError[],
  rules: RuleNode | undefined,
  object: unknown,
  old?: unknown,
): FieldError[] {
  if (rules === undefined) return found;
  if (found.some(({ type }) => blocking.has(type))) return [...found, notChecked];
  const errors: FieldError[] = [];
  checkNode(errors, rules, { path: '', value: object, old, isUnchanged: () => isSameJson(object, old) });
  return [...found, ...errors];
}

const notChecked: FieldError = {
  type: 'Invalid',
  field: '<nil>',
  value: '"null"',
  detail:
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
};

interface Place {
  path: string;
  value: unknown;
  /** The same part of the object before; undefined if there is none or it cannot be identified. */
  old: unknown;
  /** Errors in unchanged parts do not reject an update, except those of transition rules. */
  isUnchanged(): boolean;
}

function checkNode(errors: FieldError[], node: RuleNode, place: Place): void {
  const { value } = place;
  if (value === null || value === undefined) return;
  checkRules(errors, node, place);
  for (const part of node.allOf) checkNode(errors, part, place);
  if (Array.isArray(value)) checkItems(errors, node, place, value);
  else if (isObject(value)) checkEntries(errors, node, place, value);
}

function checkEntries(errors: FieldError[], node: RuleNode, place: Place, value: Record<string, unknown>): void {
  const old = isObject(place.old) ? place.old : {};
  for (const [key, item] of Object.entries(value)) {
    const named = node.properties.get(key);
    const before = Object.hasOwn(old, key) ? old[key] : undefined;
    const path = named === undefined ? `${place.path}[${key}]` : join(place.path, key);
    const inner = named ?? node.values;
    const isUnchanged = () => before !== undefined && isSameJson(item, before);
    if (inner !== undefined) checkNode(errors, inner, { path, value: item, old: before, isUnchanged });
  }
}

function checkItems(errors: FieldError[], node: RuleNode, place: Place, value: unknown[]): void {
  const { items, schema } = node;
  if (items === undefined) return;
  const isMapList = schema['x-kubernetes-list-type'] === 'map';
  const keyText = keysText(schema['x-kubernetes-list-map-keys'] ?? []);
  const before = new Map<string, unknown>();
  // The first of several items with the same keys is used.
  if (isMapList && Array.isArray(place.old))
    for (const item of [...place.old].reverse()) if (isObject(item)) before.set(keyText(item), item);
  for (const [index, item] of value.entries()) {
    const old = isObject(item) ? before.get(keyText(item)) : undefined;
    const isUnchanged = isMapList ? () => old !== undefined && isSameJson(item, old) : place.isUnchanged;
    checkNode(errors, items, { path: `${place.path}[${index}]`, value: item, old, isUnchanged });
  }
}

function keysText(keys: string[]): (item: JsonMap) => string {
  return (item) => identityOf(keys.map((key) => item[key]));
}

function checkRules(errors: FieldError[], node: RuleNode, place: Place): void {
  if (node.rules.length === 0) return;
  const self = node.type.fromJson(place.value);
  const oldSelf = place.old === undefined || place.old === null ? undefined : node.type.fromJson(place.old);
  for (const rule of node.rules) {
    const isOptional = rule.source.optionalOldSelf === true;
    if (rule.program === undefined || (rule.usesOldSelf && oldSelf === undefined && !isOptional)) continue;
    const variables = { self, oldSelf: isOptional ? Optional.of(oldSelf) : oldSelf };
    const error = askRule(rule, node, place, variables);
    if (error !== undefined && (rule.usesOldSelf || !place.isUnchanged())) errors.push(error);
  }
}

function askRule(rule: Rule, node: RuleNode, place: Place, variables: Record<string, unknown>): FieldError | undefined {
  try {
    if (rule.program!.run(variables) === true) return undefined;
    return failure(rule.source, node, place.path, messageOf(rule, variables));
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    return invalidOf(node, place.path, `${error.message} evaluating rule: ${ruleText(rule.source)}`);
  }
}

function messageOf({ message, source }: Rule, variables: Record<string, unknown>): string {
  const fallback = source.message ? source.message.trim() : `failed rule: ${ruleText(source)}`;
  if (message === undefined) return fallback;
  try {
    const text = String(message.run(variables)).trim();
    return text === '' || text.includes('\n') || Buffer.byteLength(text) > maxMessageBytes ? fallback : text;
  } catch (error) {
    if (error instanceof RunError) return fallback;
    throw error;
  }
}

function failure({ reason, fieldPath }: ValidationRule, node: RuleNode, path: string, detail: string): FieldError {
  const field = fieldPath ? join(path, fieldPath.replace(/^\./, '')) : path;
  switch (reason) {
    case 'FieldValueForbidden':
      return forbiddenField(field || '<nil>', detail);
    case 'FieldValueRequired':
      return requiredField(field || '<nil>', detail);
    case 'FieldValueDuplicate':
      return { ...invalidOf(node, field, ''), type: 'Duplicate' };
    default:
      return invalidOf(node, field, detail);
  }
}

/** Values are not shown, only their kind: they may be large, or secret. */
function invalidOf({ schema }: RuleNode, path: string, detail: string): FieldError {
  return { type: 'Invalid', field: path || '<nil>', value: quote(schema.type ?? ''), detail };
}

function ruleText({ message, rule }: ValidationRule): string {
  return (message || rule).trim();
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
