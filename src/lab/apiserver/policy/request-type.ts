/** The variable `request` of a policy: its type, and its value for a request. */

import type { AdmissionRequest } from '../../../memory-api/admission.js';
import { celTypeOf, type TypeSchema } from '../../../memory-api/cel/schema-type.js';
import { apiVersionOf } from '../../../memory-api/requests/codec.js';
import type { Resource } from '../../../memory-api/resource.js';

const text: TypeSchema = { type: 'string' };
const texts: TypeSchema = { type: 'array', items: text };
const record = (...names: string[]): TypeSchema => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, text])),
});

export const requestType = celTypeOf(
  {
    type: 'object',
    properties: {
      kind: record('group', 'version', 'kind'),
      resource: record('group', 'version', 'resource'),
      subResource: text,
      requestKind: record('group', 'version', 'kind'),
      requestResource: record('group', 'version', 'resource'),
      requestSubResource: text,
      name: text,
      namespace: text,
      operation: text,
      userInfo: {
        type: 'object',
        properties: {
          username: text,
          uid: text,
          groups: texts,
          extra: { type: 'object', additionalProperties: texts },
        },
      },
      dryRun: { type: 'boolean' },
      // Any type: the options depend on the operation.
      options: { 'x-kubernetes-int-or-string': true },
    },
  },
  'kubernetes.AdmissionRequest',
  // Its field names are not escaped: request.namespace.
  { nameOf: (property) => property },
)!;

/** `as`: the version in which the policy gets the object. Empty values are absent: policies must use has(). */
export function requestValue(request: AdmissionRequest, as: Resource): unknown {
  const { attributes, operation, resource, object, dryRun } = request;
  const { user, subresource, namespace } = attributes;
  const { extra = {} } = user;
  return requestType.fromJson({
    kind: kindOf(as),
    resource: resourceOf(as),
    requestKind: kindOf(resource),
    requestResource: resourceOf(resource),
    ...present('subResource', subresource),
    ...present('requestSubResource', subresource),
    ...present('name', attributes.name || object?.metadata.name || ''),
    ...present('namespace', namespaceOf(request, namespace)),
    operation,
    userInfo: {
      ...present('username', user.name),
      ...present('uid', user.uid ?? ''),
      ...(user.groups.length === 0 ? {} : { groups: user.groups }),
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    },
    dryRun,
    options: optionsOf(request),
  });
}

const kindOf = ({ group, version, kind }: Resource) => ({ group, version, kind });
const resourceOf = ({ group, version, plural }: Resource) => ({ group, version, resource: plural });
const present = (key: string, value: string) => (value === '' ? {} : { [key]: value });

/** A Namespace counts as being in itself. */
function namespaceOf({ resource, attributes, object }: AdmissionRequest, namespace: string): string {
  const isNamespace = resource.group === '' && resource.plural === 'namespaces';
  return isNamespace ? attributes.name || object?.metadata.name || '' : namespace;
}

function optionsOf({ operation, attributes, options, dryRun }: AdmissionRequest): Record<string, unknown> {
  const kinds = {
    CREATE: 'CreateOptions',
    UPDATE: 'UpdateOptions',
    DELETE: 'DeleteOptions',
    CONNECT: 'ConnectOptions',
  };
  const kind = attributes.verb === 'patch' ? 'PatchOptions' : kinds[operation];
  const { dryRun: _flag, ...rest } = options;
  const given = Object.entries(rest).filter(([, value]) => value !== undefined && value !== '' && value !== false);
  return {
    kind,
    apiVersion: apiVersionOf({ group: 'meta.k8s.io', version: 'v1' }),
    ...Object.fromEntries(given),
    ...(dryRun ? { dryRun: ['All'] } : {}),
  };
}
