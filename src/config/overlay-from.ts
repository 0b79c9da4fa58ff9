/** From a whole config to an overlay that means the same on a node with these local files. */
import { copy } from './copy.js';
import { diff } from './diff.js';
import { type LocalFile, mergeLocal } from './merge-local.js';
import type { KubeletConfig, Minor, Overlay } from './model.js';
import { withSetting } from './set-field.js';

export function overlayFrom(options: { running: KubeletConfig; local: readonly LocalFile[]; minor: Minor }): Overlay {
  const { running, minor } = options;
  const base = mergeLocal(options).config;
  let config: KubeletConfig = {};
  const unset: string[] = [];
  for (const { path, after } of diff(base, running, minor)) {
    const key = /\[(.*)\]$/s.exec(path)?.[1];
    const parts = path.replace(/\[.*$/s, '').split('.');
    if (after === undefined || after === null) unset.push(path);
    else config = withSetting(config, { path: key === undefined ? parts : [...parts, key], value: copy(after) });
  }
  return { config, unset };
}
