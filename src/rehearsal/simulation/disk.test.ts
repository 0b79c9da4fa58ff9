/** Files that a disk of the simulation keeps when the power goes. */
import { describe, expect, test } from 'vitest';
import { createDir, replaceFile } from '../../atomic-file.js';
import { SimulatedDisk } from './disk.js';
import { seededRandom } from './seeded-random.js';

const seeds = Array.from({ length: 40 }, (_, index) => seededRandom(`disk ${index}`));

function diskWith(text: string): SimulatedDisk {
  const disk = new SimulatedDisk(seededRandom('names'));
  disk.makeDir('/meta', 0o700);
  disk.sync('/');
  replaceFile('/meta/record', text, { files: disk });
  return disk;
}

const read = (disk: SimulatedDisk) => disk.read('/meta/record').toString();

describe('after a power failure', () => {
  test('a record that was replaced is the new one', () => {
    for (const random of seeds) {
      const disk = diskWith('old');
      replaceFile('/meta/record', 'new record', { files: disk });
      disk.losePower(random);
      expect(read(disk)).toBe('new record');
    }
  });

  test('a record that was not synced is the old one, the new one, or a part of it', () => {
    const found = new Set(
      seeds.map((random) => {
        const disk = diskWith('old');
        disk.create('/meta/temporary', Buffer.from('new record'), 0o600);
        disk.rename('/meta/temporary', '/meta/record');
        disk.losePower(random);
        return read(disk);
      }),
    );
    expect([...found].sort()).toEqual(['', 'new r', 'new record', 'old']);
  });

  test('a directory with files is there whole', () => {
    for (const random of seeds) {
      const disk = diskWith('old');
      createDir('/meta/dir', new Map([['a', Buffer.from('content')]]), disk);
      disk.losePower(random);
      expect(disk.read('/meta/dir/a').toString()).toBe('content');
    }
  });
});

test('a full disk takes half a file and says so, and keeps what is there', () => {
  const disk = diskWith('old');
  disk.isFull = true;
  expect(() => replaceFile('/meta/record', 'new record', { files: disk })).toThrow('write /meta/record');
  expect(read(disk)).toBe('old');
  expect(disk.list('/meta')).toEqual(['record']);
});
