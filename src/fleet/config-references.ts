/**
 * The references from nodes to their configs, for the command line: one interface, so that nothing else knows which object holds
 * the reference. Here it is the Node itself, as in Dynamic Kubelet Configuration; node-config-references.ts has NodeConfigs.
 */

import { type NodeConfigSource, refOf, sameConfig } from '../api/config-ref.js';
import { nodeConfigs } from '../api/node-config.js';
import type { CallOptions, KubeClient } from '../kube/client.js';
import { serves } from '../kube/discovery.js';
import { nodes } from '../kube/resource-type.js';
import { watchLoop } from '../kube/watch-loop.js';
import { historyAnnotation } from './config-history.js';
import {
  type ConfigReferences,
  fromNode,
  type Node,
  nodeLists,
  ReferenceDropped,
  readable,
} from './configured-node.js';
import { nodeConfigReferences } from './node-config-references.js';

/** The references of this cluster. The server is asked which kind it has. */
export async function configReferences(client: KubeClient, options: CallOptions = {}): Promise<ConfigReferences> {
  return (await serves(client, nodeConfigs, options)) ? nodeConfigReferences(client) : nodeReferences(client);
}

function nodeReferences(client: KubeClient): ConfigReferences {
  const configured = (node: Node) => readable(fromNode(node));
  return {
    kind: 'Node',
    get: async (name, options) => configured(await client.get<Node>(nodes, { name }, options)),
    async *pages(options) {
      const list = { ...nodeLists, ...options };
      for await (const { items } of client.pages<Node>(nodes, list)) yield items.map(configured);
    },
    watch: ({ onList, onChange, onFailure, ...scope }) =>
      watchLoop<Node>(client, {
        ...scope,
        omitLists: nodeLists.omitLists,
        type: nodes,
        onList: (items) => onList(items.map(configured)),
        onChange: (type, node) => onChange(configured(node), type === 'DELETED'),
        onFailure,
      }),
    async assign(node, source, { history, ...options }) {
      const written = configured(
        await client.patch<Node>(nodes, { name: node.name }, assignPatch(node.version, source, history), {
          ...options,
          as: 'merge',
          fieldManager: 'relet',
        }),
      );
      if (!sameConfig(refOf(source), refOf(written.configSource), 'name'))
        throw new ReferenceDropped(`the server does not keep spec.configSource of Node ${JSON.stringify(node.name)}`);
      return written;
    },
  };
}

function assignPatch(resourceVersion: string, source: NodeConfigSource | undefined, history: string): object {
  // A merge keeps what it does not name, so the other dialect's field is named as null.
  const configSource = source === undefined ? null : { configMap: null, configMapRef: null, ...source };
  return { metadata: { resourceVersion, annotations: { [historyAnnotation]: history } }, spec: { configSource } };
}
