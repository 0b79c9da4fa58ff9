/** An exact config source: the one version of one ConfigMap that a record on disk, a checkpoint or a status names. */
import type { NodeConfigSource } from '../api/node-config-source.js';

export interface ExactSource {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  kubeletConfigKey: string;
}

/** A record, and what a status says: an exact source, or undefined for the local config. */
export type SourceOrLocal = ExactSource | undefined;

export function sameSource(a: SourceOrLocal, b: SourceOrLocal): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    sameVersion(a, b) && a.namespace === b.namespace && a.name === b.name && a.kubeletConfigKey === b.kubeletConfigKey
  );
}

/** Two sources that differ only in their key share one checkpoint. */
export function sameVersion(a: ExactSource, b: ExactSource): boolean {
  return a.uid === b.uid && a.resourceVersion === b.resourceVersion;
}

export function apiPath(source: { namespace: string; name: string }): string {
  return `/api/v1/namespaces/${source.namespace}/configmaps/${source.name}`;
}

/** As the kubelet prints a source in its log. */
export function describe(source: SourceOrLocal): string {
  if (source === undefined) return 'local config';
  return `${apiPath(source)}, UID: ${source.uid}, ResourceVersion: ${source.resourceVersion}`;
}

export function asNodeConfigSource({
  kubeletConfigKey,
  name,
  namespace,
  resourceVersion,
  uid,
}: ExactSource): NodeConfigSource {
  return { configMap: { kubeletConfigKey, name, namespace, resourceVersion, uid } };
}

export function isExactSource(value: unknown): value is ExactSource {
  const fields = ['namespace', 'name', 'uid', 'resourceVersion', 'kubeletConfigKey'] as const;
  return (
    typeof value === 'object' &&
    value !== null &&
    fields.every((field) => typeof (value as Record<string, unknown>)[field] === 'string')
  );
}

/** Undefined for local, and for a source that a record names incompletely. */
export function exactSource(source: NodeConfigSource | undefined): SourceOrLocal {
  return isExactSource(source?.configMap) ? source.configMap : undefined;
}
