/** Limits the length of texts for a status, an event or a log line. */

/** The text, or its beginning with an ellipsis, in at most `most` characters. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  // Half of a surrogate pair is not valid text.
  return `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
