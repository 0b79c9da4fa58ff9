/** The kubelet's version, asked of the binary itself, and asked again only when the file changes: it takes some 50 ms. */

import { isObject } from '../../json.js';
import type { JsonRecord } from '../state/json-record.js';
import type { Host } from './host.js';

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

export interface VersionQuestionOptions {
  command: string[];
  host: Pick<Host, 'ask' | 'fingerprint'>;
  memory: { kubelet: JsonRecord<KnownBinary> };
  onAnswer?(version: string): void;
}

const timeoutMs = 10_000;

/** Throws when the binary is missing or is no kubelet. */
export function createVersionQuestion({
  command,
  host,
  memory,
  onAnswer,
}: VersionQuestionOptions): () => Promise<string> {
  const path = command.join(' ');
  return async () => {
    const fingerprint = host.fingerprint(command[0]!) ?? '';
    const known = memory.kubelet.read();
    if (known?.path === path && known.fingerprint === fingerprint) {
      onAnswer?.(known.version);
      return known.version;
    }
    const { code, stdout, stderr } = await host.ask([...command, '--version'], timeoutMs);
    const version = parseVersion(stdout);
    if (version === undefined)
      throw new Error(
        `${path} --version: expected 'Kubernetes v1.…', got exit code ${code} and ${JSON.stringify((stdout || stderr).slice(0, 200))}`,
      );
    memory.kubelet.write({ path, fingerprint, version });
    onAnswer?.(version);
    return version;
  };
}
