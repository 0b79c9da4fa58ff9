/**
 * The OpenAPI v3 schema of a shape as linked objects: no $ref to follow, so a patch or an apply walks down `properties` and
 * `items` beside the data. Built on first use.
 */
import { type Field, structOf, type Type } from './types.js';

/** How patches and apply merge a field. */
export interface PatchNotes {
  'x-kubernetes-patch-strategy'?: string;
  'x-kubernetes-patch-merge-key'?: string;
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-map-type'?: string;
}

export interface LinkedSchema extends PatchNotes {
  type?: string;
  format?: string;
  enum?: string[];
  required?: string[];
  properties?: Record<string, LinkedSchema>;
  items?: LinkedSchema;
  additionalProperties?: LinkedSchema;
  default?: unknown;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
}

const structs = new Map<string, LinkedSchema>();
/** References to objects elsewhere are owned as a whole. */
const atomicStructs: ReadonlySet<string> = new Set([
  'core.v1.ObjectReference',
  'core.v1.LocalObjectReference',
  'core.v1.TypedLocalObjectReference',
  'core.v1.SecretReference',
  'core.v1.ConfigMapKeySelector',
  'core.v1.SecretKeySelector',
  'core.v1.ObjectFieldSelector',
  'core.v1.ResourceFieldSelector',
  'core.v1.NodeSelector',
  'core.v1.NodeSelectorTerm',
  'core.v1.TopologySelectorTerm',
  'core.v1.EndpointAddress',
  'core.v1.EndpointPort',
  'core.v1.ScopeSelector',
  'admissionregistration.v1.ParamKind',
  'admissionregistration.v1.ParamRef',
  'admissionregistration.v1.Variable',
  'admissionregistration.v1.MatchResources',
  'admissionregistration.v1.NamedRuleWithOperations',
  'networking.v1.ServiceBackendPort',
  'meta.v1.OwnerReference',
  'meta.v1.LabelSelector',
  'rbac.v1.Subject',
  'rbac.v1.RoleRef',
]);

export function linkedSchema(structName: string): LinkedSchema {
  const known = structs.get(structName);
  if (known !== undefined) return known;
  const struct = structOf(structName);
  let properties: Record<string, LinkedSchema> | undefined;
  const schema: LinkedSchema = {
    type: 'object',
    get properties() {
      properties ??= Object.fromEntries(struct.fields.map((field) => [field.name, fieldSchema(field)]));
      return properties;
    },
  };
  if (atomicStructs.has(structName)) schema['x-kubernetes-map-type'] = 'atomic';
  const required = struct.fields.filter((field) => field.required).map((field) => field.name);
  if (required.length > 0) schema.required = required;
  structs.set(structName, schema);
  return schema;
}

function fieldSchema(field: Field): LinkedSchema {
  const schema = typeSchema(field.type);
  const notes = field.default === undefined ? patchNotes(field) : { ...patchNotes(field), default: field.default };
  // A struct's schema is shared: merge settings of a field need an object of their own.
  return Object.keys(notes).length === 0
    ? schema
    : Object.defineProperties(
        {},
        {
          ...Object.getOwnPropertyDescriptors(schema),
          ...Object.getOwnPropertyDescriptors(notes),
        },
      );
}

export function patchNotes(field: Field): PatchNotes {
  const notes: PatchNotes = {};
  if (field.patchStrategy !== undefined) notes['x-kubernetes-patch-strategy'] = field.patchStrategy;
  if (field.patchMergeKey !== undefined) notes['x-kubernetes-patch-merge-key'] = field.patchMergeKey;
  const isList = field.type.kind === 'list';
  if (isList && field.listType !== undefined) notes['x-kubernetes-list-type'] = field.listType;
  if (isList && field.listMapKeys !== undefined) notes['x-kubernetes-list-map-keys'] = field.listMapKeys;
  if (field.isAtomic === true) notes['x-kubernetes-map-type'] = 'atomic';
  return notes;
}

function typeSchema(type: Type): LinkedSchema {
  switch (type.kind) {
    case 'pointer':
      return typeSchema(type.of);
    case 'list':
      return { type: 'array', items: typeSchema(type.of) };
    case 'map':
      return { type: 'object', additionalProperties: typeSchema(type.of) };
    case 'struct':
      return linkedSchema(type.name);
    case 'enum':
      return { type: 'string', enum: type.values };
    case 'scalar':
      // A quantity may be written as a number too.
      return type.name === 'quantity' ? { type: 'string', format: 'quantity' } : scalarSchema(type.name);
  }
}

export function scalarSchema(scalar: string): LinkedSchema {
  switch (scalar) {
    case 'bool':
      return { type: 'boolean' };
    case 'int32':
    case 'int64':
      return { type: 'integer', format: scalar };
    case 'float64':
      return { type: 'number', format: 'double' };
    case 'bytes':
      return { type: 'string', format: 'byte' };
    case 'time':
    case 'microtime':
      return { type: 'string', format: 'date-time' };
    case 'intorstring':
      return { 'x-kubernetes-int-or-string': true };
    case 'raw':
    case 'any':
    case 'schemaOrBool':
      return { 'x-kubernetes-preserve-unknown-fields': true };
    default:
      return { type: 'string' };
  }
}
