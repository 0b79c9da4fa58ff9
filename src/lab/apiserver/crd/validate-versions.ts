/**
 * The versions of a CustomResourceDefinition. Fields that are equal in all of them (always so with one version)
 * Kubernetes stores, and reports errors of, at the top level: `spec.validation`, `spec.subresources` and so on.
 */

import { checkDns1035Label } from '../../../api/names.js';
import { goQuote } from '../../../go/quote.js';
import { duplicateField, type FieldError, invalidField, requiredField } from '../field-error.js';
import { isEquivalent } from '../json-equality.js';
import type { CrdSpec, PrinterColumn, Scale, Version } from './definition.js';
import { type JsonSchema, propertyOf } from './json-schema.js';
import { validateKeywords } from './schema-keywords.js';
import { validateStructural } from './structural.js';
import { validateRules } from './validate-rules.js';

type Part = 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields';
const parts: Part[] = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'];
const placesOfShared: Record<Part, string> = {
  schema: 'spec.validation',
  subresources: 'spec.subresources',
  additionalPrinterColumns: 'spec.additionalPrinterColumns',
  selectableFields: 'spec.selectableFields',
};
const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

export function validateVersions({ versions: given }: CrdSpec): FieldError[] {
  const versions = given ?? [];
  const errors = [
    ...versions.flatMap(({ schema }, index) =>
      schema?.openAPIV3Schema === undefined
        ? [requiredField(`spec.versions[${index}].schema.openAPIV3Schema`, 'schemas are required')]
        : [],
    ),
    ...versions.flatMap((version, index) => validateVersion(version, versions, `spec.versions[${index}]`)),
  ];
  const complain = (detail: string) =>
    errors.push({ type: 'Invalid', field: 'spec.versions', value: goVersions(given), detail });
  if (new Set(versions.map(({ name }) => name)).size < versions.length) complain('must contain unique version names');
  if (versions.filter(({ storage }) => storage).length !== 1)
    complain('must have exactly one version marked as storage version');
  // Kubernetes validates the first version once more.
  return [...errors, ...(versions.length === 0 ? [] : checkVersionName('spec.version', versions[0]!.name))];
}

/** Fields that are equal in all versions. */
export function validateShared({ versions }: CrdSpec): FieldError[] {
  const first = versions?.[0];
  if (first === undefined) return [];
  return parts
    .filter((part) => isShared(versions, part))
    .flatMap((part) => validatePart(first, part, placesOfShared[part]));
}

function isShared(versions: Version[], part: Part): boolean {
  return versions.every((version) => isEquivalent(version[part], versions[0]![part]));
}

function validateVersion(version: Version, versions: Version[], at: string): FieldError[] {
  return [
    ...checkVersionName(`${at}.name`, version.name),
    ...checkDeprecation(version, at),
    ...parts
      .filter((part) => !isShared(versions, part))
      .flatMap((part) => validatePart(version, part, `${at}.${part}`)),
  ];
}

function checkVersionName(field: string, name: string): FieldError[] {
  const wrong = checkDns1035Label(name);
  return wrong.length > 0 ? [invalidField(field, name, wrong.join(','))] : [];
}

function checkDeprecation({ deprecated = false, deprecationWarning: warning }: Version, at: string): FieldError[] {
  const complain = (detail: string) => [invalidField(`${at}.deprecationWarning`, warning, detail)];
  if (warning === undefined) return [];
  if (!deprecated) return complain('can only be set for deprecated versions');
  if (warning === '') return complain('must not be an empty string');
  return warning.length > 256 ? complain('must be <= 256 characters long') : [];
}

function validatePart(version: Version, part: Part, at: string): FieldError[] {
  const schema = version.schema?.openAPIV3Schema;
  switch (part) {
    case 'schema':
      return schema === undefined ? [] : validateSchema(schema, `${at}.openAPIV3Schema`);
    case 'subresources':
      return version.subresources?.scale === undefined ? [] : validateScale(version.subresources.scale, `${at}.scale`);
    case 'additionalPrinterColumns':
      return (version.additionalPrinterColumns ?? []).flatMap((column, index) =>
        validateColumn(column, `${at}[${index}]`),
      );
    case 'selectableFields':
      return schema === undefined ? [] : validateSelectable(version.selectableFields ?? [], schema, at);
  }
}

