/** Resolves --kubelet-binary to a command: a path, a program in PATH, or the built-in hollow kubelet. */
import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';

/** Throws when there is no such program. */
export function kubeletCommand(binary: string): string[] {
  if (binary === 'hollow') return [process.execPath, reletExecutable(), 'hollow-kubelet'];
  const candidates = binary.includes('/')
    ? [isAbsolute(binary) ? binary : resolve(binary)]
    : (process.env.PATH ?? '').split(delimiter).map((dir) => join(dir || '.', binary));
  const found = candidates.find(isExecutable);
  if (found === undefined)
    throw new Error(
      `--kubelet-binary=${binary}: no such program; give the path of the kubelet, or 'hollow' for the built-in one`,
    );
  return [found];
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The file of this program itself: npm and install.md put a symlink to it on the PATH, and what it needs is beside the file. */
export function reletExecutable(): string {
  return realpathSync(process.argv[1]!);
}

/** The manifests that come with it. */
export const deployDir = (): string => join(dirname(reletExecutable()), '..', 'deploy');
