/** How a person starts relet again: by its name where that is on the PATH, otherwise the way it was started now. */
import { existsSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { reletExecutable } from '../node/kubelet-command.js';

export function ownName(): string {
  const directories = (process.env.PATH ?? '').split(delimiter).filter((dir) => dir !== '');
  if (directories.some((dir) => existsSync(join(dir, 'relet')))) return 'relet';
  const near = relative(process.cwd(), reletExecutable());
  return `node ${near.startsWith('..') ? reletExecutable() : near}`;
}
