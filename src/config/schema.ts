/** A JSON Schema (draft 7) of KubeletConfiguration for one minor, so that editors complete and check the file. */
import { entryOf } from './catalogue.js';
import { choicesOf, gateNamesOf } from './choices.js';
import { defaultOf, fieldAt } from './fields.js';
import { header } from './header.js';
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

function structSchema(shape: StructShape, path: string, minor: Minor): JsonSchema {
  const properties: JsonSchema = {};
  for (const [name, child] of shape.fields)
    properties[name] = fieldSchema(child, childPath(path, name, 'field'), minor);
  return { type: shape.pointer ? ['object', 'null'] : 'object', additionalProperties: false, properties };
}

/** With what people ask of a field: what it is for and what it is by default. */
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
