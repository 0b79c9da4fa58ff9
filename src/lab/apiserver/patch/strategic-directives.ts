/** The directives of a strategic merge patch, and what is left of a value without them. */
import { isObject } from '../../../json.js';

/** The patch contradicts itself or the schema; the message is Kubernetes'. */
export class StrategicMergeError extends Error {}

export type JsonObject = Record<string, unknown>;

export const directive = '$patch';
export const retainKeys = '$retainKeys';
export const orderPrefix = '$setElementOrder/';
export const deletePrefix = '$deleteFromPrimitiveList/';

/**
 * What is left of a value that is new: no nulls, and nothing that says what to do with something old; undefined where that is the
 * whole value. Directives that are keys of their own stay, as Kubernetes leaves them: as fields that nobody knows.
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
