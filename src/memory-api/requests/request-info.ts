/** Reads a request's method and path as Kubernetes does: a verb on a resource, or a non-resource path. */

import type { Attributes, User } from '../attributes.js';
import { exactName, parseFieldSelector } from '../field-selector.js';

const verbOfMethod: Record<string, string> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
/** Namespaces have subresources of their own; any other segment behind a namespace's name is a resource inside it. */
const namespaceSubresources: ReadonlySet<string> = new Set(['status', 'finalize']);
/** Old path forms: /api/v1/watch/nodes, /api/v1/proxy/nodes/NAME/… */
const verbsInPath: ReadonlySet<string> = new Set(['watch', 'proxy']);

export interface RequestInfo extends Attributes {
  /** Rest of the path after the subresource (or, for the old proxy form, the name), percent-encoding kept, no leading slash. */
  rest: string;
}

/** `path` is percent-encoded, as sent. Throws URIError when it cannot be decoded. */
export function requestInfo(user: User, method: string, path: string, query: URLSearchParams): RequestInfo {
  const decoded = decodeURIComponent(path);
  const info: RequestInfo = {
    user,
    verb: method.toLowerCase(),
    isResource: false,
    path: decoded,
    apiGroup: '',
    apiVersion: '',
    resource: '',
    subresource: '',
    namespace: '',
    name: '',
    rest: '',
  };
  const encoded = segments(path);
  let parts = encoded.map(decodeURIComponent);
  const prefix = parts[0];
  // A path with a doubled slash is not found.
  if (
    path.startsWith('//') ||
    parts.length < 3 ||
    (prefix !== 'api' && prefix !== 'apis') ||
    (prefix === 'apis' && parts.length < 4)
  )
    return info;
  info.isResource = true;
  if (prefix === 'apis') info.apiGroup = parts[1]!;
  info.apiVersion = parts[prefix === 'apis' ? 2 : 1]!;
  parts = parts.slice(prefix === 'apis' ? 3 : 2);

  info.verb = verbOfMethod[method] ?? '';
  if (verbsInPath.has(parts[0]!) && parts.length > 1) info.verb = parts.shift()!;
  if (parts[0] === 'namespaces' && parts.length > 1) {
    info.namespace = parts[1]!;
    if (parts.length > 2 && !namespaceSubresources.has(parts[2]!)) parts = parts.slice(2);
  }
  info.resource = parts[0]!;
  info.name = parts[1] ?? '';
  const restFrom = info.verb === 'proxy' ? 2 : 3;
  if (restFrom === 3) info.subresource = parts[2] ?? '';
  if (parts.length > restFrom) info.rest = encoded.slice(encoded.length - (parts.length - restFrom)).join('/');
  // Behind a proxied name a trailing slash is part of the path.
  if (info.rest !== '' && path.endsWith('/')) info.rest += '/';
  refineVerb(info, query);
  return info;
}

/** A get without a name is a list or a watch; a delete without a name is of the collection. */
function refineVerb(info: RequestInfo, query: URLSearchParams): void {
  if (info.name !== '') return;
  if (info.verb === 'get') {
    info.verb = isTrue(query.get('watch')) ? 'watch' : 'list';
    info.name = exactName(query.get('fieldSelector') ?? '') ?? '';
    addFieldSelector(info, query.get('fieldSelector'));
  } else if (info.verb === 'delete') info.verb = 'deletecollection';
}

/** Authorizers may use the selector; the verb rejects an invalid one. */
function addFieldSelector(info: RequestInfo, text: string | null): void {
  if (text === null || text === '') return;
  try {
    info.fieldSelector = parseFieldSelector(text);
  } catch {}
}

/** As Kubernetes reads booleans in queries: present and neither false nor 0. */
export function isTrue(value: string | null): boolean {
  return value !== null && value.toLowerCase() !== 'false' && value !== '0';
}

function segments(path: string): string[] {
  const trimmed = path.replace(/^\/+|\/+$/g, '');
  return trimmed === '' ? [] : trimmed.split('/');
}
