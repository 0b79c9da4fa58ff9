/** A failing disk: a failed write is never visible. A full disk is written again when it has room, a broken one is not. */
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../clock.js';
import { apiError } from '../../../memory-api/requests/respond.js';
import { type Journal, memoryJournal } from '../../../memory-api/store/journal.js';
import { RevisionStore } from '../../../memory-api/store/revision-store.js';
import { StoreFull } from '../../../memory-api/store/store.js';

const key = (name: string) => ({ group: '', resource: 'pods', namespace: 'default', name });

const full = new StoreFull(new Error('ENOSPC: no space left on device'));
const broken = new Error('EIO: i/o error');

/** Works until it is given an error. */
function fragileJournal(): Journal & { error: Error | undefined } {
  const journal = memoryJournal();
  return {
    ...journal,
    error: undefined,
    async append(records) {
      if (this.error !== undefined) throw this.error;
      return journal.append(records);
    },
  };
}

function put(store: RevisionStore, name: string) {
  const expected = store.latest(key(name))?.revision ?? 0;
  return store.write({
    key: key(name),
    expected,
    delete: false,
    encode: (revision) => Buffer.from(`{"r":${revision}}`),
  });
}

describe('a disk that fails', () => {
  test.each([
    ['full', full],
    ['broken', broken],
  ])('%s: rejects the write and those that built on it; readers keep seeing what is durable', async (_name, error) => {
    const journal = fragileJournal();
    const store = new RevisionStore(journal, systemClock);
    const before = await put(store, 'a');
    const events: string[] = [];
    store.subscribe({ group: '', resource: 'pods' }, (event) => events.push(event.key.name));
    journal.error = error;
    const outcomes = await Promise.allSettled([put(store, 'a'), put(store, 'a'), put(store, 'b')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(store.get(key('a'))?.revision).toBe(before.revision);
    expect(store.latest(key('a'))?.revision).toBe(before.revision);
    expect(store.latest(key('b'))).toBeUndefined();
    expect(events).toEqual([]);
    expect(store.revision).toBe(before.revision);
  });

  test('full: writes are accepted again as soon as there is room', async () => {
    const journal = fragileJournal();
    const store = new RevisionStore(journal, systemClock);
    journal.error = full;
    await expect(put(store, 'a')).rejects.toThrow('the store cannot be written: ENOSPC: no space left on device');
    expect(store.failure).toBeUndefined();
    journal.error = undefined;
    const written = await put(store, 'a');
    expect(store.get(key('a'))?.revision).toBe(written.revision);
    await store.settled();
    await store.close();
  });

  test('full: the response is 507', () => {
    expect(apiError(full).status).toMatchObject({
      code: 507,
      message: expect.stringContaining('objects can still be read'),
    });
    expect(apiError(broken).status).toMatchObject({ code: 500 });
  });

  test('full: settled() rejects when a pending write fails', async () => {
    const journal = fragileJournal();
    const store = new RevisionStore(journal, systemClock);
    journal.error = full;
    const written = put(store, 'a');
    const outcomes = await Promise.allSettled([written, store.settled()]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await store.close();
  });

  test('broken: nothing more is accepted until the store is opened again', async () => {
    const journal = fragileJournal();
    const store = new RevisionStore(journal, systemClock);
    journal.error = broken;
    await expect(put(store, 'a')).rejects.toThrow('write to the store failed');
    journal.error = undefined;
    await expect(put(store, 'a')).rejects.toThrow('nothing more is accepted until the server is started again');
    expect(store.failure?.cause).toBe(broken);
    await expect(store.settled()).rejects.toThrow();
    await store.close();
  });
});
