/** The NodeConfig that the controller makes for a Node that has none. Pure. */
import { type NodeConfig, undecidedAnnotation } from '../api/node-config.js';
import type { NodeConfigSource } from '../api/node-config-source.js';
import type { KubeObject } from '../api/object.js';

/**
 * What the Node itself refers to, on a server that keeps that, is carried over: nodes that change to NodeConfigs lose
 * nothing. Otherwise it says nothing, neither a config nor local, until somebody decides.
 */
export function nodeConfigFor(node: KubeObject): NodeConfig {
  const { name, uid = '' } = node.metadata;
  const configSource = carriedOver((node.spec as { configSource?: NodeConfigSource } | undefined)?.configSource);
  return {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfig',
    metadata: {
      name,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }],
      ...(configSource === undefined && { annotations: { [undecidedAnnotation]: 'true' } }),
    },
    spec: configSource === undefined ? {} : { configSource },
  };
}

function carriedOver({ configMap, configMapRef }: NodeConfigSource = {}): NodeConfigSource | undefined {
  const { namespace, name } = configMap ?? configMapRef ?? {};
  if (!namespace || !name) return undefined;
  return { configMap: { namespace, name, kubeletConfigKey: configMap?.kubeletConfigKey ?? 'kubelet' } };
}
