/** What a CustomResourceDefinition may say. */
import { type FieldError, invalidField, requiredField, unsupportedField } from '../../api/field-error.js';
import { goQuote } from '../../api/go-quote.js';
import { checkDns1035Label, checkDnsSubdomain } from '../../api/names.js';
import type { KubeObject } from '../../api/object.js';
import { isEqual } from '../resources/equal.js';
import {
  type CrdSpec,
  crdSpec,
  crdStatus,
  isEstablished,
  type Names,
  type PrinterColumn,
  type Scale,
  type Version,
} from './definition.js';
import { parseJsonPath } from './json-path.js';
import type { JsonSchema } from './json-schema.js';
import { validateStructural } from './structural.js';
import { validateRules } from './validate-rules.js';

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];
const approvalAnnotation = 'api-approved.kubernetes.io';

export function validateDefinition(crd: KubeObject): FieldError[] {
  const spec = crdSpec(crd);
  const stored = crdStatus(crd).storedVersions ?? [];
  return [
    ...validateName(crd.metadata.name, spec),
    ...validateSpec(spec),
    ...(stored.length > 0
      ? []
      : [
          {
            type: 'Invalid' as const,
            field: 'status.storedVersions',
            value: '[]string(nil)',
            detail: 'must have at least one stored version',
          },
        ]),
    ...validateApproval(crd, spec),
  ];
}

export function validateDefinitionUpdate(crd: KubeObject, old: KubeObject): FieldError[] {
  const [spec, before] = [crdSpec(crd), crdSpec(old)];
  const same = (field: string, value: unknown, previous: unknown) =>
    isEqual(value, previous) ? [] : [invalidField(field, value, 'field is immutable')];
  return [
    ...validateDefinition(crd),
    ...(isEstablished(old)
      ? [
          ...same('spec.scope', spec.scope, before.scope),
          ...same('spec.names.kind', spec.names.kind, before.names.kind),
        ]
      : []),
    ...same('spec.group', spec.group, before.group),
    ...same('spec.names.plural', spec.names.plural, before.names.plural),
  ];
}

function validateName(name: string, { names, group }: CrdSpec): FieldError[] {
  if (name === `${names.plural}.${group}`) return [];
  return [invalidField('metadata.name', name, 'must be spec.names.plural+"."+spec.group')];
}

function validateSpec(spec: CrdSpec): FieldError[] {
  const { group, scope, names } = spec;
  return [
    ...validateGroup(group),
    ...(scope === '' ? [requiredField('spec.scope')] : []),
    ...(scope !== '' && scope !== 'Cluster' && scope !== 'Namespaced'
      ? [unsupportedField('spec.scope', scope, ['Cluster', 'Namespaced'])]
      : []),
    ...validateVersions(spec),
    ...(['plural', 'singular', 'kind', 'listKind'] as const)
      .filter((field) => !names[field])
      .map((field) => requiredField(`spec.names.${field}`)),
    ...validateNames(names),
    ...validateShared(spec),
  ];
}

/** What all versions have in common Kubernetes keeps, and complains of, in one place. */
function isShared({ versions }: CrdSpec, part: 'schema' | 'subresources' | 'additionalPrinterColumns'): boolean {
  return versions.every((version) => isEqual(version[part], versions[0]![part]));
}

function validateShared(spec: CrdSpec): FieldError[] {
  const [first] = spec.versions;
  const schema = first?.schema?.openAPIV3Schema;
  return [
    ...(isShared(spec, 'schema') && schema !== undefined
      ? validateSchema(schema, 'spec.validation.openAPIV3Schema')
      : []),
    ...(isShared(spec, 'subresources') ? validateScale(first?.subresources?.scale, 'spec.subresources') : []),
    ...(isShared(spec, 'additionalPrinterColumns')
      ? validateColumns(first?.additionalPrinterColumns, 'spec.additionalPrinterColumns')
      : []),
  ];
}

function validateGroup(group: string): FieldError[] {
  if (group === '') return [requiredField('spec.group')];
  const wrong = checkDnsSubdomain(group);
  if (wrong.length > 0) return [invalidField('spec.group', group, wrong.join(','))];
  return group.includes('.') ? [] : [invalidField('spec.group', group, 'should be a domain with at least one dot')];
}

function validateVersions(spec: CrdSpec): FieldError[] {
  const { versions } = spec;
  const missing = versions.flatMap(({ schema }, index) =>
    schema?.openAPIV3Schema === undefined
      ? [requiredField(`spec.versions[${index}].schema.openAPIV3Schema`, 'schemas are required')]
      : [],
  );
  const errors = [...missing, ...versions.flatMap((version, index) => validateVersion(spec, version, index))];
  const complain = (detail: string) =>
    errors.push({
      type: 'Invalid',
      field: 'spec.versions',
      value: goVersions(versions, isShared(spec, 'schema')),
      detail,
    });
  if (new Set(versions.map(({ name }) => name)).size < versions.length) complain('must contain unique version names');
  if (versions.filter(({ storage }) => storage).length !== 1)
    complain('must have exactly one version marked as storage version');
  return errors;
}

