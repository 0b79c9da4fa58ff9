/** The contract of the store: the same suite runs in memory and on disk. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../../test/temporary-dir.js';
import { systemClock } from '../../../clock.js';
import { memoryJournal } from '../../../memory-api/store/journal.js';
import { type HistoryLimits, RevisionStore } from '../../../memory-api/store/revision-store.js';
import {
  type Key,
  RevisionCompacted,
  RevisionConflict,
  type Store,
  type StoreEvent,
} from '../../../memory-api/store/store.js';
import { openDiskJournal } from './disk-journal.js';

const pods = { group: '', resource: 'pods' };
const pod = (name: string, namespace = 'default'): Key => ({ ...pods, namespace, name });

function put(store: Store, key: Key, value: string, expected = store.latest(key)?.revision ?? 0) {
  return store.write({
    key,
    expected,
    delete: false,
    encode: (revision) => Buffer.from(JSON.stringify({ value, revision })),
  });
}

function remove(store: Store, key: Key, expected = store.latest(key)?.revision ?? 0) {
  return store.write({ key, expected, delete: true, encode: () => Buffer.from('{"value":"gone"}') });
}

const textOf = (bytes: Buffer | undefined) => bytes && (JSON.parse(bytes.toString()).value as string);
const names = (store: Store, range = {}) => store.list(pods, range).items.map(({ key }) => key.name);
const short = (event: StoreEvent) => `${event.type} ${event.key.name} ${textOf(event.bytes)}`;

describe.each(['memory', 'disk'])('store in %s', (kind) => {
  let directory: string;
  let store: RevisionStore;
  const open = async (limits: HistoryLimits = {}) =>
    new RevisionStore(kind === 'memory' ? memoryJournal() : await openDiskJournal({ directory }), systemClock, limits);

  beforeEach(async () => {
    directory = temporaryDir();
    store = await open();
  });
  afterEach(async () => {
    await store.close();
  });

  test('a written object is read back, with the revision it was given', async () => {
    const written = await put(store, pod('a'), 'one');
    expect(written.revision).toBe(2);
    expect(JSON.parse(store.get(pod('a'))!.bytes.toString())).toEqual({ value: 'one', revision: 2 });
    expect(store.revision).toBe(2);
  });

  test('readers see a write only when it is durable, writers see it at once', async () => {
    const writing = put(store, pod('a'), 'one');
    expect(store.get(pod('a'))).toBeUndefined();
    expect(textOf(store.latest(pod('a'))?.bytes)).toBe('one');
    await writing;
    expect(textOf(store.get(pod('a'))?.bytes)).toBe('one');
  });

  test('a write based on an old revision is rejected and changes nothing', async () => {
    await put(store, pod('a'), 'one');
    await put(store, pod('a'), 'two');
    await expect(put(store, pod('a'), 'three', 2)).rejects.toBeInstanceOf(RevisionConflict);
    await expect(put(store, pod('a'), 'three', 0)).rejects.toBeInstanceOf(RevisionConflict);
    await expect(remove(store, pod('b'), 2)).rejects.toBeInstanceOf(RevisionConflict);
    expect(textOf(store.get(pod('a'))?.bytes)).toBe('two');
    expect(store.revision).toBe(3);
  });

  test('writes based on pending writes all succeed, in order', async () => {
    const seen: string[] = [];
    store.subscribe(pods, (event) => seen.push(short(event)));
    await Promise.all(Array.from({ length: 50 }, (_, at) => put(store, pod('a'), String(at))));
    expect(seen.at(0)).toBe('created a 0');
    expect(seen.at(-1)).toBe('updated a 49');
    expect(seen).toHaveLength(50);
    expect(store.revision).toBe(51);
  });

  test('a deleted object is gone and can be created again', async () => {
    await put(store, pod('a'), 'one');
    await remove(store, pod('a'));
    expect(store.get(pod('a'))).toBeUndefined();
    expect(names(store)).toEqual([]);
    await put(store, pod('a'), 'two', 0);
    expect(textOf(store.get(pod('a'))?.bytes)).toBe('two');
  });

  test('lists are in key order, by namespace, name and collection', async () => {
    await Promise.all([
      put(store, pod('b', 'x'), '1'),
      put(store, pod('a', 'x'), '2'),
      put(store, pod('z', 'a'), '3'),
      put(store, pod('q', 'x-y'), '4'),
      put(store, { group: 'other', resource: 'pods', namespace: 'x', name: 'elsewhere' }, '5'),
    ]);
    expect(names(store)).toEqual(['z', 'q', 'a', 'b']);
    expect(store.list({ ...pods, namespace: 'x' }).items.map(({ key }) => key.name)).toEqual(['a', 'b']);
    expect(store.list({ ...pods, name: 'q' }).items.map(({ key }) => key.namespace)).toEqual(['x-y']);
    expect(store.list({ ...pods, namespace: 'x', name: 'b' }).items).toHaveLength(1);
    expect(store.count({ ...pods, namespace: 'x' })).toBe(2);
    expect(store.count(pods)).toBe(4);
  });

  test('the pages of a list show the revision of the first page', async () => {
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => put(store, pod(name), 'old')));
    const first = store.list(pods, { limit: 2 });
    expect(first.items.map(({ key }) => key.name)).toEqual(['a', 'b']);
    expect(first).toMatchObject({ more: true, remaining: 3 });
    await put(store, pod('c'), 'new');
    await remove(store, pod('d'));
    await put(store, pod('cc'), 'new');
    await remove(store, pod('e'));
    await put(store, pod('e'), 'again', 0);
    const rest = store.list(pods, { after: first.items[1]!.key, revision: first.revision, limit: 3 });
    expect(rest.items.map(({ key, bytes }) => `${key.name} ${textOf(bytes)}`)).toEqual(['c old', 'd old', 'e old']);
    expect(rest).toMatchObject({ more: false, remaining: 0, revision: first.revision });
    expect(names(store)).toEqual(['a', 'b', 'c', 'cc', 'e']);
  });

  test('events are in order, with the state before', async () => {
    await put(store, pod('a'), 'one');
    const from = store.revision;
    await put(store, pod('a'), 'two');
    await put(store, pod('b', 'x'), 'else');
    await remove(store, pod('a'));
    const events = [...store.events({ ...pods, namespace: 'default' }, from)];
    expect(events.map(short)).toEqual(['updated a two', 'deleted a gone']);
    expect(events.map((event) => textOf(event.previous))).toEqual(['one', 'two']);
    expect([...store.events({ ...pods, name: 'b' }, 0)].map(short)).toEqual(['created b else']);
    expect([...store.events(pods, store.revision)]).toEqual([]);
  });

  test('listeners get events of their scope only, until they unsubscribe', async () => {
    const received: string[] = [];
    const listener = (who: string) => (event: StoreEvent) =>
      received.push(`${who}: ${event.key.namespace}/${event.key.name}`);
    store.subscribe(pods, listener('all'));
    store.subscribe({ ...pods, namespace: 'x' }, listener('x'));
    store.subscribe({ ...pods, namespace: 'x', name: 'a' }, listener('x/a'));
    const unsubscribe = store.subscribe({ ...pods, name: 'a' }, listener('a'));
    await put(store, pod('a', 'x'), '1');
    await put(store, pod('b', 'y'), '1');
    unsubscribe();
    await put(store, pod('a', 'y'), '1');
    expect(received.sort()).toEqual(['a: x/a', 'all: x/a', 'all: y/a', 'all: y/b', 'x/a: x/a', 'x: x/a']);
  });

  test('a compacted revision cannot be listed or watched; the newest states stay', async () => {
    await put(store, pod('a'), 'one');
    const first = store.list(pods);
    await put(store, pod('a'), 'two');
    await put(store, pod('b'), 'one');
    await remove(store, pod('b'));
    const middle = store.revision;
    await put(store, pod('a'), 'three');
    await store.compact(middle);
    expect(() => [...store.events(pods, first.revision)]).toThrow(RevisionCompacted);
    expect(() => store.list(pods, { revision: first.revision })).toThrow(RevisionCompacted);
    const [event] = [...store.events(pods, middle)];
    expect(textOf(event?.previous)).toBe('two');
    expect(store.list(pods, { revision: middle }).items.map(({ bytes }) => textOf(bytes))).toEqual(['two']);
    expect(textOf(store.get(pod('a'))?.bytes)).toBe('three');
  });

  test('the history is limited in number and in bytes', async () => {
    await store.close();
    store = await open({ keepEvents: 10, keepBytes: 1 << 20 });
    for (let at = 0; at < 40; at++) await put(store, pod('a'), String(at));
    expect(store.compacted).toBeGreaterThan(20);
    expect([...store.events(pods, store.revision - 5)]).toHaveLength(5);
  });

  test.runIf(kind === 'disk')('objects and events are the same after closing and opening', async () => {
    await put(store, pod('a'), 'one');
    await put(store, pod('b'), 'one');
    const from = store.revision;
    await put(store, pod('a'), 'two');
    await remove(store, pod('b'));
    const { revision } = store;
    await store.close();
    store = await open();
    expect(store.revision).toBe(revision);
    expect(names(store)).toEqual(['a']);
    expect([...store.events(pods, from)].map(short)).toEqual(['updated a two', 'deleted b gone']);
    expect(store.list(pods, { revision: from }).items.map(({ key }) => key.name)).toEqual(['a', 'b']);
  });

  test.runIf(kind === 'disk')('revisions are not reused, even when the last deletion is compacted', async () => {
    await put(store, pod('a'), 'one');
    await remove(store, pod('a'));
    const { revision } = store;
    await store.compact(revision);
    await store.close();
    store = await open();
    expect(store.revision).toBe(revision);
    expect((await put(store, pod('a'), 'two')).revision).toBe(revision + 1);
    expect(() => [...store.events(pods, revision - 1)]).toThrow(RevisionCompacted);
  });
});
