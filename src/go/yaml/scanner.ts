/**
 * Cuts YAML text into tokens, the way Go's reader (libyaml's algorithm) does, so that what the kubelet accepts and refuses
 * is accepted and refused here: indentation opens and closes blocks, and a simple key (`key: value`) is known as one
 * only when its colon is met, so its tokens wait in a queue until then.
 */
import { Cursor } from './cursor.js';
import type { Dialect } from './dialect.js';
import { scanBlock, scanPlain, scanQuoted } from './scan-scalar.js';
import { scanAnchorName, scanDirective, scanTag } from './scan-tag.js';
import type { Token, TokenType } from './tokens.js';

/** A place where a key may have started; there is at most one on each flow level. */
interface SimpleKey {
  possible: boolean;
  /** In block context at the current indentation there must be a key. */
  required: boolean;
  tokenNumber: number;
  index: number;
  line: number;
  column: number;
}

/** Longer keys, counted from their start to the colon, are not keys. */
const maxKeyLength = 1024;
/** Limit for nested flow collections, and for block collections. */
const maxDepth = 10_000;

export class Scanner {
  private readonly cursor: Cursor;
  private readonly dialect: Dialect;
  private queue: Token[] = [];
  private head = 0;
  private taken = 0;
  private indent = -1;
  private readonly indents: number[] = [];
  private flowLevel = 0;
  private keyAllowed = true;
  private readonly keys: SimpleKey[] = [noKey()];
  private readonly keyByToken = new Map<number, SimpleKey>();
  private ended = false;
  /** The token at the head cannot become a key any more. Reset when it is taken. */
  private isHeadSettled = false;

  constructor(text: string, dialect: Dialect) {
    this.cursor = new Cursor(text);
    this.dialect = dialect;
  }

  peek(): Token {
    if (!this.isHeadSettled) {
      while ((this.head === this.queue.length || this.headMayBecomeKey()) && !this.ended) this.fetch();
      this.isHeadSettled = true;
    }
    return this.queue[this.head]!;
  }

  take(): Token {
    const token = this.peek();
    if (token.type !== 'stream-end') {
      this.head++;
      this.taken++;
      this.isHeadSettled = false;
      if (this.head > 256) {
        this.queue = this.queue.slice(this.head);
        this.head = 0;
      }
    }
    return token;
  }

  private headMayBecomeKey(): boolean {
    const key = this.keyByToken.get(this.taken);
    return key !== undefined && this.isValid(key);
  }

  private isValid(key: SimpleKey): boolean {
    if (!key.possible) return false;
    if (key.line < this.cursor.line || key.index + maxKeyLength < this.cursor.index) {
      if (key.required) this.cursor.fail("could not find expected ':'", key);
      key.possible = false;
      return false;
    }
    return true;
  }

  /** Reads one token, or several, onto the queue. */
  private fetch(): unknown {
    const cursor = this.cursor;
    this.skipToToken();
    this.unroll(cursor.column);
    if (cursor.isEnd()) return this.fetchEnd();
    const char = cursor.char();
    if (cursor.column === 0 && char === '%') return this.fetchDirective();
    if (cursor.isDocumentMark()) return this.fetchDocumentMark(char === '-' ? 'document-start' : 'document-end');
    const blankNext = cursor.isBlankOrEnd(1);
    const inFlow = this.flowLevel > 0;
    switch (char) {
      case '[':
        return this.fetchFlowStart('flow-sequence-start');
      case '{':
        return this.fetchFlowStart('flow-mapping-start');
      case ']':
        return this.fetchFlowEnd('flow-sequence-end');
      case '}':
        return this.fetchFlowEnd('flow-mapping-end');
      case ',':
        return this.fetchFlowEntry();
      case '-':
        if (blankNext) return this.fetchBlockEntry();
        break;
      case '?':
        if (inFlow || blankNext) return this.fetchKey();
        break;
      case ':':
        if (inFlow || blankNext) return this.fetchValue();
        break;
      case '*':
      case '&':
      case '!':
        return this.fetchProperty(char);
      case '|':
      case '>':
        if (!inFlow) return this.fetchBlockScalar();
        break;
      case "'":
      case '"':
        return this.fetchScalar(() => scanQuoted(cursor, char), false);
    }
    if (!cursor.isBlankOrEnd() && !'|>#%@`'.includes(char)) return this.fetchPlain();
    cursor.fail('found character that cannot start any token');
  }

  private skipToToken(): void {
    const cursor = this.cursor;
    for (;;) {
      while (cursor.code() === 0x20 || (cursor.code() === 9 && (this.flowLevel > 0 || !this.keyAllowed))) cursor.skip();
      cursor.skipComment();
      if (!cursor.isBreak()) return;
      cursor.readBreak();
      if (this.flowLevel === 0) this.keyAllowed = true;
    }
  }

  private push(type: TokenType, line: number, column: number, value = '', suffix = '', plain = false): void {
    this.queue.push({ type, line, column, value, suffix, plain });
  }

  /** Opens a block when the column is deeper than the block we are in. */
  private roll(column: number, type: TokenType, before?: SimpleKey): void {
    if (this.flowLevel > 0 || this.indent >= column) return;
    this.indents.push(this.indent);
    this.indent = column;
    if (this.indents.length > maxDepth) this.cursor.fail(`exceeded max depth of ${maxDepth}`);
    const { line } = before ?? this.cursor;
    const token: Token = { type, line, column, value: '', suffix: '', plain: false };
    if (before === undefined) this.queue.push(token);
    else this.queue.splice(this.head + before.tokenNumber - this.taken, 0, token);
  }

