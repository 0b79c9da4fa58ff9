/**
 * The annotation in which client-side kubectl apply keeps what it applied: kubectl may take over those fields, and the
 * annotation is kept up to date.
 */

import type { KubeObject } from '../../api/object.js';
import { isObject } from '../../json.js';
import { checkApplied } from './check-applied.js';
import { compare } from './compare.js';
import { difference, type FieldSet, has, union } from './field-set.js';
import { fieldsOf } from './fields-of.js';
import { ItemError, type JsonMap } from './merge-schema.js';
import type { Write } from './ownership.js';

/** All annotations together; Kubernetes' limit. */
const maxAnnotationBytes = 256 << 10;
const annotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** Whether a field has the value that kubectl applied; undefined without the annotation. */
export function allowedByLastApplied({ live, schema, by }: Write): ((path: string[]) => boolean) | undefined {
  const text = annotationsOf(live)[annotation];
  if (typeof text !== 'string' || text === '') return undefined;
  try {
    const applied = JSON.parse(text) as unknown;
    if (!isObject(applied) || applied.apiVersion !== by.apiVersion) return undefined;
    if (checkApplied(applied, schema) !== undefined) return undefined;
    const { removed, modified, added } = compare(applied, live, schema);
    const same = difference(fieldsOf(applied, schema), union(union(modified, added), removed));
    return (path) => isIn(same, path);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof ItemError) return undefined;
    throw error;
  }
}

function isIn(fields: FieldSet, path: string[]): boolean {
  let at = fields;
  for (const element of path.slice(0, -1)) {
    const below = at[element];
    if (below === undefined) return false;
    at = below;
  }
  return has(at, path.at(-1)!);
}

/** Only where the annotation exists already. */
export function setLastApplied(object: KubeObject, applied: JsonMap): void {
  const annotations = object.metadata.annotations;
  if (!annotations?.[annotation]) return;
  annotations[annotation] = `${JSON.stringify(sortKeys(withoutAnnotation(applied)))}\n`;
  const bytes = Object.entries(annotations).reduce((sum, pair) => sum + Buffer.byteLength(pair.join('')), 0);
  if (bytes > maxAnnotationBytes) delete annotations[annotation];
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sortKeys(value[key])]));
}

function withoutAnnotation(applied: JsonMap): JsonMap {
  const { [annotation]: _, ...annotations } = annotationsOf(applied);
  if (!isObject(applied.metadata) || applied.metadata.annotations === undefined) return applied;
  return { ...applied, metadata: { ...applied.metadata, annotations } };
}

function annotationsOf({ metadata }: JsonMap): JsonMap {
  return isObject(metadata) && isObject(metadata.annotations) ? metadata.annotations : {};
}
