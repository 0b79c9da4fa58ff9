/** GET of one object: its stored bytes; with resourceVersion=0 as the cache has them. */
import { parseRevision, tooLargeRevision } from '../list/revision-parameter.js';
import { keyOf } from '../requests/codec.js';
import { respondStored } from '../requests/respond.js';
import { notFound } from '../status-error.js';
import type { Store } from '../store/store.js';
import { about, type VerbRequest } from './verb.js';

export function get(request: VerbRequest, store: Store): void {
  const { exchange, info, resource } = request;
  const revision = exchange.query.get('resourceVersion');
  if (parseRevision(revision) > store.revision) throw tooLargeRevision(parseRevision(revision), store.revision);
  const key = keyOf(resource, info.namespace, info.name);
  const stored = revision === '0' ? store.list(key, { revision: store.revision }).items[0] : store.get(key);
  if (stored === undefined) throw notFound(about(request), info.name);
  respondStored(request, 200, stored);
}
