/** A watcher with a slow client: nothing is queued, nothing is lost, and the wait is bounded. */
import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../clock.js';
import type { Exchange, ResponseStream } from '../requests/exchange.js';
import type { Resource } from '../resource.js';
import { memoryJournal } from '../store/journal.js';
import { RevisionStore } from '../store/revision-store.js';
import { Watcher, type WatcherOptions } from './watcher.js';

const pods = { group: '', resource: 'pods' };
const resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods' } as Resource;

/** A client that accepts `room` lines and then no more until it is drained. */
class Slow implements ResponseStream {
  lines: string[] = [];
  isDestroyed = false;
  isEnded = false;
  #drain: (() => void) | undefined;

  constructor(public room: number) {}

  write(chunk: Buffer | string): boolean {
    this.lines.push(chunk.toString());
    this.room--;
    return this.room > 0;
  }

  onDrain(listener: () => void): void {
    this.#drain = listener;
  }

  drain(room: number): void {
    this.room = room;
    const drain = this.#drain;
    this.#drain = undefined;
    drain?.();
  }

  end(): void {
    this.isEnded = true;
  }

  destroy(): void {
    this.isDestroyed = true;
  }

  seen(): string {
    return this.lines.map((line) => JSON.parse(line).object.metadata.name ?? JSON.parse(line).type).join(' ');
  }
}

let store: RevisionStore;
let time: number;
let closeListener: () => void;

beforeEach(() => {
  store = new RevisionStore(memoryJournal(), systemClock);
  time = 0;
});

function put(name: string) {
  const key = { ...pods, namespace: 'default', name };
  const encode = () => Buffer.from(JSON.stringify({ kind: 'Pod', apiVersion: 'v1', metadata: { name } }));
  return store.write({ key, expected: store.latest(key)?.revision ?? 0, delete: false, encode });
}

function watch(stream: Slow, options: Partial<WatcherOptions> = {}): Watcher {
  const exchange = {
    onClose(listener: () => void) {
      closeListener = listener;
    },
  } as unknown as Exchange;
  return new Watcher({
    exchange,
    stream,
    store,
    resource,
    selection: { scope: pods, matches: undefined, isSelective: false },
    from: store.revision,
    initial: [],
    marksInitialEnd: false,
    presenter: { present: () => ({}) },
    form: undefined,
    includeObject: '',
    bookmarks: true,
    maxStallMs: 1000,
    now: () => time,
    ...options,
  });
}

describe('a client that does not keep up', () => {
  test('a slow client continues where it stopped', async () => {
    const stream = new Slow(2);
    watch(stream);
    for (const name of ['a', 'b', 'c', 'd', 'e']) await put(name);
    expect(stream.seen()).toBe('a b');
    stream.drain(2);
    expect(stream.seen()).toBe('a b c d');
    stream.drain(10);
    expect(stream.seen()).toBe('a b c d e');
    await put('f');
    expect(stream.seen()).toBe('a b c d e f');
  });

  test('a slow client gets the initial state in pieces too', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await put(name);
    const stream = new Slow(2);
    watch(stream, { initial: store.list(pods).items, marksInitialEnd: true });
    await put('e');
    expect(stream.seen()).toBe('a b');
    stream.drain(2);
    expect(stream.seen()).toBe('a b c d');
    stream.drain(9);
    expect(stream.seen()).toBe('a b c d BOOKMARK e');
  });

  test('a client that accepts nothing for too long while there are events is disconnected', async () => {
    const stream = new Slow(1);
    const watcher = watch(stream);
    await put('a');
    time = 900;
    await put('b');
    expect(stream.isDestroyed).toBe(false);
    time = 1100;
    await put('c');
    expect(stream.isDestroyed).toBe(true);
    expect(watcher.isClosed).toBe(true);
    await put('d');
    expect(stream.seen()).toBe('a');
  });

  test('a client whose position was compacted is disconnected', async () => {
    const stream = new Slow(1);
    watch(stream);
    await put('a');
    await put('b');
    await put('c');
    await store.compact(store.revision);
    stream.drain(10);
    expect(stream.isDestroyed).toBe(true);
    expect(stream.seen()).toBe('a');
  });

  test('a slow client gets no bookmark beyond its position', async () => {
    const stream = new Slow(1);
    const watcher = watch(stream);
    await put('a');
    await put('b');
    watcher.sendBookmark();
    expect(stream.seen()).toBe('a');
    stream.drain(5);
    watcher.sendBookmark();
    expect(stream.seen()).toBe('a b BOOKMARK');
  });

  test('a disconnected client is unsubscribed', async () => {
    const stream = new Slow(9);
    watch(stream);
    await put('a');
    closeListener();
    await put('b');
    expect(stream.seen()).toBe('a');
  });
});
