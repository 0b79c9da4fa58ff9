/** Equality of CEL values. Numbers compare by value, whatever their type. */

export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isNumber(a) && isNumber(b)) return sameNumber(a.valueOf(), b.valueOf());
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && sameLists(a, b);
  const [left, right] = [entriesOf(a), entriesOf(b)];
  if (left === undefined || right === undefined) return sameText(a, b);
  return left.size === right.size && [...left].every(([key, item]) => right.has(key) && isEqual(item, right.get(key)));
}

function isNumber(value: unknown): value is bigint | number | { valueOf(): bigint } {
  if (typeof value === 'bigint' || typeof value === 'number') return true;
  return typeof value === 'object' && value !== null && value.constructor.name === 'UnsignedInt';
}

function sameNumber(a: bigint | number, b: bigint | number): boolean {
  if (typeof a === 'number') return typeof b === 'number' ? a === b : Number.isInteger(a) && BigInt(a) === b;
  return typeof b === 'number' ? sameNumber(b, a) : a === b;
}

function sameLists(a: unknown[], b: unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => isEqual(item, b[index]));
}

function entriesOf(value: object): Map<unknown, unknown> | undefined {
  if (value instanceof Map) return value;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? new Map(Object.entries(value)) : undefined;
}

/** Durations: the library's class gives its value as text. */
function sameText(a: object, b: object): boolean {
  return a.constructor === b.constructor && String(a) === String(b);
}
