/** Reads the text of a document: JSON when it starts like it, YAML otherwise. */
import { trimSpace } from '../go/text.js';
import { type Duplicate, readYaml } from '../go/yaml/compose.js';
import { dialectOf } from '../go/yaml/dialect.js';
import { YamlError } from '../go/yaml/tokens.js';
import type { Value } from '../go/yaml/value.js';
import { JsonError, readJson } from './json-read.js';
import { type Minor, newestMinor, type Position } from './model.js';

export interface Document {
  value: Value;
  /** Repeated keys of a YAML document; JSON's are met while its fields are read. */
  duplicates: Duplicate[];
  /** Start of content that the kubelet ignores. */
  ignoredAt?: Position;
}

/** `message` as the kubelet puts it after `failed to decode: `. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError';
  readonly at: Position;
  constructor(message: string, at: Position) {
    super(message);
    this.at = at;
  }
}

/** A ConfigMap holds at most 1 MiB, so nothing larger can ever reach a node this way. */
export const maxBytes = 1024 * 1024;
const start: Position = { line: 1, column: 1 };

export function readDocument(text: string, minor: Minor = newestMinor): Document {
  if (text.length > maxBytes || new TextEncoder().encode(text).length > maxBytes)
    throw new DocumentError('the document is larger than 1 MiB; no ConfigMap holds it, and no kubelet needs it', start);
  try {
    if (trimSpace(text).startsWith('{')) return { value: readJson(text), duplicates: [] };
    const { value, ...rest } = readYaml(text, dialectOf(minor));
    return { value: value ?? { kind: 'null', at: start }, ...rest };
  } catch (error) {
    if (error instanceof JsonError)
      throw new DocumentError(`couldn't get version/kind; json parse error: ${error.message}`, error.at);
    if (error instanceof YamlError) throw new DocumentError(error.message, { line: error.line, column: error.column });
    throw error;
  }
}
