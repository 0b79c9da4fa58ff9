/** Schemas of all shapes in one neutral form, from which OpenAPI v2 and v3 documents are written. */
import { patchNotes, scalarSchema } from '../../../memory-api/schema/linked.js';
import { type Field, structOf, type Type } from '../../../memory-api/schema/types.js';

/** A JSON schema whose references name definitions, without the path that v2 and v3 put before them. */
export interface Definition {
  ref?: string;
  description?: string;
  type?: string;
  format?: string;
  properties?: Record<string, Definition>;
  items?: Definition;
  additionalProperties?: Definition | boolean;
  required?: string[];
  enum?: unknown[];
  oneOf?: Definition[];
  allOf?: Definition[];
  anyOf?: Definition[];
  not?: Definition;
  nullable?: boolean;
  /** Definition that v3 uses instead, because v2 cannot express it. */
  inV3?: Definition;
  [extension: `x-kubernetes-${string}`]: unknown;
  [other: string]: unknown;
}

const packages: Record<string, string> = {
  meta: 'io.k8s.apimachinery.pkg.apis.meta',
  apiextensions: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions',
};
export const objectMetaName = definitionName('meta.v1.ObjectMeta');
export const listMetaName = definitionName('meta.v1.ListMeta');

/** core.v1.Node → io.k8s.api.core.v1.Node */
export function definitionName(struct: string): string {
  const [group = '', ...rest] = struct.split('.');
  return [packages[group] ?? `io.k8s.api.${group}`, ...rest].join('.');
}

/** Scalars that Kubernetes publishes as definitions of their own. */
const namedScalars: Record<string, { name: string; definition: Definition }> = {
  time: {
    name: definitionName('meta.v1.Time'),
    definition: { type: 'string', format: 'date-time', description: 'A time in RFC 3339 form.' },
  },
  microtime: {
    name: definitionName('meta.v1.MicroTime'),
    definition: { type: 'string', format: 'date-time', description: 'A time in RFC 3339 form, to the microsecond.' },
  },
  quantity: {
    name: 'io.k8s.apimachinery.pkg.api.resource.Quantity',
    definition: eitherOf(
      { type: 'string' },
      { type: 'number' },
      'An amount with a unit, such as 500m, 2, 64Mi or 1e3.',
    ),
  },
  intorstring: {
    name: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
    definition: eitherOf(
      { type: 'integer' },
      { type: 'string' },
      'A number, or a text such as a percentage or a name.',
      'int-or-string',
    ),
  },
  raw: {
    name: 'io.k8s.apimachinery.pkg.runtime.RawExtension',
    definition: { type: 'object', description: 'Any object, kept as it is.' },
  },
  any: {
    name: definitionName('apiextensions.v1.JSON'),
    definition: { description: 'Any JSON value.' },
  },
  schemaOrBool: {
    name: definitionName('apiextensions.v1.JSONSchemaPropsOrBool'),
    definition: { description: 'A schema, or true or false.' },
  },
};

/** In v2 it is a string. */
function eitherOf(one: Definition, other: Definition, description: string, format?: string): Definition {
  const shared = { description, ...(format === undefined ? {} : { format }) };
  return { type: 'string', ...shared, inV3: { ...shared, oneOf: [one, other] } };
}

/** Field sets may have any form, like RawExtension, but have a definition of their own. */
const fieldSets = {
  field: 'meta.v1.ManagedFieldsEntry.fieldsV1',
  name: definitionName('meta.v1.FieldsV1'),
  definition: { type: 'object', description: 'Fields as a tree of their names.' },
};

/** Adds a shape and everything it refers to. */
export function addStruct(definitions: Map<string, Definition>, struct: string): void {
  const name = definitionName(struct);
  if (definitions.has(name)) return;
  const definition: Definition = { type: 'object' };
  definitions.set(name, definition);
  const { fields } = structOf(struct);
  definition.properties = Object.fromEntries(
    fields.map((field) => [field.name, { ...fieldDefinition(definitions, struct, field), ...patchNotes(field) }]),
  );
  const required = fields.filter((field) => field.required).map((field) => field.name);
  if (required.length > 0) definition.required = required;
}

function fieldDefinition(definitions: Map<string, Definition>, struct: string, { name, type }: Field): Definition {
  if (`${struct}.${name}` !== fieldSets.field) return typeDefinition(definitions, type);
  definitions.set(fieldSets.name, fieldSets.definition);
  return { ref: fieldSets.name };
}

function typeDefinition(definitions: Map<string, Definition>, type: Type): Definition {
  switch (type.kind) {
    case 'pointer':
      return typeDefinition(definitions, type.of);
    case 'list':
      return { type: 'array', items: typeDefinition(definitions, type.of) };
    case 'map':
      return { type: 'object', additionalProperties: typeDefinition(definitions, type.of) };
    case 'struct':
      addStruct(definitions, type.name);
      return { ref: definitionName(type.name) };
    case 'enum':
      return { type: 'string', enum: type.values };
    case 'scalar': {
      const named = namedScalars[type.name];
      if (named === undefined) return { ...scalarSchema(type.name) } as Definition;
      definitions.set(named.name, named.definition);
      return { ref: named.name };
    }
  }
}
