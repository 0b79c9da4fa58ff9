/** The directives of a strategic merge patch, and what is left of a value without them. */

/** The patch contradicts itself or the schema; the message is Kubernetes'. */
export class StrategicMergeError extends Error {}

export type JsonObject = Record<string, unknown>;

export const directive = '$patch';
export const retainKeys = '$retainKeys';
export const orderPrefix = '$setElementOrder/';
export const deletePrefix = '$deleteFromPrimitiveList/';

/** Values that are new carry their directives and nulls in vain. */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.filter((item) => !(isObject(item) && Object.hasOwn(item, directive))).map(withoutDirectives);
  }
  if (!isObject(value)) return value;
  if (value[directive] === 'delete') return {};
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, item]) => item !== null && !isDirective(key))
      .map(([key, item]) => [key, withoutDirectives(item)]),
  );
}

function isDirective(key: string): boolean {
  return key === directive || key === retainKeys || key.startsWith(orderPrefix) || key.startsWith(deletePrefix);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
