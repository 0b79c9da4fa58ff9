/**
 * Mounts that a real kubelet leaves below its directory: volumes of pods, and the directory itself. Nothing there may be
 * deleted before it is unmounted, for it may be somebody's data.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { CannotRun } from '../../cannot-run.js';

/** Resolves with how many there were. Throws CannotRun, with the command that helps, when one cannot be unmounted. */
export function unmountBelow(dir: string): number {
  const found = mountsBelow(dir, readFileSync('/proc/self/mountinfo', 'utf8'));
  for (const path of found) spawnSync('umount', [path], { stdio: 'ignore' });
  const left = mountsBelow(dir, readFileSync('/proc/self/mountinfo', 'utf8'));
  if (left.length > 0)
    throw new CannotRun(
      `--fresh: a kubelet left something mounted in ${dir}, which would be deleted with it: run 'umount ${left.join(' ')}' as root first`,
    );
  return found.length;
}

/** The deepest first; on one place, the last first. Exported for its test. */
export function mountsBelow(dir: string, mountinfo: string): string[] {
  return mountinfo
    .split('\n')
    .map((line) =>
      (line.split(' ')[4] ?? '').replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(parseInt(code, 8))),
    )
    .filter((path) => path.startsWith(`${dir}/`))
    .reverse()
    .sort((a, b) => b.length - a.length);
}
