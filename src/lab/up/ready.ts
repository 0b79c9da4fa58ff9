/**
 * Decides when a node is Ready: its Node has the condition, its Lease was renewed since we began (an old Node is Ready too),
 * and relet on it has reported about its config, so that the first command of a person finds a node that answers.
 */
import type { NodeConfig } from '../../api/node-config.js';
import { nodeConfigs } from '../../api/node-config.js';
import type { KubeObject } from '../../api/object.js';
import type { KubeClient } from '../../kube/client.js';
import { createInformer } from '../../kube/informer.js';
import { keyOf, leases, nodes } from '../../kube/resource-type.js';

export interface Readiness {
  /** Resolves when the node is Ready. */
  ready(name: string): Promise<void>;
}

export interface ReadinessOptions {
  /** Wall-clock time; nodes and this process share one clock. */
  since: number;
  /** Nodes report in their NodeConfig; false: in their Node. */
  nodeConfig: boolean;
  signal: AbortSignal;
}

const leaseNamespace = 'kube-node-lease';

export function followReadiness(client: KubeClient, { since, nodeConfig, signal }: ReadinessOptions): Readiness {
  const waiting = new Map<string, () => void>();
  const check = (name: string) => {
    const resolve = waiting.get(name);
    if (resolve === undefined || !isReady(seen(name), since)) return;
    waiting.delete(name);
    resolve();
  };
  // The first list arrives after these lines: a check always finds every mirror.
  const common = { signal, onFailure: () => {}, backoff: { initialMs: 50, maxMs: 1000 } };
  const nodeInformer = createInformer<KubeObject>(client, { ...common, type: nodes, onKey: check });
  const onLease = (key: string) => check(key.slice(leaseNamespace.length + 1));
  const leaseInformer = createInformer<KubeObject>(client, {
    ...common,
    type: leases,
    namespace: leaseNamespace,
    onKey: onLease,
  });
  const reportInformer = nodeConfig
    ? createInformer<NodeConfig>(client, { ...common, type: nodeConfigs, onKey: check })
    : nodeInformer;
  const seen = (name: string): Seen => ({
    node: nodeInformer.get(name),
    lease: leaseInformer.get(keyOf(leaseNamed(name))),
    reporter: reportInformer.get(name),
  });
  return {
    ready: (name) =>
      new Promise((resolve) => {
        waiting.set(name, resolve);
        check(name);
      }),
  };
}

interface Seen {
  node: KubeObject | undefined;
  lease: KubeObject | undefined;
  /** The object that the node reports its config in. */
  reporter: KubeObject | undefined;
}

interface Status {
  conditions?: { type: string; status: string }[];
  config?: object;
}

/** Exported for its test. */
export function isReady({ node, lease, reporter }: Seen, since: number): boolean {
  const { conditions = [] } = (node?.status ?? {}) as Status;
  const { renewTime = '' } = (lease?.spec ?? {}) as { renewTime?: string };
  const { config, conditions: reported = [] } = (reporter?.status ?? {}) as Status;
  return (
    conditions.some(({ type, status }) => type === 'Ready' && status === 'True') &&
    (Date.parse(renewTime) || 0) >= since &&
    // A node of DKC alpha reports in its condition alone.
    (config !== undefined || reported.some(({ type }) => type === 'ConfigOK'))
  );
}

const leaseNamed = (name: string): KubeObject => ({ metadata: { name, namespace: leaseNamespace } }) as KubeObject;
