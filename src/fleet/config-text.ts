/**
 * Serializes a running config so that a kubelet reads it back with the same meaning. `/configz` omits empty lists and maps, but a
 * kubelet would default an omitted field: where the default is not empty, the field is written out. Unknown fields of a newer kubelet
 * are kept.
 */
import { DecodeError, decode } from '../config/decode.js';
import { setDefaults } from '../config/defaults.js';
import { readDocument } from '../config/document.js';
import { header } from '../config/header.js';
import type { KubeletConfig, Minor } from '../config/model.js';
import { type StructShape, shapeOf } from '../config/shape.js';
import { plainValue } from '../go/yaml/plain.js';
import { YamlError } from '../go/yaml/tokens.js';
import type { Value } from '../go/yaml/value.js';
import { asYaml } from '../go/yaml/write.js';
import { isObject } from '../json.js';

/** From the answer of `/configz`: as it would be written by hand, with what configz hides. Throws when it is none. */
export function readConfigz(answer: string, minor: Minor): KubeletConfig {
  const parsed = exactly(readDocument(answer).value);
  const shown = isObject(parsed) ? parsed.kubeletconfig : undefined;
  if (!isObject(shown)) throw new Error('the answer of /configz has no kubeletconfig in it');
  const document: KubeletConfig = { ...header, ...shown, ...header };
  const decoded = decode(asYaml(document), { minor, strict: false }).config;
  const read = setDefaults(decoded, minor);
  const shape = shapeOf(minor);
  writeEmpty(decoded, read, shape, [], document);
  return inOrder(document, shape);
}

/** Content of a document, with the fields that relet does not know. Throws DecodeError when a kubelet of that minor could not read it. */
export function readWritten(text: string, minor: Minor): KubeletConfig {
  const { config, isAlpha } = decode(text, { minor, strict: false });
  const parsed = exactly(readDocument(text, minor).value);
  const written = isAlpha || !isObject(parsed) ? config : parsed;
  return inOrder({ ...header, ...written, ...header }, shapeOf(minor));
}

/** Equal configs give equal texts, so that nodes share a ConfigMap. */
export const asConfigText = (document: KubeletConfig, minor: Minor): string =>
  asYaml(inOrder({ ...header, ...document, ...header }, shapeOf(minor)));

/** Integers beyond 2^53 are real here, and JSON.parse would round them. Throws DecodeError for data that is too deep to edit. */
function exactly(value: Value): unknown {
  try {
    return plainValue(value, (text) =>
      /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text)) ? BigInt(text) : Number(text),
    );
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const { message, line, column } = error;
    throw new DecodeError(message, [{ severity: 'error', source: 'relet', path: '', line, column, message }]);
  }
}

/** Lists and maps that are empty where their default is not. `shown` is what configz shows, `read` what a kubelet makes of exactly that. */
function writeEmpty(
  shown: KubeletConfig,
  read: KubeletConfig,
  shape: StructShape,
  path: string[],
  document: KubeletConfig,
): void {
  for (const [name, child] of shape.fields) {
    const field = [...path, name];
    const [mine, theirs] = [shown[name] ?? null, read[name] ?? null];
    if (theirs === null) continue;
    if (child.kind === 'struct')
      writeEmpty((mine ?? {}) as KubeletConfig, theirs as KubeletConfig, child, field, document);
    else if ((child.kind === 'list' || child.kind === 'map') && mine === null && Object.keys(theirs).length > 0)
      put(document, field, child.kind === 'list' ? [] : {});
  }
}

function put(document: KubeletConfig, path: string[], value: unknown): void {
  let parent = document;
  for (const part of path.slice(0, -1)) {
    if (!isObject(parent[part])) parent[part] = {};
    parent = parent[part] as KubeletConfig;
  }
  parent[path.at(-1)!] = value;
}

/** Header first, then as the fields are declared, then what we do not know. */
function inOrder(document: KubeletConfig, { fields }: StructShape): KubeletConfig {
  const known = [...Object.keys(header), ...fields.keys()].filter((name) => Object.hasOwn(document, name));
  return Object.fromEntries([...new Set([...known, ...Object.keys(document)])].map((name) => [name, document[name]]));
}
