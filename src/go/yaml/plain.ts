/** Read data as plain JavaScript values. */
import type { Value } from './value.js';

export function plainValue(value: Value): unknown {
  switch (value.kind) {
    case 'null':
      return null;
    case 'number':
      return Number(value.text);
    case 'array':
      return value.items.map(plainValue);
    case 'object':
      // Own properties whatever their names: fromEntries never reaches a prototype.
      return Object.fromEntries(value.entries.map((entry) => [entry.key, plainValue(entry.value)]));
    default:
      return value.value;
  }
}
