/** JSON values: their types, and how they are written. */

/** A JSON object: not null, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined for a text that is not there, or is not a JSON object. */
export function parseObject(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** As JSON.stringify, with a bigint as a number: integers of a config may be either. */
export const jsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? Number(part) : part), indent);

/** Whether objects and lists are inside each other more than so many times. Without recursion: the value may be of any depth. */
export function isDeeperThan(value: unknown, most: number): boolean {
  const open = [{ value, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value: one, depth } = next;
    if (typeof one !== 'object' || one === null) continue;
    if (depth > most) return true;
    for (const part of Object.values(one)) open.push({ value: part, depth: depth + 1 });
  }
  return false;
}
