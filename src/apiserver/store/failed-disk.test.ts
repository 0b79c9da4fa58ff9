/** A disk that fails: nothing that was not written is ever seen, and nothing more is accepted. */
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../clock.js';
import { type Journal, memoryJournal } from './journal.js';
import { RevisionStore } from './revision-store.js';

const key = (name: string) => ({ group: '', resource: 'pods', namespace: 'default', name });

/** Works until it is told not to. */
function fragileJournal(): Journal & { isFull: boolean } {
  const journal = memoryJournal();
  return {
    ...journal,
    isFull: false,
    async append(records) {
      if (this.isFull) throw new Error('ENOSPC: no space left on device');
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

describe('a full disk', () => {
  test('rejects the write and those that built on it; readers keep seeing what is durable', async () => {
    const journal = fragileJournal();
    const store = new RevisionStore(journal, systemClock);
    const before = await put(store, 'a');
    const events: string[] = [];
    store.subscribe({ group: '', resource: 'pods' }, (event) => events.push(event.key.name));
    journal.isFull = true;
    const outcomes = await Promise.allSettled([put(store, 'a'), put(store, 'a'), put(store, 'b')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(store.get(key('a'))?.revision).toBe(before.revision);
    expect(store.latest(key('a'))?.revision).toBe(before.revision);
    expect(store.latest(key('b'))).toBeUndefined();
    expect(events).toEqual([]);
    expect(store.revision).toBe(before.revision);
  });

  test('nothing more is accepted, even when there is room again, until the store is opened anew', async () => {
    const journal = fragileJournal();
    const store = new RevisionStore(journal, systemClock);
    journal.isFull = true;
    await expect(put(store, 'a')).rejects.toThrow('is the disk full?');
    journal.isFull = false;
    await expect(put(store, 'a')).rejects.toThrow('nothing more is accepted until the server is started again');
    expect(store.failure?.cause).toMatchObject({ message: 'ENOSPC: no space left on device' });
    await expect(store.settled()).rejects.toThrow();
    await store.close();
  });
});
