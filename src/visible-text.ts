/**
 * Text from outside, made safe to print: what would move the cursor, change colours, set a clipboard, reorder characters or
 * forge a line is shown as `\u001b`. That is JSON's own way to write it, so JSON stays valid and keeps its meaning.
 */

/** Control and format characters (C0, DEL, C1, bidi, zero width, tags), line and paragraph separators, half characters. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const short: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const escaped = (char: string): string =>
  short[char] ??
  char
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

/** For a text of several lines: line feeds and tabs stay. */
export const visible = (text: string): string =>
  text.replace(unsafe, (char) => (char === '\n' || char === '\t' ? char : escaped(char)));

/** For a value within a line: it has no way to end that line. */
export const oneLine = (text: string): string => text.replace(unsafe, escaped);
