/**
 * The name suffix that `kubectl create configmap --append-hash` gives the same data, bit for bit. Computed over Go's
 * JSON of the ConfigMap, which differs from JSON.stringify in what it escapes.
 */
import { createHash } from 'node:crypto';

export interface HashedConfigMap {
  /** The name before the suffix. */
  name: string;
  /** null stands for an object without data; kubectl create always has at least {}. */
  data: Record<string, string> | null;
  /** Values are base64, as in the API. */
  binaryData?: Record<string, string>;
  immutable?: boolean;
}

export function configMapHash(configMap: HashedConfigMap): string {
  const { name, data, binaryData, immutable } = configMap;
  const fields: string[] = [];
  if (binaryData !== undefined && Object.keys(binaryData).length > 0) fields.push(`"binaryData":${goMap(binaryData)}`);
  fields.push(`"data":${data === null ? 'null' : goMap(data)}`);
  if (immutable !== undefined) fields.push(`"immutable":${immutable}`);
  fields.push('"kind":"ConfigMap"', `"name":${goString(name)}`);
  const digest = createHash('sha256')
    .update(`{${fields.join(',')}}`)
    .digest('hex');
  return digest.slice(0, 10).replace(/[013ae]/g, (digit) => withoutVowels[digit]!);
}

export function hashedName(configMap: HashedConfigMap): string {
  return `${configMap.name}-${configMapHash(configMap)}`;
}

// Vowels and look-alikes are replaced, so that no hash spells a word.
const withoutVowels: Record<string, string> = { 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' };

function goMap(map: Record<string, string>): string {
  const keys = Object.keys(map).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${keys.map((key) => `${goString(key)}:${goString(map[key]!)}`).join(',')}}`;
}

/** Go escapes <, >, & and the two Unicode line separators; a lone surrogate becomes U+FFFD, written as an escape. */
function goString(text: string): string {
  return JSON.stringify(text)
    .replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(/\\ud[89a-f][0-9a-f]{2}/g, '\\ufffd');
}
