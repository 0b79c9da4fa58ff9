/** Reads the text of a document: JSON when it starts like it, YAML otherwise; and what it says it is. */
import { goQuote } from '../go/quote.js';
import { type Duplicate, readYaml } from '../go/yaml/compose.js';
import { dialectOf } from '../go/yaml/dialect.js';
import { YamlError } from '../go/yaml/tokens.js';
import type { Value } from '../go/yaml/value.js';
import { JsonError, readJson } from './json-read.js';
import { type Minor, newestMinor, type Position } from './model.js';

export interface Document {
  value: Value;
  /** Repeated keys of a YAML document; JSON's are met while its fields are read. */
  duplicates: Duplicate[];
  /** Where content begins that the kubelet does not look at. */
  ignoredAt?: Position;
}

/** `message` as the kubelet puts it after `failed to decode: `. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError';
  readonly at: Position;
  constructor(message: string, at: Position) {
    super(message);
    this.at = at;
  }
}

/** A ConfigMap holds less than 1 MiB, so nothing larger can ever reach a node this way. */
export const maxBytes = 1024 * 1024;
const start: Position = { line: 1, column: 1 };

export function readDocument(text: string, minor: Minor = newestMinor): Document {
  if (text.length >= maxBytes || Buffer.byteLength(text) >= maxBytes)
    throw new DocumentError(
      'the document is 1 MiB or more; a ConfigMap holds less, and no kubelet needs as much',
      start,
    );
  try {
    if (/^\s*\{/.test(text) && text.charCodeAt(0) !== 0xfeff) return { value: readJson(text), duplicates: [] };
    const { value, ...rest } = readYaml(text, dialectOf(minor));
    return { value: value ?? { kind: 'null', at: start }, ...rest };
  } catch (error) {
    if (error instanceof JsonError)
      throw new DocumentError(`couldn't get version/kind; json parse error: ${error.message}`, error.at);
    if (error instanceof YamlError) throw new DocumentError(error.message, { line: error.line, column: error.column });
    throw error;
  }
}

export interface Identity {
  group: string;
  version: string;
  kind: string;
}

/** apiVersion and kind, in any case as the kubelet allows for these two alone. Throws DocumentError in its words. */
export function identify(document: Value, text: string): Identity {
  const found = { apiversion: '', kind: '' };
  let at = document.at;
  if (document.kind !== 'object' && document.kind !== 'null')
    throw new DocumentError(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${document.kind} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
      document.at,
    );
  for (const { key, value } of document.kind === 'object' ? document.entries : []) {
    const name = key.toLowerCase().replace('\u212a', 'k').replace('\u017f', 's');
    if (name !== 'apiversion' && name !== 'kind') continue;
    if (value.kind === 'null') continue;
    if (value.kind !== 'string') {
      const field = name === 'kind' ? 'kind' : 'apiVersion';
      throw new DocumentError(
        `couldn't get version/kind; json parse error: json: cannot unmarshal ${value.kind} into Go struct field .${field} of type string`,
        value.at,
      );
    }
    found[name] = value.value;
    at = value.at;
  }
  const { group, version } = splitApiVersion(found.apiversion, at);
  if (found.kind === '') throw new DocumentError(`Object 'Kind' is missing in '${text}'`, document.at);
  if (version === '') throw new DocumentError(`Object 'apiVersion' is missing in '${text}'`, document.at);
  return { group, version, kind: found.kind };
}

function splitApiVersion(apiVersion: string, at: Position): { group: string; version: string } {
  if (apiVersion === '' || apiVersion === '/') return { group: '', version: '' };
  const parts = apiVersion.split('/');
  if (parts.length > 2) throw new DocumentError(`unexpected GroupVersion string: ${apiVersion}`, at);
  return parts.length === 1 ? { group: '', version: parts[0]! } : { group: parts[0]!, version: parts[1]! };
}

/** The kubelet's refusal of a kind it does not know. The name of its scheme depends on the build. */
export function notRegistered({ group, version, kind }: Identity, minor: number): string {
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const scheme = minor >= 32 ? 'pkg/kubelet/apis/config/scheme/scheme.go:33' : 'pkg/runtime/scheme.go:100';
  return `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)} in scheme ${goQuote(scheme)}`;
}
