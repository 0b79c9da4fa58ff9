/** A store that is damaged, of another format or in use is rejected with a remedy, and not changed. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../../test/temporary-dir.js';
import { systemClock } from '../../../clock.js';
import { RevisionStore } from '../../../memory-api/store/revision-store.js';
import type { Store } from '../../../memory-api/store/store.js';
import { openDiskJournal } from './disk-journal.js';
import { frame } from './frames.js';
import { openStore } from './open-store.js';

const nodes = { group: '', resource: 'nodes' };
let home: string;
let healthy: string;
let copies = 0;

const open = (directory: string) => openStore({ directory, clock: systemClock });
const count = (store: Store) => store.count(nodes);

async function write(store: Store, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at++) {
    const key = { ...nodes, namespace: '', name: `n${at}` };
    const bytes = Buffer.from(JSON.stringify({ at, filler: 'x'.repeat(at % 3 === 0 ? 5000 : 100) }));
    await store.write({ key, expected: 0, delete: false, encode: () => bytes });
  }
}

/** A store with 200 objects in its snapshot and 100 in its log. */
beforeAll(async () => {
  home = temporaryDir();
  healthy = join(home, 'healthy');
  let store: Store = new RevisionStore(await openDiskJournal({ directory: healthy, shrinkBytes: 1 }), systemClock);
  await write(store, 0, 200);
  await store.close();
  store = await open(healthy);
  await write(store, 200, 300);
  await store.close();
  expect(readdirSync(healthy)).toHaveLength(2);
});

function copy(): { directory: string; snapshot: string; log: string } {
  const directory = join(home, `copy-${copies++}`);
  cpSync(healthy, directory, { recursive: true });
  const log = readdirSync(directory).find((name) => name.startsWith('log-'))!;
  return { directory, snapshot: join(directory, 'snapshot'), log: join(directory, log) };
}

function contents(directory: string): Record<string, string> {
  return Object.fromEntries(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'hex')]));
}

async function expectRejected(directory: string, message: RegExp): Promise<void> {
  const before = contents(directory);
  await expect(open(directory)).rejects.toThrow(message);
  expect(contents(directory)).toEqual(before);
}

function change(path: string, edit: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path);
  edit(bytes);
  writeFileSync(path, bytes);
}

describe('a damaged store', () => {
  test('an undamaged one opens', async () => {
    const store = await open(copy().directory);
    expect(count(store)).toBe(300);
    await store.close();
  });

  test.each([0.99, 0.5, 0.01])('is rejected when the snapshot is cut to %s of its size', async (share) => {
    const { directory, snapshot } = copy();
    truncateSync(snapshot, Math.floor(statSync(snapshot).size * share));
    await expectRejected(
      directory,
      /snapshot is damaged at byte \d+: .* it was not changed\. Start with an empty store/,
    );
  });

  test('is rejected when the snapshot ends early between two frames', async () => {
    const { directory, snapshot } = copy();
    truncateSync(snapshot, 12 + readFileSync(snapshot).readUInt32BE(4));
    await expectRejected(directory, /snapshot is damaged at byte \d+: it ends there and has 0 of \d+ records/);
  });

  test('is rejected for any overwritten page of the snapshot', async () => {
    const pages = Math.ceil(statSync(join(healthy, 'snapshot')).size / 4096);
    for (let page = 0; page < pages; page += 5) {
      const { directory, snapshot } = copy();
      change(snapshot, (bytes) => bytes.fill(0, page * 4096, (page + 1) * 4096));
      await expectRejected(directory, /snapshot is damaged at byte/);
      rmSync(directory, { recursive: true });
    }
  });

  test('is rejected for a flipped bit anywhere in the log, with file and offset, also in the last write', async () => {
    const frames = offsets(readFileSync(copy().log));
    const last = frames.at(-1)!;
    const places = frames.filter((_, at) => at % 10 === 0).flatMap((at) => [at + 2, at + 6, at + 10, at + 60]);
    for (const place of [...places, ...Array.from({ length: 14 }, (_, at) => last + at)]) {
      const { directory, log } = copy();
      change(log, (bytes) => {
        bytes[place]! ^= 1;
      });
      const frameAt = frames.findLast((at) => at <= place);
      await expectRejected(directory, new RegExp(`${log} is damaged at byte ${frameAt}: the checksum does not match`));
      rmSync(directory, { recursive: true });
    }
  });

  test('is rejected for a zeroed page in the middle of the log', async () => {
    const { directory, log } = copy();
    change(log, (bytes) => bytes.fill(0, 4096, 8192));
    await expectRejected(directory, /log-\d+ is damaged at byte/);
  });

  test('is rejected when a log is missing', async () => {
    const { directory, log } = copy();
    rmSync(log);
    await expectRejected(directory, /is damaged : .*log-\d+ is missing/);
  });

  test('is rejected when the snapshot is missing', async () => {
    const { directory, snapshot } = copy();
    rmSync(snapshot);
    await expectRejected(directory, /it has .*log-\d+ and no snapshot/);
  });

  test('is rejected when the snapshot is another file', async () => {
    const { directory, snapshot } = copy();
    writeFileSync(snapshot, 'this is not a store'.repeat(1000));
    await expectRejected(directory, /snapshot is damaged at byte 0/);
  });
});

