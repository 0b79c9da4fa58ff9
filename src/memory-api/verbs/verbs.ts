/** Wires all verbs with the parts of the server that each uses. */
import type { Registry } from '../registry.js';
import type { WatchClock } from '../watch/watch-clock.js';
import { create } from './create.js';
import { deleteOne } from './delete.js';
import { deleteCollection } from './delete-collection.js';
import { get } from './get.js';
import { list } from './list.js';
import { patch } from './patch.js';
import { update } from './update.js';
import type { Verb, WriteContext } from './verb.js';
import { watch } from './watch.js';

export function createVerbs(write: WriteContext, registry: Registry, watches: WatchClock): Record<string, Verb> {
  const { store, clock, random } = write;
  return {
    create: (request) => create(request, write),
    get: (request) => get(request, store),
    list: (request) => list(request, store),
    watch: (request) => watch(request, { store, clock, random, watches }),
    update: (request) => update(request, write),
    patch: (request) => patch(request, write, registry),
    delete: (request) => deleteOne(request, write),
    deletecollection: (request) => deleteCollection(request, write),
  };
}
