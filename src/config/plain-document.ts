/** A document as plain data, read as Go reads it: for files that are not kubelet configs, such as a kubeconfig on a node. */
import { plainValue } from '../go/yaml/plain.js';
import { DocumentError, readDocument } from './document.js';

/** Undefined for an empty document. Throws DocumentError, also for a duplicate key. */
export function readPlain(text: string): unknown {
  const { value, duplicates } = readDocument(text);
  const twice = duplicates[0];
  if (twice) throw new DocumentError(twice.message, twice.at);
  return plainValue(value) ?? undefined;
}
