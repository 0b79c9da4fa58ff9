/** Reads the text of a scalar: plain, quoted or block, folded as YAML 1.1 says and Go does. */
import { type Cursor, lineRest } from './cursor.js';
import type { Dialect } from './dialect.js';

/** Line breaks between two pieces of text: one becomes a space, more stay, less the first. */
class Fold {
  leading = '';
  trailing = '';
  blanks = '';
  onNewLine = false;

  take(cursor: Cursor): void {
    if (cursor.isBlank()) {
      if (!this.onNewLine) this.blanks += cursor.char();
      cursor.skip();
    } else if (this.onNewLine) {
      this.trailing += cursor.readBreak();
    } else {
      this.blanks = '';
      this.leading = cursor.readBreak();
      this.onNewLine = true;
    }
  }

  join(): string {
    let text = this.blanks;
    if (this.onNewLine) {
      if (this.leading === '\n') text = this.trailing === '' ? ' ' : this.trailing;
      else text = this.leading + this.trailing;
    }
    this.leading = this.trailing = this.blanks = '';
    this.onNewLine = false;
    return text;
  }
}

/** Returns the text and whether it ended on a new line (where a key may start). */
export function scanPlain(
  cursor: Cursor,
  indent: number,
  inFlow: boolean,
  dialect: Dialect,
): { value: string; endedOnNewLine: boolean } {
  const fold = new Fold();
  let value = '';
  for (;;) {
    if (cursor.isDocumentMark() || cursor.code() === 0x23) break;
    const start = cursor.index;
    do cursor.read(inFlow ? plainInFlow : plainInBlock);
    while (cursor.code() === 0x3a && !cursor.isBlankOrEnd(1) && cursor.read(colon));
    if (inFlow && !dialect.allowsColonInFlow && cursor.text.slice(start, cursor.index).includes(':'))
      cursor.fail("found unexpected ':'");
    if (cursor.index > start) value += fold.join() + cursor.text.slice(start, cursor.index);
    if (!cursor.isBlank() && !cursor.isBreak()) break;
    while (cursor.isBlank() || cursor.isBreak()) {
      if (fold.onNewLine && cursor.column < indent && cursor.code() === 9)
        cursor.fail('found a tab character that violates indentation');
      fold.take(cursor);
    }
    if (!inFlow && cursor.column < indent) break;
  }
  return { value, endedOnNewLine: fold.onNewLine };
}

const plainInBlock = /[^ \t\r\n\x85\u2028\u2029:]*/y;
const plainInFlow = /[^ \t\r\n\x85\u2028\u2029:,?[\]{}]*/y;
const colon = /:/y;

