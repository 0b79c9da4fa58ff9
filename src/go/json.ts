/**
 * Checks JSON as Go's decoder does: its messages for invalid JSON, and duplicate keys. JSON.parse does the work; the slow parser here
 * runs only for documents that are invalid or may hold a key twice.
 */
import { isObject } from '../json.js';
import { goQuote } from './quote.js';

/** The text is not JSON; the message is Go's. */
export class JsonSyntaxError extends Error {}

export interface ParsedJson {
  value: unknown;
  /** Paths of keys that stand twice in one object, in the order of the document: `data.k`. */
  duplicates: string[];
}

/** Go gives up at 10,000; this is deep enough for anything real and keeps recursion over what is parsed safe. */
const maxDepth = 1_000;

export function parseGoJson(text: string): ParsedJson {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return new Reader(text).document();
  }
  return mayHoldDuplicates(text, value) ? new Reader(text).document() : { value, duplicates: [] };
}

/** Fewer keys in the value than `"…":` in the text: one was lost, or a string looks like a key. */
function mayHoldDuplicates(text: string, value: unknown): boolean {
  let written = 0;
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) {
    let before = at - 1;
    while (before >= 0 && text.charCodeAt(before) <= 32) before--;
    if (text.charCodeAt(before) === 34) written++;
  }
  return written !== countKeys(value, 0);
}

function countKeys(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (depth > maxDepth) throw new JsonSyntaxError('exceeded max depth');
  let keys = 0;
  if (Array.isArray(value)) for (const item of value) keys += countKeys(item, depth + 1);
  else {
    for (const key of Object.keys(value)) keys += 1 + countKeys((value as Record<string, unknown>)[key], depth + 1);
  }
  return keys;
}

class Reader {
  readonly #text: string;
  readonly #duplicates: string[] = [];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): ParsedJson {
    const value = this.#value('');
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#unexpected('after top-level value');
    return { value, duplicates: this.#duplicates };
  }

  #value(path: string): unknown {
    this.#skipSpace();
    const char = this.#text[this.#at];
    if (char === '{') return this.#nested(() => this.#object(path));
    if (char === '[') return this.#nested(() => this.#array(path));
    if (char === '"') return this.#string();
    if (char === 't') return this.#literal('true', true);
    if (char === 'f') return this.#literal('false', false);
    if (char === 'n') return this.#literal('null', null);
    if (char === '-' || (char !== undefined && char >= '0' && char <= '9')) return this.#number();
    throw this.#unexpected('looking for beginning of value');
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > maxDepth) throw new JsonSyntaxError('exceeded max depth');
    const value = read();
    this.#depth--;
    return value;
  }

  #object(path: string): Record<string, unknown> {
    const entries = new Map<string, unknown>();
    this.#at++;
    this.#skipSpace();
    if (this.#text[this.#at] === '}') return this.#close({});
    for (;;) {
      this.#skipSpace();
      if (this.#text[this.#at] !== '"') throw this.#unexpected('looking for beginning of object key string');
      const key = this.#string();
      this.#skipSpace();
      if (this.#text[this.#at] !== ':') throw this.#unexpected('after object key');
      this.#at++;
      const where = path === '' ? key : `${path}.${key}`;
      const value = this.#value(where);
      if (entries.has(key)) this.#duplicates.push(where);
      entries.set(key, merged(entries.get(key), value));
      this.#skipSpace();
      // fromEntries defines properties: a key such as __proto__ stays a plain key.
      if (this.#text[this.#at] === '}') return this.#close(Object.fromEntries(entries));
      if (this.#text[this.#at] !== ',') throw this.#unexpected('after object key:value pair');
      this.#at++;
    }
  }

  #array(path: string): unknown[] {
    const items: unknown[] = [];
    this.#at++;
    this.#skipSpace();
    if (this.#text[this.#at] === ']') return this.#close(items);
    for (;;) {
      items.push(this.#value(`${path}[${items.length}]`));
      this.#skipSpace();
      if (this.#text[this.#at] === ']') return this.#close(items);
      if (this.#text[this.#at] !== ',') throw this.#unexpected('after array element');
      this.#at++;
    }
  }

  #close<T>(value: T): T {
    this.#at++;
    return value;
  }

  #string(): string {
    const start = this.#at++;
    for (;;) {
      const char = this.#text[this.#at];
      if (char === '"') break;
      if (char === undefined || char < ' ') throw this.#unexpected('in string literal');
      if (char === '\\') this.#escape();
      else this.#at++;
    }
    this.#at++;
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  #escape(): void {
    const char = this.#text[++this.#at];
    if (char === 'u') {
      for (let digit = 0; digit < 4; digit++) {
        this.#at++;
        if (!/[0-9a-fA-F]/.test(this.#text[this.#at] ?? '')) {
          throw this.#unexpected('in \\u hexadecimal character escape');
        }
      }
    } else if (char === undefined || !'"\\/bfnrt'.includes(char)) throw this.#unexpected('in string escape code');
    this.#at++;
  }

  #literal<T>(word: string, value: T): T {
    for (let at = 1; at < word.length; at++) {
      this.#at++;
      if (this.#text[this.#at] !== word[at]) throw this.#unexpected(`in literal ${word} (expecting '${word[at]}')`);
    }
    return this.#close(value);
  }

  #number(): number {
    const start = this.#at;
    if (this.#text[this.#at] === '-') this.#at++;
    if (this.#text[this.#at] === '0') this.#at++;
    else this.#digits('in numeric literal');
    if (this.#text[this.#at] === '.') {
      this.#at++;
      this.#digits('after decimal point in numeric literal');
    }
    if (/[eE]/.test(this.#text[this.#at] ?? '')) {
      this.#at++;
      if (/[+-]/.test(this.#text[this.#at] ?? '')) this.#at++;
      this.#digits('in exponent of numeric literal');
    }
    return Number(this.#text.slice(start, this.#at));
  }

  #digits(where: string): void {
    if (!/[0-9]/.test(this.#text[this.#at] ?? '')) throw this.#unexpected(where);
    while (/[0-9]/.test(this.#text[this.#at] ?? '')) this.#at++;
  }

  #skipSpace(): void {
    while (' \t\r\n'.includes(this.#text[this.#at] ?? 'x')) this.#at++;
  }

  #unexpected(where: string): JsonSyntaxError {
    const code = this.#text.codePointAt(this.#at);
    if (code === undefined) return new JsonSyntaxError('unexpected end of JSON input');
    return new JsonSyntaxError(`invalid character ${quoteChar(String.fromCodePoint(code))} ${where}`);
  }
}

/** Go fills the same struct or map again, so the later object adds to the earlier. */
function merged(first: unknown, second: unknown): unknown {
  if (!isObject(first) || !isObject(second)) return second;
  const entries = new Map(Object.entries(first));
  for (const [key, value] of Object.entries(second)) entries.set(key, merged(entries.get(key), value));
  return Object.fromEntries(entries);
}

function quoteChar(char: string): string {
  if (char === "'") return "'\\''";
  if (char === '"') return `'"'`;
  return `'${goQuote(char).slice(1, -1)}'`;
}