/** Returns the offsets at which the frames of a log begin. */
function offsets(log: Buffer): number[] {
  const found: number[] = [];
  for (let at = 0; at < log.length; at += 12 + log.readUInt32BE(at + 4)) found.push(at);
  return found;
}

describe('a log whose last write was interrupted', () => {
  test('is whole up to there, wherever it was cut, and is continued', async () => {
    const whole = offsets(readFileSync(copy().log));
    const last = whole.at(-1)!;
    for (const cut of [1, 11, 12, 13, 60, 110]) {
      const { directory, log } = copy();
      truncateSync(log, last + cut);
      let store = await open(directory);
      expect(count(store)).toBe(299);
      await write(store, 400, 402);
      await store.close();
      store = await open(directory);
      expect(count(store)).toBe(301);
      await store.close();
    }
  });

  test('is whole up to there when the file is longer than what reached the disk', async () => {
    const { directory, log } = copy();
    writeFileSync(log, Buffer.alloc(10_000), { flag: 'a' });
    const store = await open(directory);
    expect(count(store)).toBe(300);
    await store.close();
  });

  test('is whole up to there when sectors of a large write are missing', async () => {
    const { directory, log } = copy();
    const { size } = statSync(log);
    const torn = frame([Buffer.alloc(20_000, 'x')]);
    torn.fill(0, 8192 - (size % 4096), 12_288 - (size % 4096));
    writeFileSync(log, torn, { flag: 'a' });
    const store = await open(directory);
    expect(count(store)).toBe(300);
    await store.close();
  });
});

describe('a store that cannot be opened', () => {
  test('one of a later format is rejected', async () => {
    const { directory, snapshot } = copy();
    writeFileSync(snapshot, frame([Buffer.from('{"format":3,"later":true}')]));
    await expectRejected(directory, /has format 3, this relet reads format 2: start the relet that wrote it/);
  });

  test.each(['data.mdb', 'wal-12.log'])('one of the LMDB edition (%s) is rejected with the ways out', async (file) => {
    const directory = mkdtempSync(join(home, 'lmdb-'));
    writeFileSync(join(directory, file), 'old');
    await expectRejected(directory, /LMDB format of an earlier relet.*relet up --fresh.*--data-dir/);
  });

  test('one that is open already is rejected', async () => {
    const { directory } = copy();
    const store = await open(directory);
    await expect(open(directory)).rejects.toThrow(`another relet (pid ${process.pid}) runs on this directory; stop it`);
    await store.close();
    await (await open(directory)).close();
  });
});
