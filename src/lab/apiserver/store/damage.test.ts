/** A store that is damaged, of another format or in use is refused with words, and left untouched. */
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open as openLmdb } from 'lmdb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../clock.js';
import { lockDirectory } from './directory-lock.js';
import { openStore as open } from './open-store.js';

let home: string;
let healthy: string;
let copies = 0;

const openStore = (directory: string) => open(directory, systemClock);

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'relet-damage-'));
  healthy = join(home, 'healthy');
  const store = await openStore(healthy);
  for (let at = 0; at < 300; at++) {
    const key = { group: '', resource: 'nodes', namespace: '', name: `n${at}` };
    // Some records fit into a page, some need pages of their own.
    const bytes = Buffer.from(JSON.stringify({ at, filler: 'x'.repeat(at % 3 === 0 ? 5000 : 100) }));
    await store.write({ key, expected: 0, delete: false, encode: () => bytes });
  }
  await store.close();
});
afterAll(() => rmSync(home, { recursive: true }));

function copy(): { directory: string; file: string } {
  const directory = join(home, `copy-${copies++}`);
  cpSync(healthy, directory, { recursive: true });
  return { directory, file: join(directory, 'data.mdb') };
}

/** As if the process had died before LMDB got the last writes: copies the log while it is there. */
async function leaveLog(directory: string, count: number, change: (log: Buffer) => Buffer): Promise<void> {
  const mdb = join(directory, 'data.mdb');
  const database = readFileSync(mdb);
  const store = await openStore(directory);
  for (let at = 0; at < count; at++) {
    const key = { group: '', resource: 'nodes', namespace: '', name: `late${at}` };
    await store.write({ key, expected: 0, delete: false, encode: () => Buffer.from(`{"late":${at}}`) });
  }
  const name = readdirSync(directory).find((file) => file.startsWith('wal-'))!;
  const log = readFileSync(join(directory, name));
  await store.close();
  writeFileSync(mdb, database);
  writeFileSync(join(directory, name), change(log));
}

/** Refused, and the file is the same afterwards. */
async function expectRefused(directory: string, words: RegExp): Promise<void> {
  const before = readFileSync(join(directory, 'data.mdb'));
  await expect(openStore(directory)).rejects.toThrow(words);
  expect(readFileSync(join(directory, 'data.mdb')).equals(before)).toBe(true);
  expect(existsSync(join(directory, 'lock'))).toBe(false);
}

describe('a store that must not be used', () => {
  test('the healthy one opens', async () => {
    const store = await openStore(copy().directory);
    expect(store.count({ group: '', resource: 'nodes' })).toBe(300);
    await store.close();
  });

  test.each([0.9, 0.5, 0.1])('truncated to %s of its size', async (share) => {
    const { directory, file } = copy();
    truncateSync(file, Math.floor(readFileSync(file).length * share));
    await expectRefused(directory, /is damaged .*restore a copy/);
  });

  test('overwritten with zeros page by page: refused or whole, never half read', async () => {
    const pages = readFileSync(join(healthy, 'data.mdb')).length / 4096;
    let refused = 0;
    for (let page = 0; page < pages; page += 5) {
      const { directory, file } = copy();
      const bytes = readFileSync(file);
      bytes.fill(0, page * 4096, (page + 1) * 4096);
      writeFileSync(file, bytes);
      const opened = await openStore(directory).catch((error: Error) => error);
      if (opened instanceof Error) {
        expect(opened.message).toMatch(/is damaged/);
        refused++;
      } else {
        // A page that is free or superseded: everything must still be there.
        expect(opened.count({ group: '', resource: 'nodes' })).toBe(300);
        for (const item of opened.list({ group: '', resource: 'nodes' }).items) JSON.parse(item.bytes.toString());
        await opened.close();
      }
      rmSync(directory, { recursive: true });
    }
    expect(refused).toBeGreaterThan(5);
  });

  test('a flipped bit inside an object', async () => {
    const { directory, file } = copy();
    const bytes = readFileSync(file);
    // In each: the first one may stand in a page that is free by now.
    const found = '"filler":"xxxx';
    for (let at = bytes.indexOf(found); at !== -1; at = bytes.indexOf(found, at + 1))
      bytes[at + 20] = bytes[at + 20]! ^ 1;
    writeFileSync(file, bytes);
    await expectRefused(directory, /checksum/);
  });

  test('garbage in place of the file', async () => {
    const { directory, file } = copy();
    writeFileSync(file, 'this is not a database'.repeat(1000));
    await expectRefused(directory, /is damaged/);
  });

  test('a log that ends in the middle of a write is whole up to there', async () => {
    const { directory } = copy();
    await leaveLog(directory, 3, (log) => log.subarray(0, log.length - 5));
    const store = await openStore(directory);
    expect(store.count({ group: '', resource: 'nodes' })).toBe(302);
    await store.close();
    expect(readdirSync(directory).filter((file) => file.startsWith('wal-'))).toEqual([]);
  });

  test('a flipped bit inside a log', async () => {
    const { directory } = copy();
    await leaveLog(directory, 3, (log) => {
      log[20] = log[20]! ^ 1;
      return log;
    });
    const logs = () => readdirSync(directory).filter((file) => file.startsWith('wal-'));
    const before = logs();
    await expectRefused(directory, /wal-\d+\.log is damaged at byte 0/);
    expect(logs()).toEqual(before);
  });

  test('another format', async () => {
    const { directory } = copy();
    const root = openLmdb({ path: directory, overlappingSync: false, maxDbs: 4, encoding: 'json' });
    await root.openDB('meta', { encoding: 'json' }).put('store', { format: 2, compacted: 0 });
    await root.close();
    await expectRefused(directory, /has format 2, this relet reads format 1: start the relet that wrote it/);
  });

  test('one that another process uses', async () => {
    const { directory } = copy();
    const store = await openStore(directory);
    await expect(openStore(directory)).rejects.toThrow(`is held by process ${process.pid}: stop it first`);
    await store.close();
    await (await openStore(directory)).close();
  });

  test.each([
    ['of a process that is gone', '999999999 5 some-boot\n'],
    ['of an earlier process with our pid', `${process.pid} 1 some-boot\n`],
    ['that is empty', ''],
  ])('a lock %s is taken over', (_name, content) => {
    const { directory } = copy();
    writeFileSync(join(directory, 'lock'), content);
    const unlock = lockDirectory(directory);
    expect(readFileSync(join(directory, 'lock'), 'utf8')).toMatch(new RegExp(`^${process.pid} `));
    unlock();
    expect(existsSync(join(directory, 'lock'))).toBe(false);
  });
});
