/**
 * Validation of the CEL rules in a CRD's schema: complete, compiled with the schema's types, and oldSelf only where
 * items have keys.
 */

import { goQuote } from '../../../go/quote.js';
import { type CelType, celTypeOf } from '../cel/schema-type.js';
import { type FieldError, invalidField, requiredField, unsupportedField } from '../field-error.js';
import { additionalOf, type JsonSchema, propertyOf, type ValidationRule } from './json-schema.js';
import { compileRule } from './rules.js';

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

export function validateRules(schema: JsonSchema, path: string): FieldError[] {
  return visit(schema, schema, path, { isObject: true, uncorrelated: undefined });
}

interface Level {
  isObject: boolean;
  /** The first list above whose items have no keys: nothing below can use oldSelf. */
  uncorrelated: string | undefined;
}

/** `typed` has the types of the values; inside `allOf` it is the schema around it. */
function visit(schema: JsonSchema, typed: JsonSchema, path: string, level: Level): FieldError[] {
  const inner = (
    part: JsonSchema | undefined,
    around: JsonSchema | undefined,
    at: string,
    uncorrelated = level.uncorrelated,
  ) =>
    part === undefined || around === undefined
      ? []
      : visit(part, around, at, { isObject: around['x-kubernetes-embedded-resource'] === true, uncorrelated });
  const itemsAre = typed['x-kubernetes-list-type'] === 'map' ? level.uncorrelated : (level.uncorrelated ?? path);
  return [
    ...inner(additionalOf(schema), additionalOf(typed), `${path}.additionalProperties`),
    ...Object.entries(schema.properties ?? {}).flatMap(([key, property]) =>
      inner(property, propertyOf(typed, key), `${path}.properties[${key}]`),
    ),
    ...(schema.allOf ?? []).flatMap((part, index) => visit(part, typed, `${path}.allOf[${index}]`, level)),
    ...inner(schema.items, typed.items, `${path}.items`, itemsAre),
    ...ownRules(schema, typed, path, level),
  ];
}

function ownRules(schema: JsonSchema, typed: JsonSchema, path: string, level: Level): FieldError[] {
  const rules = schema['x-kubernetes-validations'] ?? [];
  if (rules.length === 0) return [];
  const at = (index: number) => `${path}.x-kubernetes-validations[${index}]`;
  const written = rules.flatMap((rule, index) => validateWriting(rule, typed, at(index)));
  if (written.length > 0) return written;
  const type = celTypeOf(typed, 'selfType', level);
  if (type === undefined) {
    const detail = 'failed to convert to declType for CEL validation rules';
    return [{ type: 'Internal', field: `${path}.x-kubernetes-validations`, detail }];
  }
  return rules.flatMap((rule, index) => validateMeaning(rule, type, at(index), level));
}

function validateWriting(rule: ValidationRule, schema: JsonSchema, path: string): FieldError[] {
  const { message = '', messageExpression = '', reason, fieldPath = '' } = rule;
  const errors: FieldError[] = [];
  const hasBreaks = (text: string) => text.includes('\n');
  if (rule.rule.trim() === '') errors.push(requiredField(`${path}.rule`, 'rule is not specified'));
  else if (message !== '' && message.trim() === '')
    errors.push(invalidField(`${path}.message`, message, 'message must be non-empty if specified'));
  else if (hasBreaks(message.trim()))
    errors.push(invalidField(`${path}.message`, message, 'message must not contain line breaks'));
  else if (hasBreaks(rule.rule.trim()) && message.trim() === '')
    errors.push(requiredField(`${path}.message`, 'message must be specified if rule contains line breaks'));
  if (messageExpression !== '' && messageExpression.trim() === '')
    errors.push(requiredField(`${path}.messageExpression`, 'messageExpression must be non-empty if specified'));
  if (reason !== undefined && !reasons.includes(reason))
    errors.push(unsupportedField(`${path}.reason`, reason, reasons));
  if (fieldPath !== '' && !isPathOf(schema, fieldPath))
    errors.push(invalidField(`${path}.fieldPath`, fieldPath, 'fieldPath must be a valid path'));
  return errors;
}

/** `.spec.name` and `.map['key']` must exist in the schema. */
function isPathOf(schema: JsonSchema, text: string): boolean {
  let at: JsonSchema | undefined = schema;
  const step = /\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]/y;
  for (let position = 0; position < text.length; position = step.lastIndex) {
    step.lastIndex = position;
    const [, name, quoted = ''] = step.exec(text) ?? [];
    if (name === undefined && step.lastIndex === 0) return false;
    const key: string = name ?? quoted.replace(/\\(.)/g, '$1');
    at = at?.properties === undefined ? additionalOf(at ?? {}) : propertyOf(at, key);
    if (at === undefined) return false;
  }
  return true;
}

function validateMeaning(source: ValidationRule, type: CelType, path: string, level: Level): FieldError[] {
  const rule = compileRule(source, type);
  const errors: FieldError[] = [];
  const invalid = (field: string, detail: string): FieldError => ({
    type: 'Invalid',
    field: `${path}.${field}`,
    value: goRule(source),
    detail,
  });
  if (rule.problem !== undefined) errors.push(invalid('rule', rule.problem));
  if (rule.messageProblem !== undefined) errors.push(invalid('messageExpression', rule.messageProblem));
  if (rule.usesOldSelf && level.uncorrelated !== undefined) {
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${level.uncorrelated}`;
    errors.push(invalidField(`${path}.rule`, source.rule, detail));
  }
  if (!rule.usesOldSelf && rule.problem === undefined && source.optionalOldSelf !== undefined) {
    const detail = 'may not be set if oldSelf is not used in rule';
    errors.push(invalidField(`${path}.optionalOldSelf`, source.optionalOldSelf, detail));
  }
  return errors;
}

/** As Go prints it; of a pointer only nil is comparable. */
function goRule({
  rule,
  message = '',
  messageExpression = '',
  reason,
  fieldPath = '',
  optionalOldSelf,
}: ValidationRule): string {
  const pointer = (type: string, value: unknown) => `(*${type})(${value === undefined ? 'nil' : '0x0'})`;
  const fields = [
    `Rule:${goQuote(rule)}`,
    `Message:${goQuote(message)}`,
    `MessageExpression:${goQuote(messageExpression)}`,
    `Reason:${pointer('apiextensions.FieldValueErrorReason', reason)}`,
    `FieldPath:${goQuote(fieldPath)}`,
    `OptionalOldSelf:${pointer('bool', optionalOldSelf)}`,
  ];
  return `apiextensions.ValidationRule{${fields.join(', ')}}`;
}
