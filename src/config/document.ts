/** Parses the text of a document: as JSON if it begins like JSON, else as YAML. */

import { JsonError, readJson } from '../go/json-reader.js';
import { trimSpace } from '../go/text.js';
import { type Duplicate, readYaml } from '../go/yaml/compose.js';
import { type Dialect, dialectOf } from '../go/yaml/dialect.js';
import { YamlError } from '../go/yaml/tokens.js';
import type { Value } from '../go/yaml/value.js';
import { type Minor, newestMinor, type Position } from './model.js';

export interface Document {
  value: Value;
  /** The first repeated keys of a YAML document; JSON's are met while its fields are read. */
  duplicates: Duplicate[];
  /** How many more there are; absent where there are none. */
  moreDuplicates?: number;
  /** Start of content that the kubelet ignores. */
  ignoredAt?: Position;
}

/** `message` as the kubelet puts it after `failed to decode: `. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError';
  readonly at: Position;
  /** The kubelet would read it. */
  readonly isOurs: boolean;
  constructor(message: string, at: Position, isOurs = false) {
    super(message);
    this.at = at;
    this.isOurs = isOurs;
  }
}

/** A ConfigMap holds at most 1 MiB, so nothing larger can ever reach a node this way. */
export const maxBytes = 1024 * 1024;
const start: Position = { line: 1, column: 1 };

/** A document, and the text that it was read from. */
interface Reading extends Document {
  text: string;
  dialect: Dialect;
}

/**
 * The documents that were read last, the newest first: the checks of a payload read the same few texts again and again. Weak, so that
 * none of them takes memory for longer than until the next garbage collection.
 */
const recent: WeakRef<Reading>[] = [];
const mostRecent = 8;

/** The result may be shared with other callers: it is not to be changed. */
export function readDocument(text: string, minor: Minor = newestMinor): Document {
  const dialect = dialectOf(minor);
  for (const reading of recent) {
    const known = reading.deref();
    if (known !== undefined && known.dialect === dialect && known.text === text) return known;
  }
  const reading = { ...parseDocument(text, dialect), text, dialect };
  recent.unshift(new WeakRef(reading));
  if (recent.length > mostRecent) recent.pop();
  return reading;
}

/** Reads a text that is checked next, so that others can have the event loop in between. */
export function readAhead(text: string, minor: Minor): void {
  try {
    readDocument(text, minor);
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    // The check reports it.
  }
}

function parseDocument(text: string, dialect: Dialect): Document {
  // No character takes more than three bytes for each of its UTF-16 units.
  if (text.length * 3 > maxBytes && new TextEncoder().encode(text).length > maxBytes)
    throw new DocumentError(
      'the document is larger than 1 MiB; no ConfigMap holds it, and no kubelet needs it',
      start,
      true,
    );
  try {
    if (trimSpace(text).startsWith('{')) return { value: readJson(text), duplicates: [] };
    const { value, ...rest } = readYaml(text, dialect);
    return { value: value ?? { kind: 'null', at: start }, ...rest };
  } catch (error) {
    if (error instanceof JsonError)
      throw new DocumentError(`couldn't get version/kind; json parse error: ${error.message}`, error.at);
    if (error instanceof YamlError)
      throw new DocumentError(error.message, { line: error.line, column: error.column }, error.isOurs);
    throw error;
  }
}
