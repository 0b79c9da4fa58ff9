/** Reads the version of the kubelet's binary. The result is cached until the file changes, since running the binary takes some 50 ms. */

import { isObject } from '../../json.js';
import { defineRecord, type JsonRecord } from '../state/json-record.js';
import type { RunCommand } from './command.js';

/** Which file answered, and what. */
export interface KnownBinary {
  path: string;
  /** Device, inode, size and change time: a replaced binary differs in one of them. */
  fingerprint: string;
  /** Such as v1.32.1. */
  version: string;
}

export const kubeletRecord = defineRecord('kubelet', isKnownBinary, { durable: false });

function isKnownBinary(value: unknown): value is KnownBinary {
  return isObject(value) && ['path', 'fingerprint', 'version'].every((name) => typeof value[name] === 'string');
}

/** `Kubernetes v1.32.1` → `v1.32.1`, `k3s version v1.32.1+k3s1 (6a322f12)` → `v1.32.1+k3s1`; undefined for any other output. */
export function parseVersion(output: string): string | undefined {
  return /^(?:Kubernetes|(?:k3s|rke2) version) (v\d+\.\d+\.\d+\S*)\s*(?:\([0-9a-f]+\))?$/m.exec(output)?.[1];
}

export interface VersionOptions {
  command: string[];
  fingerprint: string;
  run: RunCommand;
  record: JsonRecord<KnownBinary>;
}

const timeoutMs = 10_000;

/** Throws when the binary is missing or not a kubelet. */
export async function askVersion({ command, fingerprint, run, record }: VersionOptions): Promise<string> {
  const path = command.join(' ');
  const known = record.read();
  if (known?.path === path && known.fingerprint === fingerprint) return known.version;
  const { code, stdout, stderr } = await run([...command, '--version'], timeoutMs);
  const version = parseVersion(stdout);
  if (version === undefined)
    throw new Error(
      `${path} --version: expected 'Kubernetes v1.…', got exit code ${code} and ${JSON.stringify((stdout || stderr).slice(0, 200))}`,
    );
  record.write({ path, fingerprint, version });
  return version;
}
