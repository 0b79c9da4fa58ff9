/** Mounts that a kubelet left below a directory that is to be deleted. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { mountsBelow, unmountBelow } from './mounts.js';

test('mounts are found below the directory alone, the deepest first', () => {
  const line = (path: string) => `36 35 98:0 / ${path} rw,noatime shared:1 - ext4 /dev/root rw`;
  const info = ['/', '/a', '/a/root', '/a/root/pods/1/volumes/x\\040y', '/ab/root', '/a/root/pods/1'].map(line);
  expect(mountsBelow('/a', info.join('\n'))).toEqual(['/a/root/pods/1/volumes/x y', '/a/root/pods/1', '/a/root']);
});

function newMount(): { dir: string; mounted: string } {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'relet-mounts-')));
  const mounted = join(dir, 'nodes', 'root');
  mkdirSync(mounted, { recursive: true });
  spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', mounted]);
  onTestFinished(() => {
    spawnSync('umount', ['-l', mounted]);
    rmSync(dir, { recursive: true, force: true });
  });
  return { dir, mounted };
}

const cannotMount = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir()]).status !== 0;

describe.skipIf(cannotMount)('what is mounted (skipped where mounting is not allowed)', () => {
  test('is unmounted', () => {
    const { dir, mounted } = newMount();
    writeFileSync(join(mounted, 'data'), '');
    expect(unmountBelow(dir)).toBe(1);
    expect(existsSync(join(mounted, 'data'))).toBe(false);
  });
});
