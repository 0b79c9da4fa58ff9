/** The OpenAPI v2 document: everything in one, as kubectl before 1.27 reads it. */
import type { Resource } from '../resource.js';
import type { Definition } from './definition.js';
import { buildDefinitions } from './definitions.js';
import { type Operation, operationsOf, type Parameter, type PathOperations } from './operations.js';

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

/** What v2 cannot express (alternatives, nullable, free form) is left out. */
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

function pathItem({ pathParameters, operations }: PathOperations): JsonObject {
  return {
    ...Object.fromEntries(operations.map((operation) => [operation.method, operationV2(operation)])),
    parameters: pathParameters.map((parameter) => parameterV2(parameter)),
  };
}

function operationV2(operation: Operation): JsonObject {
  const { kind, body } = operation;
  const bodySchema = body === 'any' ? { type: 'object' } : { $ref: `#/definitions/${body}` };
  const answer = { description: 'OK', schema: { $ref: `#/definitions/${operation.answer}` } };
  return {
    consumes: operation.consumes,
    operationId: operation.id,
    parameters: [
      ...(body === undefined
        ? []
        : [{ in: 'body', name: 'body', required: operation.method !== 'delete', schema: bodySchema }]),
      ...operation.parameters.map((parameter) => parameterV2(parameter)),
    ],
    produces: ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'],
    responses: Object.fromEntries([
      ...operation.codes.map((code) => [`${code}`, answer]),
      ['401', { description: 'Unauthorized' }],
    ]),
    schemes: ['https'],
    'x-kubernetes-action': operation.action,
    'x-kubernetes-group-version-kind': { group: kind.group, kind: kind.kind, version: kind.version },
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
