/** The scanner's position in the text: reads characters and line breaks, and keeps line and column. */
import { YamlError } from './tokens.js';

const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;

/** Letters, digits, `_` and `-`: what anchors, directives and tag handles are made of. */
export const word = /[\w-]*/y;
export const lineRest = /[^\r\n\x85\u2028\u2029]*/y;

export class Cursor {
  readonly text: string;
  index = 0;
  line = 0;
  column = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** The character code `ahead` characters on; 0 past the end. */
  code(ahead = 0): number {
    const at = this.index + ahead;
    return at < this.text.length ? this.text.charCodeAt(at) : 0;
  }

  char(ahead = 0): string {
    return this.text.charAt(this.index + ahead);
  }

  skip(count = 1): void {
    this.index += count;
    this.column += count;
  }

  /** Moves past the line break here and returns its normalized form: LS and PS stay, all others are \n. */
  readBreak(): string {
    const code = this.code();
    this.index += code === CR && this.code(1) === LF ? 2 : 1;
    this.line++;
    this.column = 0;
    return code === 0x2028 || code === 0x2029 ? String.fromCharCode(code) : '\n';
  }

  isBlank(ahead = 0): boolean {
    const code = this.code(ahead);
    return code === SPACE || code === TAB;
  }

  isBreak(ahead = 0): boolean {
    const code = this.code(ahead);
    return code === LF || code === CR || code === 0x85 || code === 0x2028 || code === 0x2029;
  }

  isEnd(ahead = 0): boolean {
    return this.index + ahead >= this.text.length;
  }

  isBreakOrEnd(ahead = 0): boolean {
    return this.isEnd(ahead) || this.isBreak(ahead);
  }

  isBlankOrEnd(ahead = 0): boolean {
    return this.isEnd(ahead) || this.isBlank(ahead) || this.isBreak(ahead);
  }

  /** `---` or `...` at the start of a line. */
  isDocumentMark(): boolean {
    if (this.column !== 0) return false;
    const code = this.code();
    return (code === 0x2d || code === 0x2e) && this.code(1) === code && this.code(2) === code && this.isBlankOrEnd(3);
  }

  /** Reads what the pattern (sticky, and never over a line break) matches here. In bulk, since documents are mostly words. */
  read(pattern: RegExp): string {
    pattern.lastIndex = this.index;
    const text = pattern.exec(this.text)?.[0] ?? '';
    this.skip(text.length);
    return text;
  }

  skipBlanks(): void {
    while (this.isBlank()) this.skip();
  }

  skipComment(): void {
    if (this.code() === 0x23) this.read(lineRest);
  }

  /** An error of the scanner. Go counts lines from 1 here, and names none for the first. `at`: where the mistake is, if not here. */
  fail(problem: string, at: { line: number; column: number } = this): never {
    const where = this.line === 0 ? '' : `line ${this.line + 1}: `;
    throw new YamlError(`yaml: ${where}${problem}`, at.line, at.column);
  }
}
