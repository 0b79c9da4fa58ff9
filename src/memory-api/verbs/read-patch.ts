/** Reads the body of a PATCH by its media type. */

import { applyMergePatch } from '../../api/merge-patch.js';
import type { KubeObject } from '../../api/object.js';
import { ApiError } from '../../api/status.js';
import { type ParsedJson, parseGoJson } from '../../go/json.js';
import { JsonError } from '../../go/json-reader.js';
import { isObject } from '../../json.js';
import { applyJsonPatch, JsonPatchCopyError, JsonPatchError, type JsonPatchOperation } from '../patch/json-patch.js';
import { StrategicMergeError } from '../patch/strategic-directives.js';
import { applyStrategicMergePatch, type PatchSchema } from '../patch/strategic-merge-patch.js';
import type { DecodeStyle, Resource } from '../resource.js';
import { badRequest, plainInternal, requestEntityTooLarge } from '../status-error.js';

const maxOperations = 10_000;
/** The only error of a strategic merge patch that is a 400 in Kubernetes. */
const badRetainKeys = 'invalid patch format of retainKeys';

export interface Patch {
  apply(current: KubeObject): unknown;
  style: DecodeStyle;
  /** Strict decoding errors of the patch itself. */
  complaints: string[];
  /** The top-level fields that the patch can have changed; undefined: any. */
  touched?: ReadonlySet<string>;
}

export function readPatch(kind: 'json' | 'merge' | 'strategic', body: Buffer, resource: Resource): Patch {
  if (kind === 'json') return readOperations(body);
  return kind === 'merge' ? readMerge(body) : readStrategic(body, resource.schema as PatchSchema);
}

function readMerge(body: Buffer): Patch {
  const { value, duplicates } = parse(body);
  if (!isObject(value)) throw badRequest('a merge patch must be an object');
  return {
    apply: (current) => applyMergePatch(current, value),
    style: 'json',
    complaints: duplicates.map(duplicateField),
    touched: new Set(Object.keys(value)),
  };
}

function readStrategic(body: Buffer, schema: PatchSchema): Patch {
  const { value, duplicates } = parse(body);
  const change = value ?? {};
  if (!isObject(change)) throw badRequest('a strategic merge patch must be an object');
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
    complaints: duplicates.map(duplicateField),
  };
}

function readOperations(body: Buffer): Patch {
  const { value, duplicates } = parse(body);
  const operations = operationsOf(value ?? []);
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
    complaints: complaints.map((complaint) => `json patch ${complaint}`),
  };
}

function operationsOf(value: unknown): JsonPatchOperation[] {
  if (!Array.isArray(value) || !value.every((operation) => operation === null || isObject(operation)))
    throw badRequest('a JSON patch must be a list of operations');
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

function parse(body: Buffer): ParsedJson {
  try {
    return parseGoJson(body.toString('utf8'));
  } catch (error) {
    if (error instanceof JsonError) throw badRequest(`error decoding patch: ${error.message}`);
    throw error;
  }
}
