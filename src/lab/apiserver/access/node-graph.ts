/**
 * Which objects belong to which node. A pod bound to a node ties the secrets, configmaps and the service account it names
 * to that node; the ConfigMap in Node.spec.configSource is tied to its node directly.
 *
 *   configmap ─┐
 *   secret    ─┼─► pod ─► node ◄─ configmap (spec.configSource)
 *   …         ─┘
 */

import type { NodeConfigSource } from '../../../api/config-ref.js';
import type { KubeObject } from '../../../api/object.js';
import { isMirrorPod, podReferences } from '../resources/pod-references.js';

export type Vertex = 'configmap' | 'secret' | 'serviceaccount' | 'pod';

export interface NodeGraphOptions {
  /**
   * automatic: the ConfigMap assigned to a node may be read by it, as in Kubernetes 1.11–1.23 with DynamicKubeletConfig.
   * manual: an administrator grants that with RBAC, as before 1.11.
   */
  configAccess: 'automatic' | 'manual';
}

export class NodeGraph {
  /** vertex → node → how many edges lead there. */
  private readonly nodes = new Map<string, Map<string, number>>();
  /** owner (a pod or a node) → its edges, to remove them later. */
  private readonly edges = new Map<string, { vertex: string; node: string }[]>();

  constructor(private readonly options: NodeGraphOptions) {}

  isRelated(node: string, vertex: Vertex, namespace: string, name: string): boolean {
    return this.nodes.get(id(vertex, namespace, name))?.has(node) ?? false;
  }

  /** Applies a stored change; `object` is undefined when it was deleted. Other resources are ignored. */
  apply(resource: string, namespace: string, name: string, object: KubeObject | undefined): void {
    if (resource === 'pods') this.replace(id('pod', namespace, name), object ? podEdges(object, namespace, name) : []);
    else if (resource === 'nodes' && this.options.configAccess === 'automatic')
      this.replace(`node//${name}`, object ? configEdges(object, name) : []);
  }

  private replace(owner: string, edges: { vertex: string; node: string }[]): void {
    for (const edge of this.edges.get(owner) ?? []) this.count(edge, -1);
    this.edges.delete(owner);
    if (edges.length > 0) this.edges.set(owner, edges);
    for (const edge of edges) this.count(edge, 1);
  }

  private count({ vertex, node }: { vertex: string; node: string }, by: 1 | -1): void {
    const counts = this.nodes.get(vertex) ?? new Map<string, number>();
    const count = (counts.get(node) ?? 0) + by;
    if (count > 0) counts.set(node, count);
    else counts.delete(node);
    if (counts.size > 0) this.nodes.set(vertex, counts);
    else this.nodes.delete(vertex);
  }
}

const id = (vertex: Vertex, namespace: string, name: string) => `${vertex}/${namespace}/${name}`;

function podEdges(pod: KubeObject, namespace: string, name: string) {
  const node = (pod.spec as { nodeName?: unknown } | undefined)?.nodeName;
  if (typeof node !== 'string' || node === '') return [];
  const edges = [{ vertex: id('pod', namespace, name), node }];
  // A node makes its own mirror pods, so a mirror pod must never give it access to anything else.
  if (isMirrorPod(pod)) return edges;
  const { configMaps, secrets, serviceAccount } = podReferences(pod);
  return [
    ...edges,
    ...configMaps.map((ref) => ({ vertex: id('configmap', namespace, ref), node })),
    ...secrets.map((ref) => ({ vertex: id('secret', namespace, ref), node })),
    ...(serviceAccount ? [{ vertex: id('serviceaccount', namespace, serviceAccount), node }] : []),
  ];
}

function configEdges(object: KubeObject, node: string) {
  const source = (object.spec as { configSource?: NodeConfigSource } | undefined)?.configSource;
  return [source?.configMap, source?.configMapRef]
    .filter((ref) => ref?.namespace && ref.name)
    .map((ref) => ({ vertex: id('configmap', ref!.namespace, ref!.name), node }));
}
