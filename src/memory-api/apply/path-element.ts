/**
 * One step of a field's path as text: `f:name`, `k:{"name":"a"}`, `v:"a"`, `i:0`. Made, parsed, ordered and printed
 * here.
 */

import { quote } from '../../go/quote.js';
import { isObject } from '../../json.js';

/** Go escapes these in JSON, and elements are compared as text. */
const escaped = /[<>&\u2028\u2029]/g;

export function fieldElement(name: string): string {
  return `f:${name}`;
}

/** An item of a list by the values of its keys; `keys` are in order. */
export function keyElement(keys: readonly (readonly [string, unknown])[]): string {
  return `k:{${keys.map(([name, value]) => `${goJson(name)}:${goJson(value)}`).join(',')}}`;
}

export function valueElement(value: unknown): string {
  return `v:${goJson(value)}`;
}

function goJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (text.search(escaped) < 0) return text;
  return text.replace(escaped, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Normalizes an element from outside; undefined for an unknown kind of element, which Kubernetes leaves out. Throws
 * an Error for a malformed one.
 */
export function readElement(text: string): string | undefined {
  if (text[1] !== ':') throw new Error(`missing colon: ${text}`);
  const content = text.slice(2);
  switch (text[0]) {
    case 'f':
      return text;
    case 'v':
      return valueElement(JSON.parse(content));
    case 'k': {
      const keys = JSON.parse(content) as unknown;
      if (!isObject(keys)) throw new Error(`not an object: ${text}`);
      return keyElement(Object.entries(keys).sort(([a], [b]) => compareText(a, b)));
    }
    case 'i':
      if (!/^-?\d+$/.test(content)) throw new Error(`not a number: ${text}`);
      return text;
    default:
      return undefined;
  }
}

const order = '.fkvi';

/** Fields first, then keys, values and indexes; numbers by size. Sorts in place. */
export function sortElements(elements: string[]): string[] {
  // Parsed once each: sorting compares them many times.
  let read = noneRead;
  for (const element of elements) {
    if (element[0] !== 'k' && element[0] !== 'v') continue;
    if (read === noneRead) read = new Map();
    read.set(element, JSON.parse(element.slice(2)));
  }
  return elements.sort((a, b) => compareElements(a, b, read));
}

const noneRead = new Map<string, unknown>();

function compareElements(a: string, b: string, read: ReadonlyMap<string, unknown>): number {
  if (a[0] !== b[0]) return order.indexOf(a[0]!) - order.indexOf(b[0]!);
  switch (a[0]) {
    case 'k':
      return compareKeys(read.get(a) as object, read.get(b) as object);
    case 'v':
      return compareValues(read.get(a), read.get(b));
    case 'i':
      return Number(a.slice(2)) - Number(b.slice(2));
    default:
      return compareText(a, b);
  }
}

function compareKeys(a: object, b: object): number {
  const [mine, theirs] = [Object.entries(a), Object.entries(b)];
  for (const [index, [name, value]] of mine.entries()) {
    const other = theirs[index];
    if (other === undefined) return 1;
    const found = compareText(name, other[0]) || compareValues(value, other[1]);
    if (found !== 0) return found;
  }
  return mine.length - theirs.length;
}

function compareValues(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  return compareText(JSON.stringify(a), JSON.stringify(b));
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A path as messages show it: `.spec.containers[name="a"].image`. */
export function pathText(path: readonly string[]): string {
  return path.map(elementText).join('');
}

export function elementText(element: string): string {
  const content = element.slice(2);
  switch (element[0]) {
    case 'f':
      return `.${content}`;
    case 'k': {
      const keys = Object.entries(JSON.parse(content) as object);
      return `[${keys.map(([name, value]) => `${name}=${valueText(value)}`).join(',')}]`;
    }
    case 'v':
      return `[=${valueText(JSON.parse(content))}]`;
    default:
      return `[${content}]`;
  }
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? quote(value) : JSON.stringify(value);
}
