/** Functions of text, by characters (code points), and conversions to text that the library lacks. */
import { type Environment, EvaluationError } from '@marcbachmann/cel-js';
import { spend } from '../meter.js';
import { ownName } from '../syntax-tree.js';
import { formatText } from './format-text.js';

/** The largest text, as large as a request may be. */
const maxLength = 4 * 1024 * 1024;

export function declareStrings(environment: Environment): void {
  const own = (method: string) => `string.${ownName(method)}`;
  environment
    .registerFunction('string.charAt(int): string', (text: string, index: bigint) => charAt([...text], Number(index)))
    .registerFunction(`${own('indexOf')}(string): int`, (text: string, part: string) => indexOf(text, part, 0))
    .registerFunction(`${own('indexOf')}(string, int): int`, (text: string, part: string, from: bigint) =>
      indexOf(text, part, Number(from)),
    )
    .registerFunction(`${own('lastIndexOf')}(string): int`, (text: string, part: string) =>
      lastIndexOf(text, part, undefined),
    )
    .registerFunction(`${own('lastIndexOf')}(string, int): int`, (text: string, part: string, from: bigint) =>
      lastIndexOf(text, part, Number(from)),
    )
    .registerFunction(`${own('lowerAscii')}(): string`, (text: string) =>
      text.replace(/[A-Z]/g, (char) => char.toLowerCase()),
    )
    .registerFunction(`${own('upperAscii')}(): string`, (text: string) =>
      text.replace(/[a-z]/g, (char) => char.toUpperCase()),
    )
    .registerFunction(`${own('trim')}(): string`, (text: string) =>
      text.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, ''),
    )
    .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) =>
      replace(text, from, to, -1),
    )
    .registerFunction(
      'string.replace(string, string, int): string',
      (text: string, from: string, to: string, n: bigint) => replace(text, from, to, Number(n)),
    )
    .registerFunction(`${own('split')}(string): list<string>`, (text: string, separator: string) =>
      split(text, separator, -1),
    )
    .registerFunction(`${own('split')}(string, int): list<string>`, (text: string, separator: string, n: bigint) =>
      split(text, separator, Number(n)),
    )
    .registerFunction(`${own('substring')}(int): string`, (text: string, start: bigint) =>
      substring([...text], Number(start), undefined),
    )
    .registerFunction(`${own('substring')}(int, int): string`, (text: string, start: bigint, end: bigint) =>
      substring([...text], Number(start), Number(end)),
    )
    .registerFunction('string.format(list<dyn>): string', (text: string, values: unknown[]) => formatText(text, values))
    .registerFunction(`list<string>.${ownName('join')}(): string`, (list: string[]) => join(list, ''))
    .registerFunction(`list<string>.${ownName('join')}(string): string`, join)
    .registerFunction('string(google.protobuf.Timestamp): string', (time: Date) =>
      time.toISOString().replace(/\.000Z$/, 'Z'),
    )
    .registerFunction('string(google.protobuf.Duration): string', (duration: object) => String(duration))
    .registerFunction('int(google.protobuf.Timestamp): int', (time: Date) => BigInt(Math.floor(time.getTime() / 1000)));
}

function charAt(chars: string[], index: number): string {
  if (index < 0 || index > chars.length) throw outOfRange(index);
  return chars[index] ?? '';
}

function indexOf(text: string, part: string, from: number): bigint {
  const chars = [...text];
  if (from < 0 || from > chars.length) throw outOfRange(from);
  const at = text.indexOf(part, chars.slice(0, from).join('').length);
  return at === -1 ? -1n : BigInt([...text.slice(0, at)].length);
}

function lastIndexOf(text: string, part: string, from: number | undefined): bigint {
  const chars = [...text];
  if (from !== undefined && (from < 0 || from > chars.length)) throw outOfRange(from);
  const units = from === undefined ? text.length : chars.slice(0, from).join('').length;
  const at = text.lastIndexOf(part, units);
  return at === -1 ? -1n : BigInt([...text.slice(0, at)].length);
}

function substring(chars: string[], start: number, end: number | undefined): string {
  const last = end ?? chars.length;
  if (start > last) throw new EvaluationError(`invalid substring range. start: ${start}, end: ${last}`);
  if (start < 0 || start > chars.length) throw outOfRange(start);
  if (last < 0 || last > chars.length) throw outOfRange(last);
  return chars.slice(start, last).join('');
}

function replace(text: string, from: string, to: string, count: number): string {
  if (count === 0) return text;
  const pieces = from === '' ? ['', ...text, ''] : text.split(from);
  const most = count < 0 ? pieces.length - 1 : Math.min(count, pieces.length - 1);
  checkLength(text.length + most * to.length);
  return (
    pieces
      .slice(0, most)
      .map((piece) => piece + to)
      .join('') + pieces.slice(most).join(from)
  );
}

function split(text: string, separator: string, count: number): string[] {
  if (count === 0) return [];
  const pieces = separator === '' ? [...text] : text.split(separator);
  if (count < 0 || pieces.length <= count) return pieces;
  return [...pieces.slice(0, count - 1), pieces.slice(count - 1).join(separator)];
}

function join(list: string[], separator: string): string {
  let length = 0;
  for (const item of list) {
    if (typeof item !== 'string') throw new EvaluationError('no such overload');
    length += item.length + separator.length;
  }
  checkLength(length);
  return list.join(separator);
}

/** Checked before the text is built. */
function checkLength(length: number): void {
  spend(length / 10);
  if (length > maxLength) throw new EvaluationError(`a text of ${length} characters is too long`);
}

function outOfRange(index: number): EvaluationError {
  return new EvaluationError(`index out of range: ${index}`);
}
