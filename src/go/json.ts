/**
 * Checks JSON as Go's decoder does: its messages for invalid JSON, and duplicate keys. JSON.parse does the work; json-reader.ts
 * runs only for documents that are invalid or may hold a key twice.
 */
import { isObject } from '../json.js';
import { JsonError, readJson } from './json-reader.js';
import type { Value } from './yaml/value.js';

export interface ParsedJson {
  value: unknown;
  /** Paths of keys that stand twice in one object, in the order of the document: `data.k`. */
  duplicates: string[];
}

/** Go gives up at 10,000; this is deep enough for anything real and keeps recursion over what is parsed safe. */
const maxDepth = 1_000;

/** Throws JsonError. */
export function parseGoJson(text: string): ParsedJson {
  try {
    const value = JSON.parse(text);
    if (!mayHoldDuplicates(text, value)) return { value, duplicates: [] };
  } catch {
    // The reader below throws in Go's words.
  }
  const duplicates: string[] = [];
  return { value: plain(readJson(text), '', duplicates), duplicates };
}

/** Fewer keys in the value than `"…":` in the text: one was lost, or a string looks like a key. Also true for a value that is too deep. */
function mayHoldDuplicates(text: string, value: unknown): boolean {
  let written = 0;
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) {
    let before = at - 1;
    while (before >= 0 && text.charCodeAt(before) <= 32) before--;
    if (text.charCodeAt(before) === 34) written++;
  }
  return written !== countKeys(value, 0);
}

function countKeys(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (depth > maxDepth) return Number.NaN;
  let keys = 0;
  if (Array.isArray(value)) for (const item of value) keys += countKeys(item, depth + 1);
  else {
    for (const key of Object.keys(value)) keys += 1 + countKeys((value as Record<string, unknown>)[key], depth + 1);
  }
  return keys;
}

/** Adds the paths of repeated keys to `duplicates`. */
function plain(value: Value, path: string, duplicates: string[], depth = 0): unknown {
  if (depth > maxDepth) throw new JsonError('exceeded max depth', value.at);
  if (value.kind === 'null') return null;
  if (value.kind === 'number') return Number(value.text);
  if (value.kind === 'array')
    return value.items.map((item, index) => plain(item, `${path}[${index}]`, duplicates, depth + 1));
  if (value.kind !== 'object') return value.value;
  const entries = new Map<string, unknown>();
  for (const { key, value: of } of value.entries) {
    const where = path === '' ? key : `${path}.${key}`;
    const read = plain(of, where, duplicates, depth + 1);
    if (entries.has(key)) duplicates.push(where);
    entries.set(key, merged(entries.get(key), read));
  }
  // fromEntries defines properties: a key such as __proto__ stays a plain key.
  return Object.fromEntries(entries);
}

/** Go fills the same struct or map again, so the later object adds to the earlier. */
function merged(first: unknown, second: unknown): unknown {
  if (!isObject(first) || !isObject(second)) return second;
  const entries = new Map(Object.entries(first));
  for (const [key, value] of Object.entries(second)) entries.set(key, merged(entries.get(key), value));
  return Object.fromEntries(entries);
}
