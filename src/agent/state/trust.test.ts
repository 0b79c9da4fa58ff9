/** Files that relet reads as root are trusted only by the directories above, their owner, and their type. */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, rmSync, type Stats, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { type Files, realFiles } from '../../atomic-file.js';
import { silentLog } from '../../log.js';
import { systemProcesses } from '../../proc.js';
import { openDirectory } from './directory.js';

const open = (dir: string, files: Files = realFiles) =>
  openDirectory({ dir, host: systemProcesses, log: silentLog, files });

/** As if the path belonged to somebody else. */
const ownedBy = (uid: number, path: string): Files => ({
  ...realFiles,
  stat(asked) {
    const found = realFiles.stat(asked);
    return found && asked === path ? (Object.assign(Object.create(found), { uid }) as Stats) : found;
  },
});

describe('the directories above --dynamic-config-dir', () => {
  test('directories above that belong to another user are refused, with the path and the command that fixes it', () => {
    const parent = join(temporaryDir(), 'theirs');
    mkdirSync(parent);
    const dir = join(parent, 'deep', 'dynamic');
    const self = process.getuid!();
    expect(() => open(dir, ownedBy(12_345, parent))).toThrow(
      `--dynamic-config-dir: ${parent} belongs to user 12345, who could put another directory in the place of ${dir}: chown ${self} ${parent}, or use a directory elsewhere`,
    );
  });

  test('that everybody may write are refused, unless the sticky bit protects what is in them', () => {
    const parent = join(temporaryDir(), 'open');
    mkdirSync(parent);
    const dir = join(parent, 'dynamic');
    chmodSync(parent, 0o777);
    expect(() => open(dir)).toThrow(`${parent} can be written by others`);
    expect(() => open(dir)).toThrow(`chmod go-w ${parent}`);
    chmodSync(parent, 0o1777);
    open(dir).lock.release();
  });

  test('are checked where a symbolic link leads to', () => {
    const root = temporaryDir();
    mkdirSync(join(root, 'open'));
    chmodSync(join(root, 'open'), 0o777);
    mkdirSync(join(root, 'open', 'target'));
    symlinkSync(join(root, 'open', 'target'), join(root, 'link'));
    expect(() => open(join(root, 'link', 'dynamic'))).toThrow(`${join(root, 'open')} can be written by others`);
  });
});

describe('a file under meta/', () => {
  test('that is a FIFO does not keep relet waiting: a record is broken, and a lock is replaced', () => {
    const dir = join(temporaryDir(), 'dynamic');
    open(dir).lock.release();
    for (const name of ['assigned', 'lock']) {
      rmSync(join(dir, 'meta', name), { force: true });
      expect(spawnSync('mkfifo', [join(dir, 'meta', name)]).status).toBe(0);
    }
    const { state, lock } = open(dir);
    expect(state.assigned()).toMatchObject({
      broken: { cause: { message: expect.stringContaining('not a regular') } },
    });
    expect(realFiles.stat(join(dir, 'meta', 'lock'))?.isFile()).toBe(true);
    lock.release();
  });

  test.skipIf(process.getuid?.() !== 0)('that belongs to another user is not believed', () => {
    const dir = join(temporaryDir(), 'dynamic');
    const { state, lock } = open(dir);
    chownSync(join(dir, 'meta', 'assigned'), 12_345, 12_345);
    expect(state.assigned()).toMatchObject({
      broken: { cause: { message: expect.stringContaining('belongs to user 12345') } },
    });
    lock.release();
  });
});
