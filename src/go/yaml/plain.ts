/** Converts parsed data (value.ts) to plain JavaScript values. */
import { YamlError } from './tokens.js';
import type { Value } from './value.js';

/** Documents may be ten times as deep; code that walks through plain values need not. */
const maxDepth = 1000;

/** Throws YamlError for data that is deeper than plain values may be. */
export function plainValue(value: Value, numberOf: (text: string) => unknown = Number, depth = 0): unknown {
  if (depth > maxDepth)
    throw new YamlError(`yaml: exceeded max depth of ${maxDepth}`, value.at.line - 1, value.at.column - 1);
  const inner = (child: Value) => plainValue(child, numberOf, depth + 1);
  switch (value.kind) {
    case 'null':
      return null;
    case 'number':
      return numberOf(value.text);
    case 'array':
      return value.items.map(inner);
    case 'object':
      // Own properties whatever their names: fromEntries never reaches a prototype.
      return Object.fromEntries(value.entries.map((entry) => [entry.key, inner(entry.value)]));
    default:
      return value.value;
  }
}
