/**
 * Compares two configs by meaning: after defaults, with durations and quantities as values, and a missing list or map equal to an empty
 * one. Maps differ key by key, lists as a whole.
 */
import { copy, setOwn } from './copy.js';
import { setDefaults } from './defaults.js';
import { childPath, type KubeletConfig, knownMinor, type Minor } from './model.js';
import { sameValue } from './same-value.js';
import { type Shape, type StructShape, shapeOf } from './shape.js';

export interface Change {
  /** `logging.format`, `evictionHard[memory.available]`. */
  path: string;
  /** Undefined: the key was not there. */
  before: unknown;
  after: unknown;
}

/** In the order of the fields. Either side may be with or without defaults. */
export function diff(a: KubeletConfig, b: KubeletConfig, minor: Minor): Change[] {
  const known = knownMinor(minor);
  return diffWhole(setDefaults(a, known), setDefaults(b, known), known);
}

/** The same of two configs that have every field, compared as they are. */
export function diffWhole(a: KubeletConfig, b: KubeletConfig, minor: Minor): Change[] {
  const changes: Change[] = [];
  compareStructs(a, b, shapeOf(minor), '', changes);
  return changes;
}

function compareStructs(a: KubeletConfig, b: KubeletConfig, shape: StructShape, path: string, changes: Change[]): void {
  for (const [name, child] of shape.fields) compare(a[name], b[name], child, childPath(path, name, 'field'), changes);
}

function compare(before: unknown, after: unknown, shape: Shape, path: string, changes: Change[]): void {
  if (sameValue(before, after, path) || (isNothing(before, shape) && isNothing(after, shape))) return;
  if (shape.kind === 'struct' && before !== null && after !== null)
    compareStructs(before as KubeletConfig, after as KubeletConfig, shape, path, changes);
  else if (shape.kind === 'map') compareMaps(before as KubeletConfig, after as KubeletConfig, path, changes);
  else changes.push({ path, before, after });
}

function isNothing(value: unknown, shape: Shape): boolean {
  if (shape.kind !== 'list' && shape.kind !== 'map') return false;
  return value === null || Object.keys(value as object).length === 0;
}

function compareMaps(a: KubeletConfig | null, b: KubeletConfig | null, path: string, changes: Change[]): void {
  const [left, right] = [a ?? {}, b ?? {}];
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)].sort())) {
    const before = Object.hasOwn(left, key) ? left[key] : undefined;
    const after = Object.hasOwn(right, key) ? right[key] : undefined;
    if (before !== undefined && after !== undefined && sameValue(before, after, `${path}{}`)) continue;
    changes.push({ path: childPath(path, key, 'key'), before, after });
  }
}

/** The config with the changes made; neither argument is changed. `apply(a, diff(a, b, m), m)` means what b means. */
export function apply(config: KubeletConfig, changes: readonly Change[], minor: Minor): KubeletConfig {
  const whole = setDefaults(config, minor);
  for (const { path, after } of changes) {
    const match = /^([^[]+)(?:\[(.*)\])?$/s.exec(path)!;
    const parts = match[1]!.split('.');
    const name = parts.pop()!;
    const parent = parts.reduce((object, part) => object[part] as KubeletConfig, whole);
    if (match[2] === undefined) setOwn(parent, name, copy(after));
    else changeKey(parent, name, match[2], after);
  }
  return whole;
}

function changeKey(parent: KubeletConfig, name: string, key: string, after: unknown): void {
  const map: KubeletConfig = { ...(parent[name] as KubeletConfig | null) };
  if (after === undefined) delete map[key];
  else setOwn(map, key, copy(after));
  parent[name] = map;
}
