/** Logs are replaced by snapshots while writes continue; a crash at any point of that loses nothing that was acknowledged. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryDir } from '../../../../test/temporary-dir.js';
import { systemClock } from '../../../clock.js';
import { type Log, silentLog } from '../../../log.js';
import { RevisionStore } from '../../../memory-api/store/revision-store.js';
import type { Store } from '../../../memory-api/store/store.js';
import { openDiskJournal } from './disk-journal.js';

const pods = { group: '', resource: 'pods' };
let home: string;
beforeEach(() => {
  home = temporaryDir();
});

async function open(directory: string, shrinkBytes: number, log: Log = silentLog): Promise<RevisionStore> {
  return new RevisionStore(await openDiskJournal({ directory, shrinkBytes, log }), systemClock);
}

function put(store: Store, name: string, value: number) {
  const key = { ...pods, namespace: 'default', name };
  const encode = () => Buffer.from(JSON.stringify({ value, filler: 'x'.repeat(500) }));
  return store.write({ key, expected: store.latest(key)?.revision ?? 0, delete: false, encode });
}

const valuesOf = (store: Store) =>
  new Map(store.list(pods).items.map(({ key, bytes }) => [key.name, JSON.parse(bytes.toString()).value as number]));
const filesIn = (directory: string) => readdirSync(directory).filter((name) => name !== 'lock');
const logsIn = (directory: string) => filesIn(directory).filter((name) => name.startsWith('log-'));

/** As another process would find it after a kill at this moment. */
async function afterCrash(directory: string, look: (store: RevisionStore) => void): Promise<void> {
  const copy = mkdtempSync(join(home, 'crash-'));
  for (const name of filesIn(directory)) cpSync(join(directory, name), join(copy, name));
  const store = await open(copy, 1 << 20);
  look(store);
  await store.close();
  rmSync(copy, { recursive: true });
}

test('a kill after any write finds everything that was acknowledged, with its history', async () => {
  const directory = join(home, 'store');
  const store = await open(directory, 4000);
  const acknowledged = new Map<string, number>();
  const numbers = new Set<string>();
  for (let at = 0; at < 120; at++) {
    await put(store, `p${at % 7}`, at);
    acknowledged.set(`p${at % 7}`, at);
    for (const name of logsIn(directory)) numbers.add(name);
    await afterCrash(directory, (found) => {
      expect(valuesOf(found)).toEqual(acknowledged);
      expect(found.revision).toBe(store.revision);
      expect([...found.events(pods, 1)]).toHaveLength(at + 1);
    });
  }
  await store.close();
  expect(numbers.size).toBeGreaterThan(3);
  expect(logsIn(directory)).toHaveLength(1);
});

test('superseded states leave the disk when their events are compacted', async () => {
  const directory = join(home, 'store');
  const store = await open(directory, 10_000);
  const size = () => filesIn(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
  for (let at = 0; at < 400; at++) {
    await put(store, 'p', at);
    if (at % 10 === 0) await store.compact(store.revision);
  }
  await store.close();
  expect(size()).toBeLessThan(40_000);
  await afterCrash(directory, (found) => {
    expect(valuesOf(found)).toEqual(new Map([['p', 399]]));
    expect(found.revision).toBe(401);
    expect(found.compacted).toBe(392);
  });
});

test('a snapshot that a crash left incomplete is removed, and so are logs that a newer snapshot replaced', async () => {
  const directory = join(home, 'store');
  let store = await open(directory, 1);
  for (let at = 0; at < 20; at++) await put(store, `p${at}`, at);
  await store.close();
  const files = filesIn(directory);
  writeFileSync(join(directory, 'tmp_snapshot'), 'half');
  writeFileSync(join(directory, 'log-1'), 'of an earlier time');
  store = await open(directory, 1 << 20);
  expect(valuesOf(store).size).toBe(20);
  await store.close();
  expect(filesIn(directory)).toEqual(files);
});

test('a first start that crashed before its snapshot is started again', async () => {
  const directory = mkdtempSync(join(home, 'store-'));
  writeFileSync(join(directory, 'log-1'), '');
  const store = await open(directory, 1 << 20);
  await put(store, 'p', 1);
  await store.close();
  expect(filesIn(directory).sort()).toEqual(['log-1', 'snapshot']);
});

test('where no snapshot can be written it is logged, and the logs are kept', async () => {
  const directory = join(home, 'store');
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => warnings.push(message) };
  let store = await open(directory, 1, log);
  // A directory where the temporary file should be: opening it for writing fails.
  mkdirSync(join(directory, 'tmp_snapshot'));
  for (let at = 0; at < 10; at++) await put(store, `p${at}`, at);
  await store.close();
  expect(warnings[0]).toBe('cannot write store snapshot, logs are kept');
  rmSync(join(directory, 'tmp_snapshot'), { recursive: true, force: true });
  store = await open(directory, 1);
  expect(valuesOf(store).size).toBe(10);
  await store.close();
});
