/** JSON Schemas (draft 7) of KubeletConfiguration and of its overlay for one minor, so that editors complete and check files. */
import { entryOf } from './catalogue.js';
import { choicesOf, gateNamesOf } from './choices.js';
import { defaultOf, fieldAt, fieldsOf } from './fields.js';
import { header, overlayHeader } from './header.js';
import { childPath, knownMinor, type Minor } from './model.js';
import { type ScalarType, type Shape, type StructShape, shapeOf } from './shape.js';

export type JsonSchema = { [keyword: string]: unknown };

export function jsonSchema(minor: Minor): JsonSchema {
  const known = knownMinor(minor);
  const root = structSchema(shapeOf(known), '', known);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: `KubeletConfiguration of kubelet 1.${known}`,
    type: 'object',
    additionalProperties: false,
    required: ['apiVersion', 'kind'],
    properties: {
      apiVersion: { const: header.apiVersion },
      kind: { const: 'KubeletConfiguration' },
      ...(root.properties as object),
    },
  };
}

/** Without null, which an overlay rejects, and with absolute paths only. */
export function overlaySchema(minor: Minor): JsonSchema {
  const known = knownMinor(minor);
  const all = fieldsOf(known).filter(({ path }) => !path.includes('[]'));
  const maps = all.filter(({ goType }) => goType.startsWith('map['));
  const key = `^(${maps.map(({ path }) => path.replaceAll('.', '\\.')).join('|')})(\\..+|\\[.+\\])$`;
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: `KubeletConfigurationOverlay for kubelet 1.${known}`,
    type: 'object',
    additionalProperties: false,
    required: ['apiVersion', 'kind'],
    properties: {
      apiVersion: { const: overlayHeader.apiVersion },
      kind: { const: overlayHeader.kind },
      config: {
        description:
          "Fields to set. Maps are merged into the node's local config key by key, everything else replaces.",
        ...withoutNull(structSchema(shapeOf(known), '', known)),
      },
      unset: {
        description: "Fields, and keys of maps, that get the kubelet's default instead of what the local config has.",
        type: 'array',
        items: { type: 'string', anyOf: [{ enum: all.map(({ path }) => path) }, { pattern: key }] },
      },
    },
  };
}

function withoutNull(schema: JsonSchema, path = ''): JsonSchema {
  const { type, properties, items } = schema;
  const types = [type].flat().filter((name) => name !== 'null');
  const inside = Object.entries((properties ?? {}) as Record<string, JsonSchema>).map(([name, child]) => [
    name,
    withoutNull(child, childPath(path, name, 'field')),
  ]);
  return {
    ...schema,
    type: types.length === 1 ? types[0] : types,
    ...(properties !== undefined && { properties: Object.fromEntries(inside) }),
    ...(items !== undefined && { items: withoutNull(items as JsonSchema, `${path}[]`) }),
    ...(fieldAt(path)?.isHostPath && { pattern: '^(/.*)?$' }),
  };
}

function structSchema(shape: StructShape, path: string, minor: Minor): JsonSchema {
  const properties: JsonSchema = {};
  for (const [name, child] of shape.fields)
    properties[name] = fieldSchema(child, childPath(path, name, 'field'), minor);
  return { type: shape.pointer ? ['object', 'null'] : 'object', additionalProperties: false, properties };
}

/** Adds the purpose and the default of a field. */
function fieldSchema(shape: Shape, path: string, minor: Minor): JsonSchema {
  const schema = shapeSchema(shape, path, minor);
  const field = fieldAt(path);
  const what = entryOf(path)?.what;
  const fallback = field !== undefined && field.defaults.length > 0 ? defaultOf(field, minor) : null;
  return { ...(what && { description: what }), ...schema, ...(fallback !== null && { default: fallback }) };
}

function shapeSchema(shape: Shape, path: string, minor: Minor): JsonSchema {
  switch (shape.kind) {
    case 'struct':
      return structSchema(shape, path, minor);
    case 'list':
      return { type: ['array', 'null'], items: shapeSchema(shape.item, `${path}[]`, minor) };
    case 'map':
      return mapSchema(shape.value, path, minor);
    case 'scalar': {
      const allowed = choicesOf(path, minor);
      if (allowed !== undefined) return { type: 'string', enum: path.includes('[]') ? allowed : ['', ...allowed] };
      const { type, ...bounds } = scalarSchemas[shape.type];
      return { type: shape.pointer ? [type, 'null'].flat() : type, ...bounds };
    }
  }
}

function mapSchema(value: Shape, path: string, minor: Minor): JsonSchema {
  if (path !== 'featureGates')
    return { type: ['object', 'null'], additionalProperties: shapeSchema(value, `${path}{}`, minor) };
  const gates = gateNamesOf(minor).map((gate) => [gate, { type: 'boolean' }]);
  return { type: ['object', 'null'], additionalProperties: false, properties: Object.fromEntries(gates) };
}

const durationPattern = '^[-+]?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)$';
const quantityPattern = '^[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?$';

const scalarSchemas: Record<ScalarType, JsonSchema> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
  int64: { type: 'integer' },
  uint32: { type: 'integer', minimum: 0, maximum: 2 ** 32 - 1 },
  float64: { type: 'number' },
  duration: { type: 'string', pattern: durationPattern },
  'duration-or-int': { type: ['string', 'integer'], pattern: durationPattern },
  quantity: { type: ['string', 'number'], pattern: quantityPattern },
  time: { type: ['string', 'null'], format: 'date-time' },
};
