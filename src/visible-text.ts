/**
 * Makes untrusted text safe to print: characters that move the cursor, change colours, set a clipboard, reorder text or end a line are
 * escaped as `\u001b`. JSON uses the same escapes, so JSON stays valid and keeps its value.
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

/** Most texts are of these alone, and finding that out costs a fraction of the other expression. */
const plain = /^[ -~]*$/;

/** For a value within a line, which it cannot end. */
export const oneLine = (text: string): string => (plain.test(text) ? text : text.replace(unsafe, escaped));

/** A sentence as a part of another one: without its full stop. */
export const clauseOf = (sentence: string): string => sentence.replace(/\.$/, '');
