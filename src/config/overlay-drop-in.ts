/** Writes an overlay as a drop-in of --config-dir, for kubelets from 1.32 on, where null resets a field to its default. Pure. */
import { header } from './header.js';
import type { KubeletConfig, Overlay } from './model.js';
import { withSetting } from './set-field.js';

export function overlayDropIn({ config, unset }: Overlay): KubeletConfig {
  return unset.reduce<KubeletConfig>(withNull, { ...header, ...config });
}

function withNull(config: KubeletConfig, path: string): KubeletConfig {
  const key = /^([^[]+)\[(.*)\]$/s.exec(path);
  return withSetting(config, { path: key === null ? path.split('.') : [...key[1]!.split('.'), key[2]!], value: null });
}
