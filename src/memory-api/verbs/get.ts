/** GET of one object: its stored bytes. */

import { parseRevision, tooLargeRevision } from '../list/revision-parameter.js';
import { keyOf } from '../requests/codec.js';
import { respondStored } from '../requests/respond.js';
import { notFound } from '../status-error.js';
import type { Store } from '../store/store.js';
import { about, type VerbRequest } from './verb.js';

export function get(request: VerbRequest, store: Store): void {
  const { exchange, info, resource } = request;
  const wanted = parseRevision(exchange.query.get('resourceVersion'));
  if (wanted > store.revision) throw tooLargeRevision(wanted, store.revision);
  const stored = store.get(keyOf(resource, info.namespace, info.name));
  if (stored === undefined) throw notFound(about(request), info.name);
  respondStored(request, 200, stored);
}
