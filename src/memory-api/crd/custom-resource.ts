/**
 * Makes a resource of each version that a CRD serves: schema, columns and names are data there as they are for built-in
 * kinds.
 */

import type { KubeObject } from '../../api/object.js';
import { findAll, type JsonPath, JsonPathError, parsePath } from '../../go/json-path.js';
import { quote } from '../../go/quote.js';
import type { FieldError } from '../field-error.js';
import type { Column, Decoded, Resource } from '../resource.js';
import { age, ageColumn, nameColumn } from '../resources/columns.js';
import { defineResource } from '../resources/define.js';
import { decodeStruct } from '../schema/decode.js';
import { withRuleErrors } from './check-rules.js';
import { crdSpec, type PrinterColumn, type Version } from './definition.js';
import type { JsonSchema } from './json-schema.js';
import { dropNulls, prune, setDefaults } from './prune.js';
import { compileRules } from './rules.js';
import { validateValue } from './validate-value.js';

/** The order in which Kubernetes lists them for custom resources. */
const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

export function customResources(crd: KubeObject): Resource[] {
  const served = crdSpec(crd).versions.filter((version) => version.served);
  return served.map((version) => customResource(crd, version));
}

function customResource(crd: KubeObject, version: Version): Resource {
  const { group, names, scope, versions } = crdSpec(crd);
  const schema = version.schema?.openAPIV3Schema ?? { 'x-kubernetes-preserve-unknown-fields': true };
  const rules = compileRules(schema, true);
  const hasStatus = version.subresources?.status !== undefined;
  const { kind, plural } = names;
  const resource = defineResource({
    group,
    version: version.name,
    kind,
    listKind: names.listKind ?? `${kind}List`,
    plural,
    singular: names.singular ?? kind.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced: scope === 'Namespaced',
    // While its definition is being deleted, no object can be created.
    verbs: crd.metadata.deletionTimestamp === undefined ? verbs : verbs.filter((verb) => verb !== 'create'),
    subresources: hasStatus ? { status: { kind, verbs: ['get', 'patch', 'update'] } } : {},
    columns: [nameColumn, ...columnsOf(version)],
    hasGeneration: true,
    schema,
    allowUnconditionalUpdate: false,
    selectableFields: selectableFields(version),
    decode: (value) => decode(value, schema),
    setDefaults: (object) => setDefaults(object, schema),
    prepareForCreate(object) {
      if (hasStatus) delete object.status;
    },
    prepareForUpdate(object, old, subresource) {
      if (hasStatus) keepOtherPart(object, old, subresource);
    },
    warnings: finalizerWarnings,
    validateCreate: (object) => withRuleErrors(validate(object, schema, ''), rules, object),
    validateUpdate: (object, old, subresource) =>
      withRuleErrors(validate(object, schema, subresource), rules, object, old),
    ...deprecation(group, kind, version),
  });
  const storage = versions.find((entry) => entry.storage);
  return storage === undefined || storage.name === version.name
    ? resource
    : { ...resource, stored: storedAs(group, plural, kind, version.name, storage) };
}

/** Conversion None changes only the apiVersion. */
function storedAs(
  group: string,
  resource: string,
  kind: string,
  served: string,
  storage: Version,
): Resource['stored'] & object {
  return {
    group,
    version: storage.name,
    resource,
    kind,
    fromStored: (object) => ({ ...object, apiVersion: `${group}/${served}` }),
    toStored(object) {
      const stored = structuredClone({ ...object, apiVersion: `${group}/${storage.name}` });
      // Fields that the stored version lacks are pruned.
      if (storage.schema?.openAPIV3Schema !== undefined) prune(stored, storage.schema.openAPIV3Schema);
      return stored;
    },
  };
}

function decode(value: unknown, schema: JsonSchema): Decoded {
  const object = structuredClone(value) as KubeObject;
  const metadata = decodeStruct('meta.v1.ObjectMeta', object.metadata ?? {});
  object.metadata = metadata.value as unknown as KubeObject['metadata'];
  dropNulls(object, schema);
  const unknownFields = [
    ...metadata.unknownFields.map((field) => `metadata.${field}`),
    ...prune(object, schema),
  ].sort();
  return { object, unknownFields };
}

/** A status write changes status alone, labels and annotations not excepted; any other write keeps status. */
function keepOtherPart(object: KubeObject, old: KubeObject, subresource: string): void {
  if (subresource !== 'status') {
    if (old.status === undefined) delete object.status;
    else object.status = structuredClone(old.status);
    return;
  }
  for (const key of Object.keys(object)) if (key !== 'status' && key !== 'metadata') delete object[key];
  const { status: _status, metadata, ...rest } = structuredClone(old);
  const { resourceVersion, managedFields } = object.metadata;
  Object.assign(object, rest);
  object.metadata = metadata;
  if (resourceVersion !== undefined) object.metadata.resourceVersion = resourceVersion;
  if (managedFields !== undefined) object.metadata.managedFields = managedFields;
}

/** Finalizers of custom objects may have any form; unqualified ones may collide. */
function finalizerWarnings({ metadata }: KubeObject): string[] {
  const advice = 'prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers';
  return (metadata.finalizers ?? [])
    .filter((name) => !name.includes('/') && name !== 'orphan' && name !== 'foregroundDeletion')
    .map((name) => `metadata.finalizers: ${quote(name)}: ${advice}`);
}

function validate(object: KubeObject, schema: JsonSchema, subresource: string): FieldError[] {
  if (subresource !== 'status') return validateValue(object, schema);
  const status = schema.properties?.status;
  return status === undefined || object.status === undefined ? [] : validateValue(object.status, status, 'status');
}

function columnsOf({ additionalPrinterColumns: own }: Version): Column[] {
  if (own === undefined || own.length === 0) return [{ ...ageColumn, type: 'date' }];
  return own.map(printerColumn);
}

function printerColumn({ name, type, format, description, priority = 0, jsonPath }: PrinterColumn): Column {
  const path = readPath(jsonPath);
  return {
    name,
    type: type as Column['type'],
    ...(format === undefined ? {} : { format }),
    description: description || `The value at ${jsonPath}.`,
    priority,
    cell: (object, now) => cell(firstAt(object, path), type, now),
  };
}

function cell(value: unknown, type: string, now: Date): unknown {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      if (typeof value !== 'string') return null;
      return Number.isNaN(Date.parse(value)) ? '<invalid>' : age(value, now);
    default:
      return typeof value === 'object' ? JSON.stringify(value) : String(value);
  }
}

function selectableFields({ selectableFields: fields = [] }: Version): Resource['selectableFields'] {
  return Object.fromEntries(
    fields.map(({ jsonPath }) => [
      jsonPath.replace(/^\./, ''),
      (object: KubeObject) => String(firstAt(object, readPath(jsonPath)) ?? ''),
    ]),
  );
}

/** Undefined for an invalid path, which has no values. */
function readPath(text: string): JsonPath | undefined {
  try {
    return parsePath(text);
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

function firstAt(object: KubeObject, path: JsonPath | undefined): unknown {
  return path === undefined ? undefined : findAll(object, path)[0];
}

function deprecation(group: string, kind: string, version: Version): { deprecation?: string } {
  if (!version.deprecated) return {};
  return { deprecation: version.deprecationWarning ?? `${group}/${version.name} ${kind} is deprecated` };
}
