/**
 * The CEL rules of a CRD's schema (x-kubernetes-validations), compiled: one node for each part of the schema that has
 * any below it.
 */
import type { Environment } from '@marcbachmann/cel-js';
import { CompileError, compile, newEnvironment, type Program } from '../cel/program.js';
import { type CelType, celTypeOf } from '../cel/schema-type.js';
import { additionalOf, type JsonSchema, type ValidationRule } from './json-schema.js';

export interface Rule {
  source: ValidationRule;
  /** A transition rule: runs only with an old value, unless oldSelf is optional. */
  usesOldSelf: boolean;
  /** Absent where there is a `problem`. */
  program?: Program;
  message?: Program;
  problem?: string;
  messageProblem?: string;
}

export interface RuleNode {
  schema: JsonSchema;
  type: CelType;
  rules: Rule[];
  items?: RuleNode;
  values?: RuleNode;
  properties: Map<string, RuleNode>;
  allOf: RuleNode[];
}

/**
 * Undefined if neither the schema nor anything below has rules. `isObject`: it describes a whole object with kind
 * and metadata.
 */
export function compileRules(schema: JsonSchema, isObject: boolean): RuleNode | undefined {
  return hasRules(schema) ? nodeOf(schema, schema, isObject) : undefined;
}

function hasRules(schema: JsonSchema): boolean {
  if ((schema['x-kubernetes-validations'] ?? []).length > 0) return true;
  const inner = [
    schema.items,
    additionalOf(schema),
    ...Object.values(schema.properties ?? {}),
    ...(schema.allOf ?? []),
  ];
  return inner.some((part) => part !== undefined && hasRules(part));
}

/** Rules may be in `allOf`, whose types come from the schema around it. */
function nodeOf(ruled: JsonSchema, typed: JsonSchema, isObject: boolean): RuleNode | undefined {
  const type = celTypeOf(typed, 'selfType', { isObject });
  if (type === undefined || !hasRules(ruled)) return undefined;
  const node: RuleNode = {
    schema: typed,
    type,
    rules: (ruled['x-kubernetes-validations'] ?? []).map((rule) => compileRule(rule, type)),
    properties: new Map(),
    allOf: (ruled.allOf ?? []).map((part) => nodeOf(part, typed, isObject)).filter((part) => part !== undefined),
  };
  const inner = (part: JsonSchema | undefined, around: JsonSchema | undefined) =>
    part && around && nodeOf(part, around, around['x-kubernetes-embedded-resource'] === true);
  for (const [key, property] of Object.entries(ruled.properties ?? {})) {
    const found = inner(property, ownProperty(typed, key));
    if (found !== undefined) node.properties.set(key, found);
  }
  const items = inner(ruled.items, typed.items);
  const values = inner(additionalOf(ruled), additionalOf(typed));
  return { ...node, ...(items && { items }), ...(values && { values }) };
}

function ownProperty({ properties }: JsonSchema, key: string): JsonSchema | undefined {
  return properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

export function compileRule(source: ValidationRule, type: CelType): Rule {
  const environment = environmentOf(type, source.optionalOldSelf === true);
  const rule: Rule = { source, usesOldSelf: false };
  try {
    const program = compile(environment, source.rule);
    rule.usesOldSelf = program.names.has('oldSelf');
    if (program.type === 'bool') rule.program = program;
    else rule.problem = 'cel expression must evaluate to a bool';
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    rule.problem = `compilation failed: ${error.message}`;
  }
  if (rule.problem === undefined && source.messageExpression) compileMessage(rule, environment);
  return rule;
}

function compileMessage(rule: Rule, environment: Environment): void {
  try {
    const program = compile(environment, rule.source.messageExpression!);
    if (program.type === 'string') rule.message = program;
    else rule.messageProblem = 'messageExpression must evaluate to a string';
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    rule.messageProblem = `messageExpression compilation failed: ${error.message}`;
  }
}

function environmentOf(type: CelType, isOldOptional: boolean): Environment {
  const environment = newEnvironment();
  type.declare(environment);
  return environment
    .registerVariable('self', type.name)
    .registerVariable('oldSelf', isOldOptional ? `optional<${type.name}>` : type.name);
}
