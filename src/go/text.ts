/** Formatting and parsing as in Go's fmt, strconv and strings, for the messages of the kubelet. */
import { quote } from './quote.js';

/** `%v` of a float64: exponents from 1e21 up and below 1e-4, at least two digits long. */
export function float(value: number): string {
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-4 || size >= 1e21) ? value.toExponential() : String(value);
  return text.replace(/e([+-])(\d)$/, 'e$10$2');
}

/** `strconv.Atoi`'s error, or undefined when it would read the text. */
export function atoiError(text: string): string | undefined {
  // Nearly all numbers: without a bigint.
  if (/^[+-]?\d{1,18}$/.test(text)) return undefined;
  if (!/^[+-]?\d+$/.test(text)) return `strconv.Atoi: parsing ${quote(text)}: invalid syntax`;
  const value = BigInt(text.replace(/^\+/, ''));
  return value > 2n ** 63n - 1n || value < -(2n ** 63n)
    ? `strconv.Atoi: parsing ${quote(text)}: value out of range`
    : undefined;
}

/** Accepts the texts that `strconv.ParseBool` accepts. */
export function isGoBool(text: string): boolean {
  return /^(1|0|t|f|T|F|true|false|TRUE|FALSE|True|False)$/.test(text);
}

/** The text of several errors in one: each once, in brackets when there are several. */
export function aggregate(messages: readonly string[]): string {
  const unique = [...new Set(messages)];
  return unique.length === 1 ? unique[0]! : `[${unique.join(', ')}]`;
}

const space = /[\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

/** `strings.TrimSpace`. Unlike trim() of JavaScript it removes U+0085 and leaves U+FEFF. */
export function trimSpace(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && space.test(text[start]!)) start++;
  while (start < end && space.test(text[end - 1]!)) end--;
  return text.slice(start, end);
}
