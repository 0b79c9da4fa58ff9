/**
 * A reference to a config: which key of which ConfigMap, and in which version. One type, one equality, one printer. `undefined`
 * is the local config. The field names are those of the API, so that records on disk and statuses have the same form.
 */

export interface ConfigRef {
  namespace: string;
  name: string;
  kubeletConfigKey: string;
  /** Absent in a beta spec, required in an alpha one; always set in a status and on disk. */
  uid?: string;
  /** Absent in a spec; always set in a status and on disk. */
  resourceVersion?: string;
  /** Only in the spec of a NodeConfig: SHA-256 of the bytes under the key, in lower-case hex. */
  sha256?: string;
}

/** In a status or a record: where the config is an overlay that was merged, SHA-256 of the merged document. */
export interface MergedRef extends ConfigRef {
  mergedDigest?: string;
}

/** One version of one ConfigMap, as checkpoints, records and statuses name it. */
export interface ExactRef extends MergedRef {
  uid: string;
  resourceVersion: string;
}

/** As in Node.spec.configSource, Node.status.config and NodeConfig: `configMap` is DKC beta (1.11), `configMapRef` DKC alpha (1.8). */
export interface NodeConfigSource {
  configMap?: MergedRef;
  /** An ObjectReference. The key is always `kubelet`, and the uid must match. */
  configMapRef?: { namespace: string; name: string; uid: string };
}

export interface NodeConfigStatus {
  assigned?: NodeConfigSource;
  active?: NodeConfigSource;
  lastKnownGood?: NodeConfigSource;
  error?: string;
}

const alphaKey = 'kubelet';

/** Undefined is local; so is a source without a subfield, which the node itself reports as an error. */
export function refOf(source: NodeConfigSource | undefined): MergedRef | undefined {
  const { configMap, configMapRef } = source ?? {};
  if (configMap) {
    const { namespace, name, kubeletConfigKey, uid, resourceVersion, sha256, mergedDigest } = configMap;
    // Without spreading: a list of thousands of nodes has tens of thousands of references.
    const ref: MergedRef = { namespace, name, kubeletConfigKey };
    if (uid) ref.uid = uid;
    if (resourceVersion) ref.resourceVersion = resourceVersion;
    if (sha256) ref.sha256 = sha256;
    if (mergedDigest) ref.mergedDigest = mergedDigest;
    return ref;
  }
  if (configMapRef) {
    const { namespace, name, uid } = configMapRef;
    return { namespace, name, kubeletConfigKey: alphaKey, ...(uid && { uid }) };
  }
  return undefined;
}

/** The beta form, which every server that keeps a reference accepts. */
export function nodeConfigSource(ref: MergedRef): NodeConfigSource {
  const { kubeletConfigKey, name, namespace, resourceVersion, uid, sha256, mergedDigest } = ref;
  return {
    configMap: {
      kubeletConfigKey,
      name,
      namespace,
      ...(resourceVersion && { resourceVersion }),
      ...(uid && { uid }),
      ...(sha256 && { sha256 }),
      ...(mergedDigest && { mergedDigest }),
    },
  };
}

export function isExactRef(value: unknown): value is ExactRef {
  const fields = ['namespace', 'name', 'uid', 'resourceVersion', 'kubeletConfigKey'] as const;
  return (
    typeof value === 'object' &&
    value !== null &&
    fields.every((field) => typeof (value as Record<string, unknown>)[field] === 'string')
  );
}

/**
 * `name`: the same ConfigMap and key in any version; a uid is compared where both have one. `version`: also the same
 * resourceVersion. `document`: also the same merged document. Two refs that differ only in their key are different configs,
 * though they share a checkpoint.
 */
export function sameConfig(
  a: MergedRef | undefined,
  b: MergedRef | undefined,
  by: 'name' | 'version' | 'document',
): boolean {
  if (a === undefined || b === undefined) return a === b;
  const sameName = a.namespace === b.namespace && a.name === b.name && a.kubeletConfigKey === b.kubeletConfigKey;
  const sameUid = a.uid === undefined || b.uid === undefined || a.uid === b.uid;
  const sameVersion = by === 'name' || a.resourceVersion === b.resourceVersion;
  return sameName && sameUid && sameVersion && (by !== 'document' || a.mergedDigest === b.mergedDigest);
}

/**
 * `path`: as in requests and metrics. `configMap`: NAMESPACE/NAME. `short`: NAMESPACE/NAME/KEY, which parseRef reads.
 * `log`: as the kubelet logged it.
 */
export function formatRef(ref: ConfigRef | undefined, form: 'path' | 'configMap' | 'short' | 'log'): string {
  if (ref === undefined) return form === 'log' ? 'local config' : 'local';
  const { namespace, name, kubeletConfigKey, uid, resourceVersion } = ref;
  const path = `/api/v1/namespaces/${namespace}/configmaps/${name}`;
  switch (form) {
    case 'path':
      return path;
    case 'configMap':
      return `${namespace}/${name}`;
    case 'short':
      return `${namespace}/${name}/${kubeletConfigKey}`;
    case 'log':
      return `${path}, UID: ${uid}, ResourceVersion: ${resourceVersion}`;
  }
}

/** Reads the form `short`. Undefined for `local`, and for a text of another form. */
export function parseRef(text: string): ConfigRef | undefined {
  const [namespace, name, kubeletConfigKey] = text.split('/');
  return namespace && name && kubeletConfigKey ? { namespace, name, kubeletConfigKey } : undefined;
}
