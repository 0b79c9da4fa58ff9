/** What JSON values are, and how they are written. */

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
