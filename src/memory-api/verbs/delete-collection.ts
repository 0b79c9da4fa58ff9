/** DELETE of a collection: deletes every selected object, one by one. */
import { ApiError } from '../../api/status.js';
import { listOptions } from '../list/list-options.js';
import { selectionOf } from '../list/selection.js';
import { deleteOptions } from '../options.js';
import { respondList } from '../requests/respond.js';
import { type DeleteContext, deleteObject } from './delete.js';
import { collect } from './list.js';
import type { VerbRequest } from './verb.js';

export async function deleteCollection(request: VerbRequest, context: DeleteContext): Promise<void> {
  const { exchange, info, resource } = request;
  const options = listOptions(exchange.query, false);
  const selection = selectionOf(info, resource, exchange.query);
  const deletion = await deleteOptions(exchange);
  const { items, meta } = collect(context.store, resource, selection, options);
  // Read before they are deleted: the response shows them as they were.
  const shown = items.map(({ key, revision, bytes }) => ({ key, revision, bytes }));
  // Concurrently: they share a sync.
  await Promise.all(
    shown.map(async ({ key }) => {
      const one = { ...request, info: { ...info, namespace: key.namespace } };
      await deleteObject(one, context, key.name, deletion).catch((error: unknown) => {
        // Deleted concurrently.
        if (!(error instanceof ApiError) || error.code !== 404) throw error;
      });
    }),
  );
  await respondList(request, shown, meta);
}
