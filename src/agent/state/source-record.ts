/**
 * The text of `meta/assigned` and `meta/last-known-good`: a SerializedNodeConfigSource, or nothing for local. The last known good
 * of an overlay also names its merged document, in a field that upstream does not have.
 */
import { type ExactRef, nodeConfigSource } from '../../api/config-ref.js';
import { readPlain } from '../../config/plain-document.js';

const apiVersion = 'kubelet.config.k8s.io/v1beta1';
const kind = 'SerializedNodeConfigSource';

export function encodeSource(source: ExactRef | undefined): string {
  if (source === undefined) return '';
  if (source.uid === '') throw new Error('failed to write RemoteConfigSource, empty UID is ambiguous');
  if (source.resourceVersion === '')
    throw new Error('failed to write RemoteConfigSource, empty ResourceVersion is ambiguous');
  const fields = Object.entries(nodeConfigSource(source).configMap ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = fields.map(([name, value]) => `    ${name}: ${scalar(value)}\n`);
  return `apiVersion: ${apiVersion}\nkind: ${kind}\nsource:\n  configMap:\n${lines.join('')}`;
}

/** A name, or a uid. Everything else might be a number or a date to Go, which reads YAML 1.1 (`0x10`, `1e3`, `2001-12-14`). */
const plain = /^[A-Za-z][-._A-Za-z0-9]*$|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const otherThanText = /^(y|n|yes|no|on|off|true|false|null)$/i;

/** Without quotes where the kubelet writes none, so that a record of ours is a record of its. */
function scalar(text: string): string {
  return plain.test(text) && !otherThanText.test(text) ? text : JSON.stringify(text);
}

/** Throws when the record names nothing usable. Unknown fields are left alone: a newer relet may have written them. */
export function decodeSource(text: string): ExactRef | undefined {
  if (text.trim() === '') return undefined;
  try {
    return checkedSource(readPlain(text));
  } catch (error) {
    throw new Error(`failed to decode, error: ${(error as Error).message}`, { cause: error });
  }
}

function checkedSource(record: unknown): ExactRef | undefined {
  const { apiVersion: version, kind: recordKind, source } = asMap(record, 'the record');
  if (version !== apiVersion || recordKind !== kind)
    throw new Error(`expected ${kind} of ${apiVersion}, found ${String(recordKind)} of ${String(version)}`);
  const configMap = asMap(asMap(source, 'source').configMap, 'source.configMap');
  const field = (name: string) => {
    const value = configMap[name];
    if (typeof value !== 'string' || value === '') throw new Error(`source.configMap.${name} must be set`);
    return value;
  };
  const { mergedDigest } = configMap;
  const exact = {
    namespace: field('namespace'),
    name: field('name'),
    uid: field('uid'),
    resourceVersion: field('resourceVersion'),
    kubeletConfigKey: field('kubeletConfigKey'),
    ...(typeof mergedDigest === 'string' && /^[0-9a-f]{64}$/.test(mergedDigest) && { mergedDigest }),
  };
  // These three become names of files: a record must not be able to lead out of the directory.
  for (const part of [exact.uid, exact.resourceVersion, exact.kubeletConfigKey]) checkFileKey(part);
  return exact;
}

function asMap(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${what} is not an object`);
  return value as Record<string, unknown>;
}

/** Which ConfigMap keys, uids and versions may become names of files. */
export function checkFileKey(key: string): void {
  if (key === '') throw new Error('invalid file key: must not be empty: ""');
  if (key.includes('/') || key.includes('\0'))
    throw new Error(`invalid file key ${JSON.stringify(key)}, only base names are allowed`);
  if (key === '.' || key === '..') throw new Error("invalid file key, may not be '.' or '..'");
  if (Buffer.byteLength(key) > 255)
    throw new Error(`invalid file key ${JSON.stringify(key)}, must be less than 255 characters`);
}
