/** Texts that may be of any length, cut to one that a status, an event or a log line can hold. */

/** The text, or as much of it as fits into `most` characters, with a sign that something is missing. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  // Half of a character outside the basic plane is not valid text.
  return `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
