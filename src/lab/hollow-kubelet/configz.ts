/** The config as /configz shows it: without nil, zero and empty fields, except zeros behind pointers. */

import { fieldAt } from '../../config/fields.js';
import type { KubeletConfig } from '../../config/model.js';
import { isObject } from '../../json.js';

// Fields that Kubernetes writes even when they are zero.
const always = new Set(['containerRuntimeEndpoint', 'logging.flushFrequency', 'logging.verbosity']);

export function configz(config: KubeletConfig): { kubeletconfig: KubeletConfig } {
  return { kubeletconfig: shown(config, '') };
}

function shown(object: KubeletConfig, parent: string): KubeletConfig {
  const kept: KubeletConfig = {};
  for (const [name, value] of Object.entries(object)) {
    const path = parent === '' ? name : `${parent}.${name}`;
    if (path === 'kind' || path === 'apiVersion') continue;
    const field = fieldAt(path);
    if (field?.goType === '{}' && isObject(value)) kept[name] = shown(value, path);
    else if (value !== null && (field?.pointer || always.has(path) || !isEmpty(value)))
      kept[name] = typeof value === 'bigint' ? Number(value) : value;
  }
  return kept;
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === '' || value === 0 || value === false || value === 0n;
}
