/** GET of a collection: at one revision, in pages on request. */
import type { ApiError } from '../../api/status.js';
import { decodeContinue, encodeContinue } from '../list/continue-token.js';
import { type ListOptions, listOptions } from '../list/list-options.js';
import { parseRevision, tooLargeRevision } from '../list/revision-parameter.js';
import { type Selection, selectionOf } from '../list/selection.js';
import { decodeStored } from '../requests/codec.js';
import type { ListMeta } from '../requests/presenter.js';
import { respondList } from '../requests/respond.js';
import type { Resource } from '../resource.js';
import { badRequest, expired, plainInternal } from '../status-error.js';
import type { ListRange, Store, Stored } from '../store/store.js';
import type { VerbRequest } from './verb.js';

const tooOldToContinue =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

export async function list(request: VerbRequest, store: Store): Promise<void> {
  const { exchange, info, resource } = request;
  const options = listOptions(exchange.query, false);
  const selection = selectionOf(info, resource, exchange.query);
  const { items, meta } = collect(store, resource, selection, options);
  await respondList(request, items, meta);
}

/** The items of a list, not parsed yet. */
export function collect(
  store: Store,
  resource: Resource,
  selection: Selection,
  options: ListOptions,
): { items: Stored[]; meta: ListMeta } {
  const range = rangeOf(store, options);
  const { items, more, remaining, revision } = pages(store, selection, range, (stored) =>
    selection.matches!(decodeStored(resource, stored.bytes)),
  );
  const meta: ListMeta = { resourceVersion: String(revision) };
  const last = items.at(-1);
  if (more && last !== undefined) {
    const namespace = selection.scope.namespace === undefined ? last.key.namespace : '';
    meta.continue = encodeContinue({ revision, namespace, name: last.key.name });
    if (!selection.isSelective) meta.remainingItemCount = remaining;
  }
  return { items, meta };
}

/** The start and the revision of a list. */
function rangeOf(store: Store, options: ListOptions): ListRange {
  const { limit } = options;
  if (options.continue !== '') {
    const token = decodeContinue(options.continue);
    if (options.resourceVersion !== '' && options.resourceVersion !== '0') {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    const after = { namespace: token.namespace, name: token.name };
    if (token.revision < 0) return { limit, after };
    if (token.revision < store.compacted) throw expiredContinue(token);
    if (token.revision > store.revision) throw tooLargeRevision(token.revision, store.revision);
    return { limit, after, revision: token.revision };
  }
  const wanted = parseRevision(options.resourceVersion);
  // Kubernetes passes the error of its store through.
  if (wanted > store.revision && options.resourceVersionMatch === 'Exact')
    throw plainInternal('etcdserver: mvcc: required revision is a future revision');
  if (wanted > store.revision) throw tooLargeRevision(wanted, store.revision);
  // Without a match rule, a limit with a revision has always meant exactly that revision.
  const isExact = options.resourceVersionMatch === 'Exact' || (options.resourceVersionMatch === '' && limit > 0);
  // Revision 0 accepts any state: that of the cache, whole.
  if (options.resourceVersion === '0') return { revision: store.revision };
  if (wanted === 0 || !isExact) return { limit };
  if (wanted < store.compacted) throw expired('The resourceVersion for the provided list is too old.');
  return { limit, revision: wanted };
}

function expiredContinue({ namespace, name }: { namespace: string; name: string }): ApiError {
  const error = expired(tooOldToContinue);
  error.status.metadata = { continue: encodeContinue({ revision: -1, namespace, name }) };
  return error;
}

/** Reads pages of the collection until enough objects match. */
function pages(store: Store, { scope, matches }: Selection, range: ListRange, isMatch: (stored: Stored) => boolean) {
  const after =
    range.after && scope.namespace !== undefined ? { ...range.after, namespace: scope.namespace } : range.after;
  const first = store.list(scope, { ...range, ...(after === undefined ? {} : { after }) });
  if (matches === undefined) return first;
  const limit = range.limit ?? 0;
  const items: Stored[] = [];
  let page = first;
  for (;;) {
    for (const [at, stored] of page.items.entries()) {
      if (isMatch(stored)) items.push(stored);
      if (limit > 0 && items.length === limit) {
        const more = page.more || at < page.items.length - 1;
        return { items, more, remaining: 0, revision: first.revision };
      }
    }
    if (!page.more) return { items, more: false, remaining: 0, revision: first.revision };
    page = store.list(scope, { limit: 500, after: page.items.at(-1)!.key, revision: first.revision });
  }
}
