/** Strings as Go's %q prints them, and back: Kubernetes messages are full of them. */

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

/** Printable ASCII without quote and backslash: nearly everything there is. */
const plain = /^[ !#-[\]-~]*$/;

/** Printable characters stay as they are; the rest become \x00, \u0000 or \U00000000. */
export function quote(text: string): string {
  if (plain.test(text)) return `"${text}"`;
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

/** The value of what %q printed. What is not an escape of Go stays as it is. */
export function unquote(quoted: string): string {
  const inner = quoted.slice(1, -1);
  return inner.replace(/\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))/g, (whole, x, u, long, char) => {
    const code = Number.parseInt(x ?? u ?? long, 16);
    if (char === undefined) return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    return unescaped[whole] ?? whole;
  });
}

const unescaped = Object.fromEntries(Object.entries(short).map(([char, quoted]) => [quoted, char]));
