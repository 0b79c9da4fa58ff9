/** OpenAPI v3: an index, and one document for each group and version. */
import type { Resource } from '../../../memory-api/resource.js';
import type { Definition } from './definition.js';
import { buildDefinitions } from './definitions.js';
import type { JsonObject } from './document-v2.js';
import { type Operation, operationsOf, type Parameter, type PathOperation, patchParameters } from './operations.js';

export function documentV3(resources: Resource[], version: string): JsonObject {
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: `v${version}` },
    paths: Object.fromEntries(resources.flatMap(operationsOf).map((entry) => [entry.path, pathItem(entry)])),
    components: {
      schemas: Object.fromEntries([...buildDefinitions(resources)].map(([name, entry]) => [name, schemaV3(entry)])),
      securitySchemes: {
        BearerToken: { type: 'apiKey', description: 'A bearer token.', name: 'authorization', in: 'header' },
      },
    },
  };
}

export function schemaV3(definition: Definition): JsonObject {
  if (definition.inV3 !== undefined) return schemaV3(definition.inV3);
  const { ref, properties, items, additionalProperties, oneOf, anyOf, allOf, not, ...rest } = definition;
  const each = (entries: Definition[]) => entries.map(schemaV3);
  const schema: JsonObject = { ...rest };
  if (ref !== undefined) {
    const pointer = { $ref: `#/components/schemas/${ref}` };
    if (Object.keys(rest).length === 0) return pointer;
    // A $ref hides its siblings; inside allOf it does not.
    schema.allOf = [pointer];
  }
  if (properties !== undefined)
    schema.properties = Object.fromEntries(Object.entries(properties).map(([name, entry]) => [name, schemaV3(entry)]));
  if (items !== undefined) schema.items = schemaV3(items);
  if (additionalProperties !== undefined)
    schema.additionalProperties =
      typeof additionalProperties === 'boolean' ? additionalProperties : schemaV3(additionalProperties);
  if (oneOf !== undefined) schema.oneOf = each(oneOf);
  if (anyOf !== undefined) schema.anyOf = each(anyOf);
  if (allOf !== undefined) schema.allOf = each(allOf);
  if (not !== undefined) schema.not = schemaV3(not);
  return schema;
}

function pathItem({ pathParameters, operation }: PathOperation): JsonObject {
  return { patch: operationV3(operation), parameters: pathParameters.map(parameterV3) };
}

function operationV3({ id, consumes, answer, kind }: Operation): JsonObject {
  const schema = { $ref: `#/components/schemas/${answer}` };
  return {
    operationId: id,
    parameters: patchParameters.map(parameterV3),
    requestBody: { content: Object.fromEntries(consumes.map((type) => [type, { schema: { type: 'object' } }])) },
    responses: { 200: { description: 'OK', content: { 'application/json': { schema } } } },
    'x-kubernetes-action': 'patch',
    'x-kubernetes-group-version-kind': kind,
  };
}

function parameterV3({ name, type, description }: Parameter): JsonObject {
  const isPath = name === 'name' || name === 'namespace';
  return {
    name,
    in: isPath ? 'path' : 'query',
    description,
    ...(isPath ? { required: true } : {}),
    schema: { type, uniqueItems: true },
  };
}
