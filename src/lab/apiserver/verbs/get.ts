/** GET of one object: its stored bytes. */

import { keyOf } from '../http/codec.js';
import { respondStored } from '../http/respond.js';
import { parseRevision, tooLargeRevision } from '../list/revision-parameter.js';
import { notFound } from '../status-error.js';
import { about, type VerbRequest } from './verb.js';

export function get(request: VerbRequest): void {
  const { exchange, info, resource, parts } = request;
  const wanted = parseRevision(exchange.query.get('resourceVersion'));
  if (wanted > parts.store.revision) throw tooLargeRevision(wanted, parts.store.revision);
  const stored = parts.store.get(keyOf(resource, info.namespace, info.name));
  if (stored === undefined) throw notFound(about(request), info.name);
  respondStored(request, 200, stored);
}
