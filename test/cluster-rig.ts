/** A node in a cluster, for tests: the embedded API server on a real socket, an administrator, and an agent with a node's own certificate. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { NodeConnection } from '../src/agent/sync/connect.js';
import type { AgentLease } from '../src/api/agent-lease.js';
import type { NodeConfigSource, NodeConfigStatus } from '../src/api/config-ref.js';
import type { NodeCondition } from '../src/api/node-condition.js';
import { configLabel, configNamespace, nodeConfigs } from '../src/api/node-config.js';
import type { KubeObject } from '../src/api/object.js';
import { systemClock } from '../src/clock.js';
import { readPlain } from '../src/config/plain-document.js';
import { createClient, type KubeClient } from '../src/kube/client.js';
import { kubeconfigSource } from '../src/kube/identity.js';
import { systemFileReader } from '../src/kube/kubeconfig.js';
import { configMaps, events, nodes } from '../src/kube/resource-type.js';
import { watchLoop } from '../src/kube/watch.js';
import { type ApiServer, type ApiServerOptions, startApiServer } from '../src/lab/apiserver/apiserver.js';
import { kubeconfigText } from '../src/lab/apiserver/pki/admin-kubeconfig.js';
import { createLog, silentLog } from '../src/log.js';
import { systemRandom } from '../src/random.js';
import { eventually } from './eventually.js';
import { makeClusterOfToday } from './node-config-cluster.js';
import { connectionOf, createRig, type Rig, type RigOptions } from './rig/process-node.js';

export interface NodeObject extends KubeObject {
  spec: { configSource?: NodeConfigSource };
  status: {
    config?: NodeConfigStatus;
    lease?: AgentLease;
    conditions?: NodeCondition[];
  };
}

export interface EventObject extends KubeObject {
  type: string;
  reason: string;
  message: string;
  firstTimestamp: string;
}

export class ClusterRig {
  readonly server: ApiServer;
  readonly admin: KubeClient;
  readonly nodeKubeconfig: string;
  readonly node: Rig;
  readonly name: string;
  /** Type of the object that has the node's reference. */
  readonly type: typeof nodes;
  /** Holds its configs: the controller grants those of one namespace. */
  readonly namespace: string;
  /** The Node, or the NodeConfig, as last received. */
  seen: NodeObject | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(
    name: string,
    { server, admin }: Pick<ClusterRig, 'server' | 'admin'>,
    node: Rig,
    nodeKubeconfig: string,
    { type, signal }: { type: typeof nodes; signal: AbortSignal },
  ) {
    this.name = name;
    this.type = type;
    this.namespace = type === nodes ? 'kube-system' : configNamespace;
    this.server = server;
    this.admin = admin;
    this.node = node;
    this.nodeKubeconfig = nodeKubeconfig;
    const hear = (object: NodeObject | undefined) => {
      this.seen = object;
      for (const listener of this.#listeners) listener();
    };
    void watchLoop<NodeObject>(admin, {
      type,
      name,
      signal,
      onList: ([object]) => hear(object),
      onChange: (type, object) => hear(type === 'DELETED' ? undefined : object),
      onFailure: () => {},
    });
  }

  get config(): NodeConfigStatus | undefined {
    return this.seen?.status?.config;
  }

  get condition() {
    return this.seen?.status?.conditions?.find(({ type }) => type === 'ConfigOK');
  }

  /** Called with every version of the Node that an administrator gets to see. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Resolves when the Node, as an administrator sees it, satisfies this. */
  until(what: string, satisfied: () => boolean): Promise<boolean> {
    return eventually(what, satisfied, {
      seen: () => `${JSON.stringify(this.seen?.status)}\n${this.node.log()}`,
      changes: (changed) => {
        this.#listeners.add(changed);
        return () => this.#listeners.delete(changed);
      },
    });
  }

  createConfigMap(name: string, data: Record<string, string>, more: object = {}): Promise<KubeObject> {
    // Only a NodeConfig asks for the label.
    const labels = this.type === nodes ? {} : { [configLabel]: 'true' };
    const { namespace } = this;
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels }, data, ...more };
    return this.admin.create(configMaps, { namespace }, object);
  }

  patchConfigMap(name: string, patch: object): Promise<KubeObject> {
    return this.admin.patch(configMaps, { namespace: this.namespace, name }, patch, { as: 'merge' });
  }

  deleteConfigMap(name: string): Promise<unknown> {
    return this.admin.delete(configMaps, { namespace: this.namespace, name });
  }

  /** Sets spec.configSource; null removes it. */
  assign(configSource: object | null): Promise<NodeObject> {
    // A merge keeps fields of the form before, so the field is replaced whole.
    const patch =
      configSource === null
        ? { spec: { configSource: null } }
        : [{ op: 'add', path: '/spec/configSource', value: configSource }];
    return this.admin.patch<NodeObject>(this.type, { name: this.name }, patch, {
      as: configSource === null ? 'merge' : 'json',
    });
  }

  point(name: string, kubeletConfigKey = 'kubelet'): Promise<NodeObject> {
    return this.assign({ configMap: { namespace: this.namespace, name, kubeletConfigKey } });
  }

  /** Assigns a new ConfigMap with a config that the fake kubelet runs well with, and waits until it is active. */
  async activate(name: string, ...orders: string[]): Promise<KubeObject> {
    const configMap = await this.createConfigMap(name, { kubelet: this.node.config(...orders) });
    await this.point(name);
    await this.until('active', () => this.config?.active?.configMap?.name === name);
    return configMap;
  }

  /** Puts the node's kubeconfig where it belongs, as TLS bootstrap would. */
  async connect(): Promise<void> {
    writeFileSync(this.nodeKubeconfig, await nodeKubeconfigText(this.server, this.name));
  }

  async events(): Promise<EventObject[]> {
    const { items } = await this.admin.list<EventObject>(events, { namespace: 'default' });
    return items;
  }
}

