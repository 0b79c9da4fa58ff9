/** Whether two JSON values are the same. Asked about whole objects at every write, hence without the generality of node:util. */

export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && isSameList(a, b);
  return !Array.isArray(b) && isSameMap(a as Record<string, unknown>, b as Record<string, unknown>);
}

function isSameList(a: unknown[], b: unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (!isSame(a[at], b[at])) return false;
  return true;
}

function isSameMap(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  for (const key of keys) if (!Object.hasOwn(b, key) || !isSame(a[key], b[key])) return false;
  return true;
}
