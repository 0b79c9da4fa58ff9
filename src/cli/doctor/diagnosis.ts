/** One finding of `relet doctor`. */

export interface Diagnosis {
  /** `unknown`: the check could not be made, which is reported too. */
  level: 'ok' | 'warning' | 'error' | 'unknown';
  what: string;
  remedy?: string;
}

/** Names for a sentence: all of a few, some of many. */
export function someOf(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ');
  return names.length <= 5 ? shown : `${shown} and ${names.length - 5} more`;
}
