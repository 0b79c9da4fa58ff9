/** A backup is restored exactly, or rejected. */
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Backup, BackupError, decodeBackup, encodeBackup } from './backup-format.js';

const object = { kind: 'ConfigMap', metadata: { name: 'a\u2028\n"' }, data: { __proto__x: 'ü' } };
const backup: Backup = {
  revision: 812,
  items: [
    {
      key: { group: '', resource: 'configmaps', namespace: 'default', name: 'a' },
      revision: 811,
      bytes: Buffer.from(JSON.stringify(object)),
    },
    {
      key: { group: 'x.y', resource: 'things', namespace: '', name: '{"sha256":' },
      revision: 3,
      bytes: Buffer.from('{"sha256":"no"}'),
    },
  ],
};
const file = await encodeBackup(backup, 0);

test('an encoded backup decodes to the same objects', async () => {
  expect(await decodeBackup(file)).toEqual(backup);
});

test('a backup of an empty store is valid', async () => {
  const empty = { revision: 1, items: [] };
  expect(await decodeBackup(await encodeBackup(empty, 0))).toEqual(empty);
});

describe('decodeBackup rejects', () => {
  const lines = gunzipSync(file).toString().split('\n');
  const changed = (change: (lines: string[]) => string[]) => gzipSync(change([...lines]).join('\n'));
  test.each([
    ['nothing', Buffer.alloc(0), /not a backup/],
    ['some other file', Buffer.from('apiVersion: v1\n'), /not a backup/],
    ['some other gzip file', gzipSync('hello\n'), /not a backup/],
    ['a file that was cut off', file.subarray(0, file.length - 9), /damaged or cut off/],
    ['a file that lost an object', changed((all) => all.toSpliced(1, 1)), /checksum/],
    ['a file that was edited', changed((all) => all.with(1, all[1]!.replace('811', '812'))), /checksum/],
    ['a file without its end', changed((all) => all.slice(0, 3)), /checksum/],
    ['a later version', changed((all) => all.with(0, all[0]!.replace('"version":1', '"version":2'))), /version 2/],
  ])('%s', async (_what, bytes, why) => {
    await expect(decodeBackup(bytes)).rejects.toThrow(why);
    await expect(decodeBackup(bytes)).rejects.toBeInstanceOf(BackupError);
  });

  test('a file with any byte changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(file.length - 1), fc.integer({ min: 1, max: 255 }), async (at, by) => {
        const changedFile = Buffer.from(file);
        changedFile[at]! ^= by;
        // The head of a gzip file has bytes that mean nothing to the content; then the content is whole.
        const read = await decodeBackup(changedFile).catch((error: unknown) => error);
        if (read instanceof Error) expect(read).toBeInstanceOf(BackupError);
        else expect(read).toEqual(backup);
      }),
    );
  });
});
