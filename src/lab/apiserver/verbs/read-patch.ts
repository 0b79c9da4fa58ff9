/** Reads the body of a PATCH by its media type, with Kubernetes' error messages. */

import { applyMergePatch } from '../../../api/merge-patch.js';
import type { KubeObject } from '../../../api/object.js';
import { ApiError } from '../../../api/status.js';
import { JsonSyntaxError, type ParsedJson, parseGoJson } from '../../../go/json.js';
import { goPrint } from '../../../go/print.js';
import { isObject } from '../../../json.js';
import type { FieldValidation } from '../http/body.js';
import { applyJsonPatch, JsonPatchCopyError, JsonPatchError, type JsonPatchOperation } from '../patch/json-patch.js';
import { type JsonObject, StrategicMergeError } from '../patch/strategic-directives.js';
import { applyStrategicMergePatch, type PatchSchema } from '../patch/strategic-merge-patch.js';
import type { DecodeStyle, Resource } from '../resource.js';
import { badRequest, plainInternal, requestEntityTooLarge } from '../status-error.js';
import { patchedText } from './patched-text.js';

const maxOperations = 10_000;
/** The only error of a strategic merge patch that is a 400 in Kubernetes. */
const badRetainKeys = 'invalid patch format of retainKeys';

export interface Patch {
  apply(current: KubeObject): unknown;
  style: DecodeStyle;
  /** The text in error messages: the patch, or the patched object. */
  shown(patched: unknown, current: KubeObject): string;
  /** Strict decoding errors of the patch itself. */
  complaints: string[];
  /** The top-level fields that the patch can have changed; undefined: any. */
  touched?: ReadonlySet<string>;
}

export function readPatch(
  kind: 'json' | 'merge' | 'strategic',
  body: Buffer,
  resource: Resource,
  fieldValidation: FieldValidation,
): Patch {
  if (kind === 'json') return readOperations(body, fieldValidation, resource.shape);
  return kind === 'merge'
    ? readMerge(body, fieldValidation, resource.shape)
    : readStrategic(body, resource.schema as PatchSchema);
}

function readMerge(body: Buffer, fieldValidation: FieldValidation, shape: string | undefined): Patch {
  const { value, duplicates } = parse(body, 'error decoding patch: ');
  // Only strict decoding checks the type first; null passes that and fails as a patch.
  if (fieldValidation !== 'Ignore' && value !== null) requireObject(value, 'error decoding patch: ');
  if (!isObject(value)) throw badRequest('Invalid JSON Patch');
  return {
    apply: (current) => applyMergePatch(current, value),
    style: 'json',
    shown: (patched, current) => patchedText(patched, current, shape),
    complaints: duplicates.map(duplicateField),
    touched: new Set(Object.keys(value)),
  };
}

function readStrategic(body: Buffer, schema: PatchSchema): Patch {
  const { value, duplicates } = parse(body, '');
  if (value !== null) requireObject(value, '');
  const change = (value ?? {}) as JsonObject;
  return {
    apply(current) {
      try {
        return applyStrategicMergePatch(current, change, schema);
      } catch (error) {
        if (error instanceof StrategicMergeError && error.message === badRetainKeys) throw badRequest(error.message);
        if (error instanceof StrategicMergeError) throw plainInternal(error.message);
        throw error;
      }
    },
    style: 'unstructured',
    shown: () => goPrint(change),
    complaints: duplicates.map(duplicateField),
  };
}

function requireObject(value: unknown, prefix: string): void {
  if (isObject(value)) return;
  throw badRequest(`${prefix}json: cannot unmarshal ${goKind(value)} into Go value of type map[string]interface {}`);
}

function readOperations(body: Buffer, fieldValidation: FieldValidation, shape: string | undefined): Patch {
  const isStrict = fieldValidation !== 'Ignore';
  const { value, duplicates } = parse(body, isStrict ? 'error decoding patch: ' : '');
  const operations = operationsOf(value ?? [], isStrict);
  if (operations.length > maxOperations) {
    throw requestEntityTooLarge(
      `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${operations.length}`,
    );
  }
  const complaints = [...duplicates.map(duplicateField), ...unknownParts(operations)];
  return {
    apply(current) {
      try {
        return applyJsonPatch(current, operations);
      } catch (error) {
        if (error instanceof JsonPatchCopyError) throw requestEntityTooLarge(error.message);
        if (!(error instanceof JsonPatchError)) throw error;
        const message = 'the server rejected our request due to an error in our request';
        throw new ApiError(422, 'Invalid', message, {}, error);
      }
    },
    style: 'json',
    shown: (patched, current) => patchedText(patched, current, shape),
    complaints: complaints.map((complaint) => `json patch ${complaint}`),
  };
}

function operationsOf(value: unknown, isStrict: boolean): JsonPatchOperation[] {
  const [list, item] = isStrict
    ? ['[]handlers.jsonPatchOp', 'handlers.jsonPatchOp']
    : ['jsonpatch.Patch', 'jsonpatch.Operation'];
  const rejection = (found: unknown, type: string) =>
    badRequest(
      `${isStrict ? 'error decoding patch: ' : ''}json: cannot unmarshal ${goKind(found)} into Go value of type ${type}`,
    );
  if (!Array.isArray(value)) throw rejection(value, list!);
  for (const operation of value) if (operation !== null && !isObject(operation)) throw rejection(operation, item!);
  return value as JsonPatchOperation[];
}

const knownParts: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

function unknownParts(operations: JsonPatchOperation[]): string[] {
  return operations.flatMap((operation, at) =>
    Object.keys(operation ?? {})
      .filter((key) => !knownParts.has(key))
      .map((key) => `unknown field "[${at}].${key}"`),
  );
}

function duplicateField(path: string): string {
  return `duplicate field "${path}"`;
}

function parse(body: Buffer, prefix: string): ParsedJson {
  try {
    return parseGoJson(body.toString('utf8'));
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw badRequest(`${prefix}${error.message}`);
    throw error;
  }
}

function goKind(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}
