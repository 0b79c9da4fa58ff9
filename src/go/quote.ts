/** Strings as Go's %q prints them: Kubernetes messages are full of them. */

const short: Record<string, string> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '"': '\\"',
  '\\': '\\\\',
};

/** Printable characters stay as they are; the rest become \x00, \u0000 or \U00000000. */
export function goQuote(text: string): string {
  let quoted = '"';
  for (const char of text) quoted += short[char] ?? (isPrintable(char) ? char : escaped(char.codePointAt(0)!));
  return `${quoted}"`;
}

function isPrintable(char: string): boolean {
  return char === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char);
}

function escaped(code: number): string {
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`;
}
