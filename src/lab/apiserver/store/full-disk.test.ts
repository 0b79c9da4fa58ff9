/**
 * A real disk that is full, as root on a small tmpfs: reads work, writes are rejected until there is room, and everything
 * acknowledged is there after a restart.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../clock.js';
import { type Store, StoreFull } from '../../../memory-api/store/store.js';
import { openStore } from './open-store.js';

const key = (name: string) => ({ group: '', resource: 'configmaps', namespace: 'default', name });
const large = 'x'.repeat(400_000);

function put(store: Store, name: string) {
  const expected = store.latest(key(name))?.revision ?? 0;
  const encode = (revision: number) => Buffer.from(JSON.stringify({ revision, name, large }));
  return store.write({ key: key(name), expected, delete: false, encode });
}

/** One after the other until one is rejected; returns the names of those acknowledged. */
async function fill(store: Store, prefix: string): Promise<string[]> {
  const written: string[] = [];
  for (let at = 0; at < 100; at++) {
    const error = await put(store, `${prefix}${at}`).then(
      () => undefined,
      (problem: unknown) => problem,
    );
    if (error !== undefined) {
      expect(error).toBeInstanceOf(StoreFull);
      return written;
    }
    written.push(`${prefix}${at}`);
  }
  throw new Error('the disk was never full');
}

const names = (store: Store) =>
  store
    .list({ group: '', resource: 'configmaps' })
    .items.map(({ bytes }) => JSON.parse(bytes.toString()).name as string);

describe.skipIf(process.getuid?.() !== 0)('a store on a full disk (skipped where no tmpfs can be mounted)', () => {
  let disk: string;
  let isMounted = false;
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  beforeAll(() => {
    process.on('unhandledRejection', note);
    disk = mkdtempSync(join(tmpdir(), 'relet-full-'));
    isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=40m', 'tmpfs', disk]).status === 0;
  });
  afterAll(() => {
    process.off('unhandledRejection', note);
    if (isMounted) spawnSync('umount', ['-l', disk]);
    rmSync(disk, { recursive: true });
  });

  test('can be read, rejects writes until there is room, and loses nothing that was acknowledged', async ({ skip }) => {
    if (!isMounted) skip();
    const [directory, ballast] = [join(disk, 'store'), join(disk, 'ballast')];
    writeFileSync(ballast, Buffer.alloc(28 << 20));
    let store = await openStore({ directory, clock: systemClock });
    const first = await fill(store, 'a');
    expect(first.length).toBeGreaterThan(3);
    for (let at = 0; at < 5; at++) await expect(put(store, 'rejected')).rejects.toThrow(StoreFull);
    expect(names(store).sort()).toEqual([...first].sort());
    rmSync(ballast);
    const second = await fill(store, 'b');
    expect(second.length).toBeGreaterThan(0);
    const all = [...first, ...second].sort();
    expect(names(store).sort()).toEqual(all);
    await store.close();

    // Full to the last byte: it says so, and leaves nothing behind.
    const before = readdirSync(directory).sort();
    fillUp(ballast);
    await expect(openStore({ directory, clock: systemClock })).rejects.toThrow(
      /its disk has \d+ bytes left.* make room/,
    );
    expect(readdirSync(directory).sort()).toEqual(before);

    rmSync(ballast);
    spawnSync('mount', ['-o', 'remount,size=100m', disk]);
    store = await openStore({ directory, clock: systemClock });
    expect(names(store).sort()).toEqual(all);
    await put(store, 'after');
    expect(names(store)).toContain('after');
    await store.close();
    expect(unhandled).toEqual([]);
  });
});

function fillUp(file: string): void {
  try {
    for (;;) writeFileSync(file, Buffer.alloc(4096), { flag: 'a' });
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' });
  }
}
