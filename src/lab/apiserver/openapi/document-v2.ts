/** The OpenAPI v2 document: everything in one, as kubectl before 1.27 reads it. */
import type { Resource } from '../../../memory-api/resource.js';
import type { Definition } from './definition.js';
import { buildDefinitions } from './definitions.js';
import { type Operation, operationsOf, type Parameter, type PathOperation, patchParameters } from './operations.js';

export type JsonObject = Record<string, unknown>;

export function documentV2(resources: Resource[], version: string): JsonObject {
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: `v${version}` },
    paths: Object.fromEntries(resources.flatMap(operationsOf).map((entry) => [entry.path, pathItem(entry)])),
    definitions: Object.fromEntries([...buildDefinitions(resources)].map(([name, entry]) => [name, schemaV2(entry)])),
    securityDefinitions: {
      BearerToken: { description: 'A bearer token.', in: 'header', name: 'authorization', type: 'apiKey' },
    },
    security: [{ BearerToken: [] }],
  };
}

/** Leaves out the parts that v2 cannot express: alternatives, nullable, free form. */
export function schemaV2(definition: Definition): JsonObject {
  const { ref, properties, items, additionalProperties, oneOf, anyOf, allOf, not, nullable, inV3, ...rest } =
    definition;
  // Beside a $ref only a description and extensions have a meaning.
  const schema: JsonObject = ref === undefined ? { ...rest } : { ...rest, $ref: `#/definitions/${ref}` };
  const isFree = rest['x-kubernetes-preserve-unknown-fields'] === true;
  const isKind = rest['x-kubernetes-group-version-kind'] !== undefined;
  // Otherwise a client would reject a null, a number or a field that the server accepts.
  if (nullable === true || rest['x-kubernetes-int-or-string'] === true || (isFree && !isKind)) {
    delete schema.type;
    delete schema.format;
  }
  if (properties !== undefined && nullable !== true && !isFree)
    schema.properties = Object.fromEntries(Object.entries(properties).map(([name, entry]) => [name, schemaV2(entry)]));
  if (items !== undefined && nullable !== true && !isFree) schema.items = schemaV2(items);
  if (typeof additionalProperties === 'object') schema.additionalProperties = schemaV2(additionalProperties);
  return schema;
}

function pathItem({ pathParameters, operation }: PathOperation): JsonObject {
  return { patch: operationV2(operation), parameters: pathParameters.map(parameterV2) };
}

function operationV2({ id, consumes, answer, kind }: Operation): JsonObject {
  return {
    consumes,
    operationId: id,
    parameters: [
      { in: 'body', name: 'body', required: true, schema: { type: 'object' } },
      ...patchParameters.map(parameterV2),
    ],
    produces: ['application/json'],
    responses: { 200: { description: 'OK', schema: { $ref: `#/definitions/${answer}` } } },
    schemes: ['https'],
    'x-kubernetes-action': 'patch',
    'x-kubernetes-group-version-kind': kind,
  };
}

function parameterV2({ name, type, description }: Parameter): JsonObject {
  const isPath = name === 'name' || name === 'namespace';
  return {
    description,
    in: isPath ? 'path' : 'query',
    name,
    ...(isPath ? { required: true } : {}),
    type,
    uniqueItems: true,
  };
}
