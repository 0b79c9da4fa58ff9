/**
 * Validation of CustomResourceDefinitions: what would make its kind unusable, or objects unreadable. Rules about style,
 * and keywords that do no harm, are left to real servers.
 */
import type { KubeObject } from '../../api/object.js';
import { compilePattern, PatternError } from '../../go/regex.js';
import { celTypeOf } from '../cel/schema-type.js';
import { type FieldError, invalidField, requiredField, unsupportedField } from '../field-error.js';
import { isEquivalent } from '../json-equality.js';
import { type CrdSpec, crdSpec, crdStatus, isEstablished } from './definition.js';
import { additionalOf, type JsonSchema } from './json-schema.js';
import { compileRule } from './rules.js';
import { validateValue } from './validate-value.js';

const scopes = ['Cluster', 'Namespaced'];

export function validateDefinition(crd: KubeObject): FieldError[] {
  const { name } = crd.metadata;
  const { names, group } = crdSpec(crd);
  return [
    ...(name === `${names.plural}.${group}`
      ? []
      : [invalidField('metadata.name', name, 'must be spec.names.plural+"."+spec.group')]),
    ...validateSpec(crd),
  ];
}

export function validateDefinitionUpdate(crd: KubeObject, old: KubeObject): FieldError[] {
  const [spec, before] = [crdSpec(crd), crdSpec(old)];
  const same = (field: string, value: unknown, previous: unknown) =>
    isEquivalent(value, previous) ? [] : [invalidField(field, value, 'field is immutable')];
  return [
    ...validateSpec(crd),
    ...(isEstablished(old) ? same('spec.scope', spec.scope, before.scope) : []),
    ...(isEstablished(old) ? same('spec.names.kind', spec.names.kind, before.names.kind) : []),
    ...same('spec.group', spec.group, before.group),
    ...same('spec.names.plural', spec.names.plural, before.names.plural),
  ];
}

function validateSpec(crd: KubeObject): FieldError[] {
  const spec = crdSpec(crd);
  const { group, names, scope } = spec;
  return [
    ...(group === '' ? [requiredField('spec.group')] : []),
    ...(scopes.includes(scope) ? [] : [unsupportedField('spec.scope', scope, scopes)]),
    ...(names.plural ? [] : [requiredField('spec.names.plural')]),
    ...(names.kind ? [] : [requiredField('spec.names.kind')]),
    ...validateVersions(spec),
    ...validateStored(crdStatus(crd).storedVersions ?? [], spec),
  ];
}

/** Errors of the only version have the path that Kubernetes gives to what all versions share. */
function validateVersions({ versions: given, conversion }: CrdSpec): FieldError[] {
  const versions = given ?? [];
  const names = versions.map(({ name }) => name);
  const pathOf = (index: number) => (versions.length === 1 ? 'spec.validation' : `spec.versions[${index}].schema`);
  return [
    ...(new Set(names).size < names.length
      ? [invalidField('spec.versions', names, 'must contain unique version names')]
      : []),
    ...(versions.filter(({ storage }) => storage).length === 1
      ? []
      : [invalidField('spec.versions', names, 'must have exactly one version marked as storage version')]),
    ...(conversion?.strategy === 'None' || conversion === undefined
      ? []
      : [unsupportedField('spec.conversion.strategy', conversion.strategy, ['None'])]),
    ...versions.flatMap(({ schema }, index) =>
      schema?.openAPIV3Schema === undefined
        ? [requiredField(`spec.versions[${index}].schema.openAPIV3Schema`, 'schemas are required')]
        : validateSchema(schema.openAPIV3Schema, `${pathOf(index)}.openAPIV3Schema`, true),
    ),
  ];
}

/** A version in which objects are stored cannot be removed. */
function validateStored(stored: string[], { versions }: CrdSpec): FieldError[] {
  const field = 'status.storedVersions';
  if (stored.length === 0) return [invalidField(field, [], 'must have at least one stored version')];
  const known = (versions ?? []).map(({ name }) => name);
  return stored.flatMap((name, index) =>
    known.includes(name) ? [] : [invalidField(`${field}[${index}]`, name, 'must appear in spec.versions')],
  );
}

/** Every value has a type, as pruning and defaults require; patterns and rules compile; defaults are valid. */
function validateSchema(schema: JsonSchema, path: string, isRoot = false): FieldError[] {
  const { items, properties = {}, type } = schema;
  const additional = additionalOf(schema);
  const isOpen =
    schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  return [
    ...(type === undefined && !isOpen ? [requiredField(`${path}.type`, 'must not be empty')] : []),
    ...(isRoot && type !== undefined && type !== 'object'
      ? [invalidField(`${path}.type`, type, 'must be object at the root')]
      : []),
    ...(type === 'array' && items === undefined ? [requiredField(`${path}.items`, 'must be specified')] : []),
    ...(items === undefined ? [] : validateSchema(items, `${path}.items`)),
    ...Object.entries(properties).flatMap(([key, inner]) => validateSchema(inner, `${path}.properties[${key}]`)),
    ...(additional === undefined ? [] : validateSchema(additional, `${path}.additionalProperties`)),
    ...validatePattern(schema, path),
    ...(schema.default === undefined ? [] : validateValue(schema.default, schema, `${path}.default`)),
    ...validateRules(schema, path, isRoot),
  ];
}

function validatePattern({ pattern }: JsonSchema, path: string): FieldError[] {
  if (pattern === undefined) return [];
  try {
    compilePattern(pattern);
    return [];
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    return [invalidField(`${path}.pattern`, pattern, `must be a valid regular expression: ${error.message}`)];
  }
}

function validateRules(schema: JsonSchema, path: string, isObject: boolean): FieldError[] {
  const rules = schema['x-kubernetes-validations'] ?? [];
  const type = rules.length === 0 ? undefined : celTypeOf(schema, 'selfType', { isObject });
  if (type === undefined) return [];
  return rules.flatMap((source, index) => {
    const { problem, messageProblem } = compileRule(source, type);
    const at = `${path}.x-kubernetes-validations[${index}]`;
    return [
      ...(problem === undefined ? [] : [invalidField(`${at}.rule`, source.rule, problem)]),
      ...(messageProblem === undefined
        ? []
        : [invalidField(`${at}.messageExpression`, source.messageExpression, messageProblem)]),
    ];
  });
}
