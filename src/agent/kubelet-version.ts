/** The kubelet's version, asked of the binary itself, and asked again only when the file changes: it takes some 50 ms. */
import { isObject } from './json-record.js';

/** Which file answered, and what. */
export interface KnownBinary {
  path: string;
  /** Device, inode, size and change time: whatever replaces a binary changes one of them. */
  fingerprint: string;
  /** Such as v1.32.1. */
  version: string;
}

export function isKnownBinary(value: unknown): value is KnownBinary {
  return isObject(value) && ['path', 'fingerprint', 'version'].every((name) => typeof value[name] === 'string');
}

/** `Kubernetes v1.32.1` → `v1.32.1`; undefined when it is no such line. */
export function parseVersion(output: string): string | undefined {
  return /^Kubernetes (v\d+\.\d+\.\d+\S*)\s*$/m.exec(output)?.[1];
}
