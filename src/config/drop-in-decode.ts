/**
 * Decodes a file of --config-dir as kubelets from 1.29 on do: as untyped JSON, which is then a patch. So field names count in any
 * spelling, unknown ones are ignored, null removes, and a duplicate key is an error.
 */
import type { Value } from '../go/yaml/value.js';
import { DecodeError } from './decode.js';
import { decodeFields } from './decode-fields.js';
import { type Document, DocumentError, readDocument } from './document.js';
import { header } from './header.js';
import type { Finding, Minor, Position, Positions } from './model.js';
import { shapeOf } from './shape.js';
import { mergePatch, withFieldNames } from './value-patch.js';

export interface DropIn {
  /** Positions of the fields that it sets. */
  positions: Positions;
  findings: Finding[];
}

/** `patch` is the whole document, as it was read. Throws DecodeError. */
export function decodeDropIn(text: string, minor: Minor): DropIn & { patch: Value } {
  if (text === '') throw rejected('the file is empty', start);
  const { value: patch, duplicates } = read(text, minor);
  const [twice] = duplicates;
  if (twice !== undefined) throw rejected(`duplicate field ${JSON.stringify(twice.path.at(-1))}`, twice.at);
  checkHeader(patch, minor);
  const empty: Value = { kind: 'object', entries: [], at: start };
  const fields = decodeFields(withFieldNames(mergePatch(empty, patch), shapeOf(minor)), shapeOf(minor), minor);
  if (fields.message !== undefined) throw new DecodeError(fields.message, fields.errors);
  const findings = fields.unknown.map(({ path, name, at }): Finding => {
    const message = `unknown field ${JSON.stringify(name)}: the kubelet ignores it in a drop-in`;
    return { severity: 'warning', source: 'relet', path, ...at, message };
  });
  return { positions: fields.positions, findings, patch };
}

const start: Position = { line: 1, column: 1 };

function rejected(message: string, at: Position, path = ''): DecodeError {
  return new DecodeError(message, [{ severity: 'error', source: 'kubelet', path, ...at, message }]);
}

/** JSON keeps duplicates; they are found here, before a patch forgets them. */
function read(text: string, minor: Minor): Document {
  try {
    const document = readDocument(text, minor);
    const twice = duplicateIn(document.value, []);
    return twice === undefined ? document : { ...document, duplicates: [...document.duplicates, twice] };
  } catch (error) {
    if (error instanceof DocumentError) throw rejected(error.message, error.at);
    throw error;
  }
}

/** Drop-ins are files of the host. Merging them need not allow the depth that Go allows. */
const maxDepth = 1000;

function duplicateIn(value: Value, path: string[]): Document['duplicates'][number] | undefined {
  if (path.length > maxDepth)
    throw new DocumentError(`relet reads drop-ins of at most ${maxDepth} levels, and this one is deeper`, value.at);
  const seen = new Set<string>();
  const children = value.kind === 'object' ? value.entries : [];
  for (const { key, keyAt, value: child } of children) {
    const at = [...path, key];
    if (seen.has(key))
      return { path: at, at: keyAt, line: keyAt.line, message: `duplicate field ${JSON.stringify(key)}` };
    seen.add(key);
    const inside = duplicateIn(child, at);
    if (inside !== undefined) return inside;
  }
  return undefined;
}

/** Until 1.31 any kind will do. */
function checkHeader(value: Value, minor: Minor): void {
  const entries = value.kind === 'object' ? value.entries : [];
  for (const [name, wanted] of Object.entries(header)) {
    if (minor < 32 && name === 'apiVersion') continue;
    const found = entries.find(({ key }) => key === name)?.value;
    const isText = found?.kind === 'string' && found.value !== '';
    if (!isText || (minor >= 32 && found.value !== wanted))
      throw rejected(`${name} of a drop-in must be ${wanted}`, found?.at ?? value.at, name);
  }
}
