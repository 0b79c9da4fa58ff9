/** The directives of a strategic merge patch, and removing them from a value. */
import { isObject } from '../../json.js';

/** The patch contradicts itself or the schema; the message is Kubernetes'. */
export class StrategicMergeError extends Error {}

export type JsonObject = Record<string, unknown>;

export const directive = '$patch';
export const retainKeys = '$retainKeys';
export const orderPrefix = '$setElementOrder/';
export const deletePrefix = '$deleteFromPrimitiveList/';

/**
 * A new value without nulls and without directives about an old value; undefined if that is the
 * whole value. Directives that are keys of their own stay, as in Kubernetes: as unknown fields.
 */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, directive)) return undefined;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key, withoutDirectives(item)])
      .filter(([, item]) => item !== undefined),
  );
}

/** A value that was read from JSON, as Go's %v prints it: `map[a:1 b:[x y]]`. */
export function goPrint(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goPrint).join(' ')}]`;
  if (typeof value !== 'object') return String(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, item]) => `${key}:${goPrint(item)}`).join(' ')}]`;
}
