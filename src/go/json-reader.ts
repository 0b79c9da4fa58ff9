/** Reads JSON strictly, keeping order, repeated keys and places. Errors are worded as Go's encoding/json words them. */
import { quote } from './quote.js';
import { type Level, unroll } from './yaml/unroll.js';
import type { Entry, Position, Value } from './yaml/value.js';

/** `message` is Go's; line and column count from 1. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
  readonly at: Position;
  constructor(message: string, at: Position) {
    super(message);
    this.at = at;
  }
}

/** Objects and lists in each other. */
const maxDepth = 10_000;

export function readJson(text: string): Value {
  const reader = new Reader(text);
  const value = unroll(undefined, () => reader.begin());
  reader.skipSpace();
  if (!reader.atEnd()) reader.fail('after top-level value');
  return value;
}

const escapes: Record<string, string> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

class Reader {
  private readonly text: string;
  private index = 0;
  private line = 1;
  private lineStart = 0;
  private depth = 0;

  constructor(text: string) {
    this.text = text;
  }

  atEnd(): boolean {
    return this.index >= this.text.length;
  }

  skipSpace(): void {
    for (; this.index < this.text.length; this.index++) {
      const code = this.text.charCodeAt(this.index);
      if (code === 10) {
        this.line++;
        this.lineStart = this.index + 1;
      } else if (code !== 32 && code !== 9 && code !== 13) return;
    }
  }

  /** Reads a value, or what begins an object or a list. */
  begin(): Value | Level<undefined, Value> {
    this.skipSpace();
    const at = this.position();
    const char = this.text[this.index];
    switch (char) {
      case '{':
        return this.object(at);
      case '[':
        return this.array(at);
      case '"':
        return this.stringValue(at);
      case 't':
        this.literal('true');
        return { kind: 'bool', value: true, at };
      case 'f':
        this.literal('false');
        return { kind: 'bool', value: false, at };
      case 'n':
        this.literal('null');
        return { kind: 'null', at };
    }
    if (char !== undefined && /[-0-9]/.test(char)) return { kind: 'number', text: this.number(), at };
    return this.fail('looking for beginning of value');
  }

  private stringValue(at: Position): Value {
    const start = this.index;
    const value = this.string();
    const escaped = this.text.slice(start, this.index).includes('\\');
    return { kind: 'string', value, ...(escaped && { escaped }), at };
  }

  private *object(at: Position): Level<undefined, Value> {
    const entries: Entry[] = [];
    this.open();
    if (!this.close('}'))
      for (;;) {
        this.skipSpace();
        const keyAt = this.position();
        if (this.text[this.index] !== '"') this.fail('looking for beginning of object key string');
        const key = this.string();
        this.skipSpace();
        if (!this.take(':')) this.fail('after object key');
        entries.push({ key, keyAt, value: yield });
        if (this.close('}')) break;
        if (!this.take(',')) this.fail('after object key:value pair');
      }
    return { kind: 'object', entries, at };
  }

  private *array(at: Position): Level<undefined, Value> {
    const items: Value[] = [];
    this.open();
    if (!this.close(']'))
      for (;;) {
        items.push(yield);
        if (this.close(']')) break;
        if (!this.take(',')) this.fail('after array element');
      }
    return { kind: 'array', items, at };
  }

  private open(): void {
    if (++this.depth > maxDepth) this.fail('exceeded max depth');
    this.index++;
  }

  private close(bracket: '}' | ']'): boolean {
    this.skipSpace();
    if (!this.take(bracket)) return false;
    this.depth--;
    return true;
  }

  private string(): string {
    let value = '';
    this.index++;
    for (let start = this.index; ; ) {
      const code = this.text.charCodeAt(this.index);
      if (code === 0x22) {
        value += this.text.slice(start, this.index++);
        // Half of a surrogate pair is not a character.
        return value.replace(/\p{Surrogate}/gu, '\ufffd');
      }
      if (this.atEnd() || code < 0x20) this.fail('in string literal');
      if (code !== 0x5c) {
        this.index++;
        continue;
      }
      value += this.text.slice(start, this.index++) + this.escape();
      start = this.index;
    }
  }

  private escape(): string {
    const letter = this.text[this.index] ?? '';
    if (Object.hasOwn(escapes, letter)) {
      this.index++;
      return escapes[letter]!;
    }
    if (letter !== 'u') this.fail('in string escape code');
    this.index++;
    const start = this.index;
    for (; this.index < start + 4; this.index++)
      if (!/[0-9a-fA-F]/.test(this.text[this.index] ?? '')) this.fail('in \\u hexadecimal character escape');
    return String.fromCharCode(Number.parseInt(this.text.slice(start, this.index), 16));
  }

  private literal(word: string): void {
    for (let i = 0; i < word.length; i++, this.index++)
      if (this.text[this.index] !== word[i]) this.fail(`in literal ${word} (expecting '${word[i]}')`);
  }

  private number(): string {
    const start = this.index;
    this.take('-');
    if (!this.take('0')) this.digits('in numeric literal');
    if (this.take('.')) this.digits('after decimal point in numeric literal');
    if (this.take('e') || this.take('E')) {
      if (!this.take('+')) this.take('-');
      this.digits('in exponent of numeric literal');
    }
    return this.text.slice(start, this.index);
  }

  private digits(context: string): void {
    const start = this.index;
    while (/[0-9]/.test(this.text[this.index] ?? '')) this.index++;
    if (this.index === start) this.fail(context);
  }

  private take(char: string): boolean {
    if (this.text[this.index] !== char) return false;
    this.index++;
    return true;
  }

  private position(): Position {
    return { line: this.line, column: this.index - this.lineStart + 1 };
  }

  fail(context: string): never {
    if (this.atEnd()) throw new JsonError('unexpected end of JSON input', this.position());
    // Go looks at the first byte of a character, and prints that as a character of its own.
    const char = String.fromCharCode(new TextEncoder().encode(this.text.slice(this.index, this.index + 2))[0]!);
    const quoted = { "'": "\\'", '"': '"' }[char] ?? quote(char).slice(1, -1);
    throw new JsonError(`invalid character '${quoted}' ${context}`, this.position());
  }
}
