/** Paths of fields as lists of parts; the last part may be a key of a map. */
import { isObject } from '../json.js';
import { childPath, type KubeletConfig, type Minor } from './model.js';
import { type Shape, type StructShape, shapeOf } from './shape.js';

/** `evictionHard[memory.available]` for ['evictionHard', 'memory.available']. */
export function formatPath(parts: readonly string[], minor: Minor): string {
  let shape: Shape | undefined = shapeOf(minor);
  let path = '';
  for (const part of parts) {
    path = childPath(path, part, shape?.kind === 'map' ? 'key' : 'field');
    shape = shape?.kind === 'struct' ? shape.fields.get(part) : shape?.kind === 'map' ? shape.value : undefined;
  }
  return path;
}

/** Paths that a config sets: scalars, whole lists, keys of maps, and maps and structs that are empty. */
export function leavesOf(config: KubeletConfig, shape: StructShape): string[][] {
  return Object.entries(config).flatMap(([name, value]) => {
    const child = shape.fields.get(name);
    if (child === undefined || child.kind === 'list' || child.kind === 'scalar' || !isObject(value)) return [[name]];
    const inner = child.kind === 'struct' ? leavesOf(value, child) : Object.keys(value).map((key) => [key]);
    return inner.length === 0 ? [[name]] : inner.map((parts) => [name, ...parts]);
  });
}

/** Whether a path is that field or in it: `kubeReserved[cpu]` is in `kubeReserved`, `kubeReservedCgroup` is not. */
export const isWithin = (path: string, field: string): boolean =>
  path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);