function validateVersion(spec: CrdSpec, version: Version, index: number): FieldError[] {
  const at = `spec.versions[${index}]`;
  const wrong = checkDns1035Label(version.name);
  const schema = version.schema?.openAPIV3Schema;
  return [
    ...(wrong.length > 0 ? [invalidField(`${at}.name`, version.name, wrong.join(','))] : []),
    ...(schema === undefined || isShared(spec, 'schema') ? [] : validateSchema(schema, `${at}.schema.openAPIV3Schema`)),
    ...(isShared(spec, 'subresources') ? [] : validateScale(version.subresources?.scale, `${at}.subresources`)),
    ...(isShared(spec, 'additionalPrinterColumns')
      ? []
      : validateColumns(version.additionalPrinterColumns, `${at}.additionalPrinterColumns`)),
  ];
}

/** Rules are looked at once the schema is sound: their types come from it. */
function validateSchema(schema: JsonSchema, path: string): FieldError[] {
  const errors = validateStructural(schema, path);
  return errors.length > 0 ? errors : validateRules(schema, path);
}

/** As Go prints the list; schemas and the like are pointers there, of which only nil can be told. */
function goVersions(versions: Version[], isShared: boolean): string {
  const nil = (type: string) => `(*apiextensions.${type})(nil)`;
  const shown = versions.map(({ name, served, storage, deprecated = false, deprecationWarning: warning, schema }) => {
    const fields = [
      `Name:${goQuote(name)}`,
      `Served:${served}`,
      `Storage:${storage}`,
      `Deprecated:${deprecated}`,
      `DeprecationWarning:${warning === undefined ? '(*string)(nil)' : '(*string)(0x0)'}`,
      `Schema:${schema === undefined || isShared ? nil('CustomResourceValidation') : '(*apiextensions.CustomResourceValidation)(0x0)'}`,
      `Subresources:${nil('CustomResourceSubresources')}`,
      'AdditionalPrinterColumns:[]apiextensions.CustomResourceColumnDefinition(nil)',
      'SelectableFields:[]apiextensions.SelectableField(nil)',
    ];
    return `apiextensions.CustomResourceDefinitionVersion{${fields.join(', ')}}`;
  });
  return `[]apiextensions.CustomResourceDefinitionVersion{${shown.join(', ')}}`;
}

function validateColumns(columns: PrinterColumn[] = [], path: string): FieldError[] {
  return columns.flatMap((column, index) => validateColumn(column, `${path}[${index}]`));
}

function validateScale(scale: Scale | undefined, path: string): FieldError[] {
  if (scale === undefined) return [];
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = '' } = scale;
  const check = (field: string, value: string, prefixes: string[], where: string) => {
    const at = `${path}.scale.${field}`;
    if (parseJsonPath(value) === undefined || !value.startsWith('.'))
      return [invalidField(at, value, 'must be a simple json path starting with .')];
    const isThere = prefixes.some((prefix) => value.startsWith(prefix));
    return isThere ? [] : [invalidField(at, value, `should be a json path under ${where}`)];
  };
  const needed = (field: string, value: string, where: string) =>
    value === '' ? [requiredField(`${path}.scale.${field}`)] : check(field, value, [`${where}.`], where);
  return [
    ...needed('specReplicasPath', specReplicasPath, '.spec'),
    ...needed('statusReplicasPath', statusReplicasPath, '.status'),
    ...(labelSelectorPath === ''
      ? []
      : check('labelSelectorPath', labelSelectorPath, ['.spec.', '.status.'], 'either .spec or .status')),
  ];
}

function validateColumn({ name, type, jsonPath }: PrinterColumn, path: string): FieldError[] {
  const choices = `must be one of ${columnTypes.join(',')}`;
  return [
    ...(name === '' ? [requiredField(`${path}.name`)] : []),
    ...(type === '' ? [requiredField(`${path}.type`, choices)] : []),
    ...(type !== '' && !columnTypes.includes(type) ? [invalidField(`${path}.type`, type, choices)] : []),
    ...(jsonPath === '' ? [requiredField(`${path}.JSONPath`)] : []),
    ...(jsonPath !== '' && (!jsonPath.startsWith('.') || parseJsonPath(jsonPath) === undefined)
      ? [invalidField(`${path}.JSONPath`, jsonPath, 'must be a simple json path starting with .')]
      : []),
  ];
}

function validateNames({ plural, singular, kind, listKind, shortNames = [], categories = [] }: Names): FieldError[] {
  const check = (field: string, value: string | undefined, isMixed = false) => {
    if (!value) return [];
    const wrong = checkDns1035Label(isMixed ? value.toLowerCase() : value).join(',');
    const detail = isMixed ? `may have mixed case, but should otherwise match: ${wrong}` : wrong;
    return wrong === '' ? [] : [invalidField(`spec.names.${field}`, value, detail)];
  };
  return [
    ...check('plural', plural),
    ...check('singular', singular),
    ...check('kind', kind, true),
    ...check('listKind', listKind, true),
    ...shortNames.flatMap((name, index) => check(`shortNames[${index}]`, name)),
    ...(kind !== '' && kind === listKind
      ? [invalidField('spec.names.listKind', listKind, 'kind and listKind may not be the same')]
      : []),
    ...categories.flatMap((name, index) => check(`categories[${index}]`, name)),
  ];
}

/** Groups of Kubernetes itself are not for everyone. */
function validateApproval(crd: KubeObject, { group }: CrdSpec): FieldError[] {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(group) || crd.metadata.annotations?.[approvalAnnotation]) return [];
  const detail = `protected groups must have approval annotation "${approvalAnnotation}", see https://github.com/kubernetes/enhancements/pull/1111`;
  return [requiredField(`metadata.annotations[${approvalAnnotation}]`, detail)];
}
