/** Parses a document to plain data, as Go would read it: for files that are not kubelet configs, such as a kubeconfig on a node. */
import { plainValue } from '../go/yaml/plain.js';
import { YamlError } from '../go/yaml/tokens.js';
import { DocumentError, readDocument } from './document.js';

/** Undefined for an empty document. Throws DocumentError, also for a duplicate key and for more than 1,000 levels. */
export function readPlain(text: string): unknown {
  const { value, duplicates } = readDocument(text);
  const twice = duplicates[0];
  if (twice) throw new DocumentError(twice.message, twice.at);
  try {
    return plainValue(value) ?? undefined;
  } catch (error) {
    if (error instanceof YamlError) throw new DocumentError(error.message, error);
    throw error;
  }
}
