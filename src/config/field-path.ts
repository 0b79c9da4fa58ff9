/** Paths of fields as lists of names; the last one may be the key of a map. */
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
  const leaves: string[][] = [];
  addLeaves(leaves, [], config, shape);
  return leaves;
}

function addLeaves(leaves: string[][], within: readonly string[], config: KubeletConfig, shape: StructShape): void {
  for (const [name, value] of Object.entries(config)) {
    const child = shape.fields.get(name);
    const path = [...within, name];
    const isInner = (child?.kind === 'struct' || child?.kind === 'map') && isObject(value);
    const count = leaves.length;
    if (isInner && child.kind === 'struct') addLeaves(leaves, path, value, child);
    else if (isInner) for (const key of Object.keys(value)) leaves.push([...path, key]);
    if (leaves.length === count) leaves.push(path);
  }
}

/** Whether a path is that field or in it: `kubeReserved[cpu]` is in `kubeReserved`, `kubeReservedCgroup` is not. */
export const isWithin = (path: string, field: string): boolean =>
  path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);