/** Rules are validated after the schema: their types come from it. */
function validateSchema(schema: JsonSchema, path: string): FieldError[] {
  const words = validateKeywords(schema, path);
  // With invalid keywords the structure is not checked.
  const isReadable = !words.some(({ detail }) => detail.endsWith('is not supported'));
  const errors = [...words, ...(isReadable ? validateStructural(schema, path) : [])];
  return errors.length > 0 ? errors : validateRules(schema, path);
}

/** As Go prints the list; schemas and the like are pointers there, of which only nil is comparable. */
function goVersions(versions: Version[] | null): string {
  if (versions === null || versions === undefined) return '[]apiextensions.CustomResourceDefinitionVersion(nil)';
  const pointer = (type: string, version: Version, part: Part) =>
    `(*apiextensions.${type})(${version[part] === undefined || isShared(versions, part) ? 'nil' : '0xc000000000'})`;
  const shown = versions.map((version) => {
    const fields = [
      `Name:${goQuote(version.name)}`,
      `Served:${version.served}`,
      `Storage:${version.storage}`,
      `Deprecated:${version.deprecated ?? false}`,
      `DeprecationWarning:(*string)(${version.deprecationWarning === undefined ? 'nil' : '0xc000000000'})`,
      `Schema:${pointer('CustomResourceValidation', version, 'schema')}`,
      `Subresources:${pointer('CustomResourceSubresources', version, 'subresources')}`,
      'AdditionalPrinterColumns:[]apiextensions.CustomResourceColumnDefinition(nil)',
      'SelectableFields:[]apiextensions.SelectableField(nil)',
    ];
    return `apiextensions.CustomResourceDefinitionVersion{${fields.join(', ')}}`;
  });
  return `[]apiextensions.CustomResourceDefinitionVersion{${shown.join(', ')}}`;
}

function validateColumn({ name, type, format = '', jsonPath }: PrinterColumn, path: string): FieldError[] {
  const choices = (known: string[]) => `must be one of ${known.join(',')}`;
  return [
    ...(name === '' ? [requiredField(`${path}.name`)] : []),
    ...(type === '' ? [requiredField(`${path}.type`, choices(columnTypes))] : []),
    ...(type !== '' && !columnTypes.includes(type) ? [invalidField(`${path}.type`, type, choices(columnTypes))] : []),
    ...(format !== '' && !columnFormats.includes(format)
      ? [invalidField(`${path}.format`, format, choices(columnFormats))]
      : []),
    ...checkSimplePath(jsonPath, `${path}.JSONPath`),
  ];
}

function checkSimplePath(path: string, field: string): FieldError[] {
  if (path === '') return [requiredField(field)];
  return path.startsWith('.') ? [] : [invalidField(field, path, 'must be a simple json path starting with .')];
}

function validateScale(
  { specReplicasPath, statusReplicasPath, labelSelectorPath = '' }: Scale,
  at: string,
): FieldError[] {
  const check = (field: string, path: string, roots: string[], place: string) => {
    const wrong = checkSimplePath(path, `${at}.${field}`);
    if (wrong.length > 0 || roots.some((root) => path.startsWith(root))) return wrong;
    return [invalidField(`${at}.${field}`, path, `should be a json path under ${place}`)];
  };
  return [
    ...check('specReplicasPath', specReplicasPath, ['.spec.'], '.spec'),
    ...check('statusReplicasPath', statusReplicasPath, ['.status.'], '.status'),
    ...(labelSelectorPath === ''
      ? []
      : check('labelSelectorPath', labelSelectorPath, ['.spec.', '.status.'], 'either .spec or .status')),
  ];
}

function validateSelectable(fields: { jsonPath: string }[], schema: JsonSchema, at: string): FieldError[] {
  const scalars =
    'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';
  return fields.flatMap(({ jsonPath }, index) => {
    const field = `${at}[${index}].jsonPath`;
    if (jsonPath === '') return [requiredField(field)];
    const found = jsonPath
      .slice(1)
      .split('.')
      .reduce<JsonSchema | undefined>((inner, key) => inner && propertyOf(inner, key), schema);
    if (found === undefined)
      return [invalidField(field, jsonPath, 'is an invalid path: does not refer to a valid field')];
    return [
      ...(jsonPath.startsWith('.metadata.')
        ? [invalidField(field, jsonPath, 'must not point to fields in metadata')]
        : []),
      ...(['string', 'boolean', 'integer'].includes(found.type ?? '') ? [] : [invalidField(field, jsonPath, scalars)]),
      ...(fields.findIndex((other) => other.jsonPath === jsonPath) < index ? [duplicateField(field, jsonPath)] : []),
    ];
  });
}
