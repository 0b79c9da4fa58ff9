/** Deep equality of JSON values; absent and null are the same, as they are in a decoded object. */

export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b || (isAbsent(a) && isAbsent(b))) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => isEqual(item, b[i]));
  }
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => isEqual(own(a, key), own(b, key)));
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function own(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined;
}