const doubleQuoted = /[^ \t\r\n\x85\u2028\u2029"\\]*/y;
const singleQuoted = /[^ \t\r\n\x85\u2028\u2029']*/y;

export function scanQuoted(cursor: Cursor, quote: '"' | "'"): string {
  const quoteCode = quote.charCodeAt(0);
  const fold = new Fold();
  let value = '';
  cursor.skip();
  for (;;) {
    if (cursor.isDocumentMark()) cursor.fail('found unexpected document indicator');
    if (cursor.isEnd()) cursor.fail('found unexpected end of stream');
    while (!cursor.isBlankOrEnd()) {
      const code = cursor.code();
      if (code === quoteCode && quote === "'" && cursor.code(1) === quoteCode) {
        value += "'";
        cursor.skip(2);
      } else if (code === quoteCode) {
        break;
      } else if (code === 0x5c && quote === '"') {
        if (cursor.isBreak(1)) {
          cursor.skip();
          cursor.readBreak();
          fold.onNewLine = true;
          break;
        }
        value += scanEscape(cursor);
      } else {
        value += cursor.read(quote === '"' ? doubleQuoted : singleQuoted);
      }
    }
    if (cursor.code() === quoteCode && !cursor.isEnd()) break;
    while (cursor.isBlank() || cursor.isBreak()) fold.take(cursor);
    value += fold.join();
  }
  cursor.skip();
  return value;
}

const escapes: Record<string, string> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  '\t': '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  "'": "'",
  '\\': '\\',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
};
const escapeLengths: Record<string, number> = { x: 2, u: 4, U: 8 };

function scanEscape(cursor: Cursor): string {
  const letter = cursor.char(1);
  if (Object.hasOwn(escapes, letter)) {
    cursor.skip(2);
    return escapes[letter]!;
  }
  const length = Object.hasOwn(escapeLengths, letter) ? escapeLengths[letter]! : 0;
  if (length === 0) cursor.fail('found unknown escape character');
  cursor.skip(2);
  const hex = cursor.text.slice(cursor.index, cursor.index + length);
  if (!/^[0-9a-fA-F]+$/.test(hex) || hex.length < length) cursor.fail('did not find expected hexdecimal number');
  const point = Number.parseInt(hex, 16);
  if ((point >= 0xd800 && point <= 0xdfff) || point > 0x10ffff)
    cursor.fail('found invalid Unicode character escape code');
  cursor.skip(length);
  return String.fromCodePoint(point);
}

/** A `|` or `>` scalar; `parentIndent` is -1 at the top. */
export function scanBlock(cursor: Cursor, parentIndent: number): string {
  const literal = cursor.char() === '|';
  cursor.skip();
  const { chomp, increment } = scanBlockHeader(cursor);
  let indent = increment === 0 ? 0 : Math.max(parentIndent, 0) + increment;
  let value = '';
  let leadingBreak = '';
  const first = scanBlockBreaks(cursor, indent, parentIndent);
  let trailingBreaks = first.breaks;
  indent = first.indent;
  let afterBlank = false;
  while (cursor.column === indent && !cursor.isEnd()) {
    const startsBlank = cursor.isBlank();
    if (!literal && !afterBlank && !startsBlank && leadingBreak === '\n') value += trailingBreaks === '' ? ' ' : '';
    else value += leadingBreak;
    value += trailingBreaks;
    afterBlank = startsBlank;
    value += cursor.read(lineRest);
    leadingBreak = cursor.isEnd() ? '' : cursor.readBreak();
    trailingBreaks = scanBlockBreaks(cursor, indent, parentIndent).breaks;
  }
  if (chomp !== '-') value += leadingBreak;
  if (chomp === '+') value += trailingBreaks;
  return value;
}

function scanBlockHeader(cursor: Cursor): { chomp: string; increment: number } {
  let chomp = '';
  let increment = 0;
  // At most one of each, in either order.
  for (let i = 0; i < 2; i++) {
    const char = cursor.char();
    if (chomp === '' && (char === '+' || char === '-')) {
      chomp = char;
      cursor.skip();
    } else if (increment === 0 && char >= '0' && char <= '9' && char !== '') {
      if (char === '0') cursor.fail('found an indentation indicator equal to 0');
      increment = Number(char);
      cursor.skip();
    } else break;
  }
  cursor.skipBlanks();
  cursor.skipComment();
  if (!cursor.isBreakOrEnd()) cursor.fail('did not find expected comment or line break');
  if (cursor.isBreak()) cursor.readBreak();
  return { chomp, increment };
}

/** Empty lines, and the indentation of the first line with text when it is not known yet (0). */
function scanBlockBreaks(cursor: Cursor, indent: number, parentIndent: number): { breaks: string; indent: number } {
  let breaks = '';
  let widest = 0;
  for (;;) {
    while ((indent === 0 || cursor.column < indent) && cursor.code() === 0x20) cursor.skip();
    widest = Math.max(widest, cursor.column);
    if ((indent === 0 || cursor.column < indent) && cursor.code() === 9)
      cursor.fail('found a tab character where an indentation space is expected');
    if (!cursor.isBreak()) break;
    breaks += cursor.readBreak();
  }
  return { breaks, indent: indent === 0 ? Math.max(widest, parentIndent + 1, 1) : indent };
}