export const nodeName = 'node-a';

export interface ClusterRigOptions {
  server?: ApiServerOptions;
  node?: RigOptions;
  /** Default true: the agent runs when this returns. */
  boot?: boolean;
  /** How often the agent may ask whether NodeConfigs are served. */
  askAgainMs?: number;
  /** Default node-a. */
  name?: string;
  /** One more node in the cluster of this rig. */
  beside?: ClusterRig;
  /** Default Node. NodeConfig: Kubernetes 1.26 and later, whose server keeps no reference in Nodes. */
  through?: 'Node' | 'NodeConfig';
}

export async function createClusterRig(options: ClusterRigOptions = {}): Promise<ClusterRig> {
  const { name = nodeName, through = 'Node' } = options;
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const cluster =
    options.beside ?? (await startCluster({ dynamicKubeletConfig: through === 'Node', ...options.server }));
  const { server, admin } = cluster;
  await admin.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  let connection: NodeConnection;
  const node = await createRig({
    connect: (signal) => connection.connect(signal),
    certificateExpired: () => connection.certificateExpired(),
    ...options.node,
  });
  const nodeKubeconfig = join(node.dir, '..', 'kubeconfig');
  writeFileSync(nodeKubeconfig, await nodeKubeconfigText(server, name));
  connection = connectionOf(node, {
    kubeconfig: nodeKubeconfig,
    hostnameOverride: undefined,
    hostname: name,
    ...(options.askAgainMs !== undefined && { askAgainMs: options.askAgainMs }),
  });
  if (through === 'NodeConfig') await makeClusterOfToday(server, admin, join(node.dir, '..'));
  const type = through === 'Node' ? nodes : nodeConfigs;
  const rig = new ClusterRig(name, cluster, node, nodeKubeconfig, { type, signal: stop.signal });
  if (options.boot ?? true) {
    node.boot();
    await rig.until('first status', () => rig.config !== undefined);
  }
  return rig;
}

async function startCluster(options: ApiServerOptions | undefined): Promise<Pick<ClusterRig, 'server' | 'admin'>> {
  const log = process.env.DEBUG_SERVER
    ? createLog({ format: 'text', level: 'debug', write: (line) => process.stderr.write(line) })
    : silentLog;
  const server = await startApiServer({ log, ...options });
  onTestFinished(() => server.close());
  return { server, admin: clientFor(server.kubeconfig) };
}

export function clientFor(kubeconfig: string): KubeClient {
  const source = kubeconfigSource({
    paths: [kubeconfig],
    readYaml: readPlain,
    files: systemFileReader,
    env: {},
    clock: systemClock,
    log: silentLog,
  });
  return createClient({ source, clock: systemClock, random: systemRandom, userAgent: 'relet-test' });
}

async function nodeKubeconfigText(server: ApiServer, name: string): Promise<string> {
  const client = await server.pki.issueNodeClient(name);
  return kubeconfigText({ server: server.url, ca: server.pki.ca, user: `system:node:${name}`, client });
}
