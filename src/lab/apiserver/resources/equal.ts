/** Deep equality of JSON values; absent and null are the same, as they are in a decoded object. Large lists are compared by identity text. */

export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b || (isAbsent(a) && isAbsent(b))) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => isEqual(item, b[i]));
  }
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => isEqual(own(a, key), own(b, key)));
}

/** A text that two values share exactly when they are equal: for sets and maps of values. */
export function identityOf(value: unknown): string {
  if (isAbsent(value)) return 'null';
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(identityOf).join(',')}]`;
  const present = Object.entries(value as object).filter(([, item]) => !isAbsent(item));
  return `{${present
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${identityOf(item)}`)
    .join(',')}}`;
}

/** Tells of each value, in turn, whether it was given before. */
export function repeats<T>(): (value: T) => boolean {
  const seen = new Set<T>();
  return (value) => seen.size === seen.add(value).size;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function own(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined;
}
