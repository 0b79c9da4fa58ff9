/**
 * Finds the file that set a field: the last of several layers (local file, drop-ins, overlay) that has it, with its line; else the
 * default.
 */
import { isObject } from '../json.js';
import { fieldAt } from './fields.js';
import { fieldOf, getField, type KubeletConfig, type Position, type Positions } from './model.js';

/** A default has a position where an overlay unsets the field. */
export interface Origin {
  in: 'overlay' | 'local' | 'default';
  file?: string;
  position?: Position;
}

/** One file; later layers win. */
export interface Layer {
  in: 'overlay' | 'local';
  file?: string;
  positions: Positions;
}

/** Origin of a field of `config` or of a part of it: `evictionHard[memory.available]`, `clusterDNS[0]`; undefined for no field. */
export function originOf(path: string, layers: readonly Layer[], config: KubeletConfig): Origin | undefined {
  const field = fieldOf(path);
  if (fieldAt(field) === undefined) return undefined;
  const value = getField(config, field);
  // A list is replaced whole: what a lower layer has at the same index is not in the result.
  const layer = layers.findLast(
    ({ positions }) => positions.has(path) || (Array.isArray(value) && positions.has(field)),
  );
  const position = layer?.positions.get(path);
  const isSet = path === field || !isObject(value) ? value !== undefined : Object.hasOwn(value, keyIn(path, field));
  if (layer === undefined || position === undefined) return { in: 'default' };
  const place = { ...(layer.file !== undefined && { file: layer.file }), position };
  if (isSet) return { in: layer.in, ...place };
  return layer.in === 'overlay' ? { in: 'default', ...place } : { in: 'default' };
}

const keyIn = (path: string, field: string): string => path.slice(field.length + 1, -1);
