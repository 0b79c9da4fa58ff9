/** The reference from a node to its config, as in Node.spec.configSource and Node.status.config: beta and alpha forms. */

/** Beta (1.11+). In spec uid and resourceVersion are absent; in status and on disk all five fields are set. */
export interface ConfigMapSource {
  namespace: string;
  name: string;
  kubeletConfigKey: string;
  uid?: string;
  resourceVersion?: string;
  /** Only in a NodeConfig's spec: what the bytes under the key must hash to, in lower-case hex. */
  sha256?: string;
}

/** Alpha (1.8–1.10): an ObjectReference; the key is always `kubelet` and the uid must match. */
export interface ConfigMapRef {
  namespace: string;
  name: string;
  uid: string;
}

export interface NodeConfigSource {
  configMap?: ConfigMapSource;
  configMapRef?: ConfigMapRef;
}

export interface NodeConfigStatus {
  assigned?: NodeConfigSource;
  active?: NodeConfigSource;
  lastKnownGood?: NodeConfigSource;
  error?: string;
}
