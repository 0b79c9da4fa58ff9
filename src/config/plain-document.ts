/** A document as plain data, read as Go reads it: for files that are not kubelet configs, such as a kubeconfig on a node. */
import { DocumentError, readDocument } from './document.js';
import type { Value } from './value.js';

/** Undefined for an empty document. Throws DocumentError, also for a key that stands twice. */
export function readPlain(text: string): unknown {
  const { value, duplicates } = readDocument(text);
  const twice = duplicates[0];
  if (twice) throw new DocumentError(twice.message, twice.at);
  return plain(value) ?? undefined;
}

function plain(value: Value): unknown {
  switch (value.kind) {
    case 'null':
      return null;
    case 'number':
      return Number(value.text);
    case 'array':
      return value.items.map(plain);
    case 'object':
      // Own properties whatever their names: fromEntries never reaches a prototype.
      return Object.fromEntries(value.entries.map((entry) => [entry.key, plain(entry.value)]));
    default:
      return value.value;
  }
}
