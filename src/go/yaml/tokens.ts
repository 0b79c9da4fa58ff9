/** Tokens and errors of the YAML reader. */

export type TokenType =
  | 'stream-end'
  | 'version-directive'
  | 'tag-directive'
  | 'document-start'
  | 'document-end'
  | 'block-sequence-start'
  | 'block-mapping-start'
  | 'block-end'
  | 'flow-sequence-start'
  | 'flow-sequence-end'
  | 'flow-mapping-start'
  | 'flow-mapping-end'
  | 'block-entry'
  | 'flow-entry'
  | 'key'
  | 'value'
  | 'alias'
  | 'anchor'
  | 'tag'
  | 'scalar';

export interface Token {
  type: TokenType;
  /** From 0, like `column`. */
  line: number;
  column: number;
  /** A scalar's text, an anchor's name, a tag's handle, a directive's first word. */
  value: string;
  /** A tag's suffix, a %TAG directive's prefix. */
  suffix: string;
  /** A scalar without quotes: its type is still to be found. */
  plain: boolean;
}

/** `message` is Go's, whole; line and column (from 1) are where it really is. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
  readonly line: number;
  readonly column: number;
  /** Go would read the text. */
  readonly isOurs: boolean;
  constructor(message: string, line: number, column: number, isOurs = false) {
    super(message);
    this.line = line + 1;
    this.column = column + 1;
    this.isOurs = isOurs;
  }
}
