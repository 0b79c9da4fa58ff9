/**
 * JSON patch (RFC 6902), with the behaviour of Kubernetes' library: negative indices count from the end, a test for
 * null also passes on a missing value, a missing field may be replaced, copying it copies null, a missing value is
 * null, and text before the first slash of a path is ignored.
 */
import { isObject } from '../../json.js';
import { isSameJson } from '../json-equality.js';

export interface JsonPatchOperation {
  op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  path: string;
  from?: string;
  value?: unknown;
}

/** The patch is invalid, or cannot be applied to this document. */
export class JsonPatchError extends Error {}

/** Its copy operations copy more than `maxCopiedBytes`. */
export class JsonPatchCopyError extends JsonPatchError {}

/** As in kube-apiserver. Without it each copy of a parent into its child doubles the document. */
export const maxCopiedBytes = 3 << 20;

/** The document is not changed; the result may share parts with it. */
export function applyJsonPatch(document: unknown, operations: JsonPatchOperation[]): unknown {
  let root: unknown = structuredClone(document);
  const copier = new Copier();
  for (const operation of operations) root = applyOne(root, operation, copier);
  return root;
}

/** Counts the bytes that the copy operations of one patch copy. */
class Copier {
  #copiedBytes = 0;

  copy(value: unknown): unknown {
    const text = JSON.stringify(value);
    this.#copiedBytes += Buffer.byteLength(text);
    if (this.#copiedBytes > maxCopiedBytes)
      throw new JsonPatchCopyError(
        `the copy operations of a JSON patch may copy ${maxCopiedBytes} bytes, got ${this.#copiedBytes}`,
      );
    return JSON.parse(text);
  }
}

function applyOne(root: unknown, given: JsonPatchOperation | null, copier: Copier): unknown {
  const operation = given ?? ({} as JsonPatchOperation);
  const { op } = operation;
  const path = pointer(operation.path, 'path');
  switch (op) {
    case 'add':
      return add(root, path, givenValue(operation));
    case 'remove':
      return remove(root, path);
    case 'replace':
      return replace(root, path, givenValue(operation));
    case 'move': {
      const from = pointer(operation.from, 'from');
      const moved = find(root, from);
      return add(remove(root, from), path, moved);
    }
    case 'copy':
      return add(root, path, copier.copy(findOrNull(root, pointer(operation.from, 'from'))));
    case 'test':
      test(root, path, operation);
      return root;
    default:
      throw new JsonPatchError(`Unexpected kind: ${String(op)}`);
  }
}

/** A missing value is null. */
function givenValue({ value = null }: JsonPatchOperation): unknown {
  return structuredClone(value);
}

function pointer(text: unknown, field: string): string[] {
  if (typeof text !== 'string') throw new JsonPatchError(`operation has no ${field}`);
  if (text === '') return [];
  if (!text.includes('/')) throw new JsonPatchError(`${field} '${text}' has no '/'`);
  return text
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function find(root: unknown, path: string[]): unknown {
  let at = root;
  for (const part of path) {
    if (Array.isArray(at)) at = at[indexIn(at, part, at.length - 1)];
    else if (isObject(at) && Object.hasOwn(at, part)) at = at[part];
    else throw missing(path);
  }
  return at;
}

function findOrNull(root: unknown, path: string[]): unknown {
  const parent = path.length === 0 ? undefined : find(root, path.slice(0, -1));
  return isObject(parent) && !Object.hasOwn(parent, path.at(-1)!) ? null : find(root, path);
}

function add(root: unknown, path: string[], value: unknown): unknown {
  if (path.length === 0) return value;
  const parent = find(root, path.slice(0, -1));
  const last = path.at(-1)!;
  if (Array.isArray(parent)) {
    const at = last === '-' ? parent.length : indexIn(parent, last, parent.length);
    parent.splice(at, 0, value);
  } else if (isObject(parent)) define(parent, last, value);
  else throw missing(path);
  return root;
}

function remove(root: unknown, path: string[]): unknown {
  if (path.length === 0) throw new JsonPatchError('the whole document cannot be removed');
  const parent = find(root, path.slice(0, -1));
  const last = path.at(-1)!;
  if (Array.isArray(parent)) parent.splice(indexIn(parent, last, parent.length - 1), 1);
  else if (isObject(parent) && Object.hasOwn(parent, last)) delete parent[last];
  else throw missing(path);
  return root;
}

function replace(root: unknown, path: string[], value: unknown): unknown {
  if (path.length === 0) return value;
  const parent = find(root, path.slice(0, -1));
  const last = path.at(-1)!;
  if (Array.isArray(parent)) parent[indexIn(parent, last, parent.length - 1)] = value;
  else if (isObject(parent)) define(parent, last, value);
  else throw missing(path);
  return root;
}

function test(root: unknown, path: string[], operation: JsonPatchOperation): void {
  const expected = operation.value ?? null;
  let found: unknown = null;
  try {
    found = find(root, path);
  } catch (error) {
    if (!(error instanceof JsonPatchError) || expected !== null) throw error;
  }
  if (!isSameJson(found, expected)) {
    throw new JsonPatchError(`testing value ${operation.path} failed`);
  }
}

function indexIn(list: unknown[], part: string, max: number): number {
  if (!/^-?\d+$/.test(part)) throw new JsonPatchError(`'${part}' is not an array index`);
  const given = Number(part);
  const at = given < 0 ? list.length + given : given;
  if (at < 0 || at > max) throw new JsonPatchError(`index ${part} is out of bounds`);
  return at;
}

/** Also for __proto__, with which an assignment would set the prototype. */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

function missing(path: string[]): JsonPatchError {
  return new JsonPatchError(`there is nothing at /${path.join('/')}`);
}