  private unroll(column: number): void {
    if (this.flowLevel > 0) return;
    while (this.indent > column) {
      this.push('block-end', this.cursor.line, this.cursor.column);
      this.indent = this.indents.pop()!;
    }
  }

  private saveKey(): void {
    if (!this.keyAllowed) return;
    this.removeKey();
    const { index, line, column } = this.cursor;
    const key: SimpleKey = {
      possible: true,
      required: this.flowLevel === 0 && this.indent === column,
      tokenNumber: this.taken + this.queue.length - this.head,
      index,
      line,
      column,
    };
    this.keys[this.keys.length - 1] = key;
    this.keyByToken.set(key.tokenNumber, key);
  }

  private removeKey(): void {
    const key = this.keys[this.keys.length - 1]!;
    if (!key.possible) return;
    if (key.required) this.cursor.fail("could not find expected ':'", key);
    key.possible = false;
    this.keyByToken.delete(key.tokenNumber);
  }

  private fetchEnd(): void {
    const cursor = this.cursor;
    if (cursor.column !== 0) {
      cursor.column = 0;
      cursor.line++;
    }
    this.unroll(-1);
    this.removeKey();
    this.keyAllowed = false;
    this.push('stream-end', cursor.line, cursor.column);
    this.ended = true;
  }

  private fetchDirective(): void {
    this.unroll(-1);
    this.removeKey();
    this.keyAllowed = false;
    const { line, column } = this.cursor;
    const directive = scanDirective(this.cursor);
    if (directive.name === 'YAML') this.push('version-directive', line, column, directive.version);
    else this.push('tag-directive', line, column, directive.handle, directive.prefix);
  }

  private fetchDocumentMark(type: TokenType): void {
    this.unroll(-1);
    this.removeKey();
    this.keyAllowed = false;
    this.push(type, this.cursor.line, this.cursor.column);
    this.cursor.skip(3);
  }

  private fetchIndicator(type: TokenType): void {
    this.push(type, this.cursor.line, this.cursor.column);
    this.cursor.skip();
  }

  private fetchFlowStart(type: TokenType): void {
    this.saveKey();
    this.keys.push(noKey());
    this.flowLevel++;
    if (this.flowLevel > maxDepth) this.cursor.fail(`exceeded max depth of ${maxDepth}`);
    this.keyAllowed = true;
    this.fetchIndicator(type);
  }

  private fetchFlowEnd(type: TokenType): void {
    this.removeKey();
    if (this.flowLevel > 0) {
      this.flowLevel--;
      this.keys.pop();
    }
    this.keyAllowed = false;
    this.fetchIndicator(type);
  }

  private fetchFlowEntry(): void {
    this.removeKey();
    this.keyAllowed = true;
    this.fetchIndicator('flow-entry');
  }

  private fetchBlockEntry(): void {
    if (this.flowLevel === 0) {
      if (!this.keyAllowed) this.cursor.fail('block sequence entries are not allowed in this context');
      this.roll(this.cursor.column, 'block-sequence-start');
    }
    this.removeKey();
    this.keyAllowed = true;
    this.fetchIndicator('block-entry');
  }

  private fetchKey(): void {
    if (this.flowLevel === 0) {
      if (!this.keyAllowed) this.cursor.fail('mapping keys are not allowed in this context');
      this.roll(this.cursor.column, 'block-mapping-start');
    }
    this.removeKey();
    this.keyAllowed = this.flowLevel === 0;
    this.fetchIndicator('key');
  }

  private fetchValue(): void {
    const key = this.keys[this.keys.length - 1]!;
    if (this.isValid(key)) {
      const token: Token = { type: 'key', line: key.line, column: key.column, value: '', suffix: '', plain: false };
      this.queue.splice(this.head + key.tokenNumber - this.taken, 0, token);
      this.roll(key.column, 'block-mapping-start', key);
      key.possible = false;
      this.keyByToken.delete(key.tokenNumber);
      this.keyAllowed = false;
    } else {
      if (this.flowLevel === 0) {
        if (!this.keyAllowed) this.cursor.fail('mapping values are not allowed in this context');
        this.roll(this.cursor.column, 'block-mapping-start');
      }
      this.keyAllowed = this.flowLevel === 0;
    }
    this.fetchIndicator('value');
  }

  /** An alias, an anchor or a tag. */
  private fetchProperty(char: '*' | '&' | '!'): void {
    this.saveKey();
    this.keyAllowed = false;
    const { line, column } = this.cursor;
    if (char === '!') {
      const [handle, suffix] = scanTag(this.cursor);
      this.push('tag', line, column, handle, suffix);
    } else {
      this.push(char === '*' ? 'alias' : 'anchor', line, column, scanAnchorName(this.cursor));
    }
  }

  private fetchScalar(scan: () => string, plain: boolean): void {
    this.saveKey();
    this.keyAllowed = false;
    const { line, column } = this.cursor;
    this.push('scalar', line, column, scan(), '', plain);
  }

  private fetchPlain(): void {
    let endedOnNewLine = false;
    this.fetchScalar(() => {
      const plain = scanPlain(this.cursor, this.indent + 1, this.flowLevel > 0, this.dialect);
      endedOnNewLine = plain.endedOnNewLine;
      return plain.value;
    }, true);
    if (endedOnNewLine) this.keyAllowed = true;
  }

  private fetchBlockScalar(): void {
    this.removeKey();
    this.keyAllowed = true;
    const { line, column } = this.cursor;
    this.push('scalar', line, column, scanBlock(this.cursor, this.indent));
  }
}

function noKey(): SimpleKey {
  return { possible: false, required: false, tokenNumber: -1, index: 0, line: 0, column: 0 };
}
