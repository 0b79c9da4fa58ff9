/**
 * Watch events as lines of JSON. An event that goes to a thousand watchers is parsed at most once and encoded once per
 * type.
 */
import type { KubeObject } from '../../api/object.js';
import { decodeStored, servedEncoding } from '../requests/codec.js';
import type { Resource } from '../resource.js';
import type { StoreEvent } from '../store/store.js';

export type WatchType = 'ADDED' | 'MODIFIED' | 'DELETED';

interface Shared {
  object?: KubeObject;
  previous?: KubeObject | undefined;
  lines: Map<string, Buffer>;
}

/** Dropped with the event, once every watcher has it. */
const shared = new WeakMap<StoreEvent, Shared>();

/** The object after the event; for a deletion its last state. Must not be changed. */
export function objectOf(event: StoreEvent, resource: Resource): KubeObject {
  const known = sharedOf(event);
  known.object ??= decodeStored(resource, event.bytes);
  return known.object;
}

export function previousOf(event: StoreEvent, resource: Resource): KubeObject | undefined {
  const known = sharedOf(event);
  if (!('previous' in known)) {
    const bytes = event.previous;
    known.previous = bytes && decodeStored(resource, bytes);
  }
  return known.previous;
}

/** The line for watchers that want plain JSON. `left`: the object no longer matches, so its former state is shown. */
export function plainLine(event: StoreEvent, type: WatchType, resource: Resource, left: boolean): Buffer {
  const known = sharedOf(event);
  const id = `${type} ${left} ${resource.group}/${resource.version}`;
  let line = known.lines.get(id);
  if (line === undefined) {
    const isRaw = !left && resource.stored === undefined;
    line = frame(
      type,
      isRaw ? event.bytes : servedEncoding(resource, left ? formerState(event, resource) : objectOf(event, resource)),
    );
    known.lines.set(id, line);
  }
  return line;
}

/** Returns the object as it was before it left the selection, with the resourceVersion of the event that made it leave. */
export function formerState(event: StoreEvent, resource: Resource): KubeObject {
  const previous = previousOf(event, resource) ?? objectOf(event, resource);
  return { ...previous, metadata: { ...previous.metadata, resourceVersion: String(event.revision) } };
}

export function frame(type: string, object: Buffer | string): Buffer {
  const bytes = typeof object === 'string' ? Buffer.from(object) : object;
  return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), bytes, lineEnd]);
}

const lineEnd = Buffer.from('}\n');

function sharedOf(event: StoreEvent): Shared {
  let known = shared.get(event);
  if (known === undefined) {
    known = { lines: new Map() };
    shared.set(event, known);
  }
  return known;
}
