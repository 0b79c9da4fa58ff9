/** A cluster for an operator's tests: the API server as a process, nodes whose part the test plays, and relet in a pipe or on a terminal. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, type ConfigErrorReason } from '../src/api/config-error.js';
import type { NodeConfigSource, NodeConfigStatus } from '../src/api/config-ref.js';
import { causeAnnotation, causeText, pinnedByFlagsAnnotation } from '../src/api/node-annotations.js';
import { configNamespace, nodeConfigs } from '../src/api/node-config.js';
import type { KubeObject } from '../src/api/object.js';
import { betaError } from '../src/api/upstream-words.js';
import { systemClock } from '../src/clock.js';
import { check } from '../src/config/check.js';
import { encode } from '../src/config/encode.js';
import { mergeOverlay } from '../src/config/merge.js';
import type { KubeletConfig } from '../src/config/model.js';
import { isOverlay } from '../src/config/overlay.js';
import type { KubeClient } from '../src/kube/client.js';
import { configMaps, events, nodes } from '../src/kube/resource-type.js';
import { watchLoop } from '../src/kube/watch.js';
import { openPki } from '../src/lab/apiserver/pki/pki.js';
import { silentLog } from '../src/log.js';
import { systemRandom } from '../src/random.js';
import { clientFor } from './cluster-rig.js';
import { applyDeploy } from './node-config-cluster.js';
import { Program, runRelet, startRelet } from './program.js';
import { executable, type Outcome } from './run-relet.js';

export const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

export const overlayHeader = 'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\n';

export interface RunOptions {
  stdin?: string;
  env?: Record<string, string>;
  cwd?: string;
}

type Keys = string | (() => Promise<string>);

interface AssignedConfigMap {
  data: Record<string, string>;
  immutable?: boolean;
  metadata: { labels?: object };
}

export class OperatorCluster {
  readonly dir: string;
  readonly kubeconfig: string;
  readonly url: string;
  readonly admin: KubeClient;
  /** The API server. */
  readonly server: Program;
  readonly #nodes: PlayedNode[] = [];

  private constructor(dir: string, server: Program) {
    this.dir = dir;
    this.url = /^url: (.*)$/m.exec(server.stdout)![1]!;
    this.kubeconfig = /^kubeconfig: (.*)$/m.exec(server.stdout)![1]!;
    this.admin = clientFor(this.kubeconfig);
    this.server = server;
  }

  static async start(...flags: string[]): Promise<OperatorCluster> {
    const cluster = await OperatorCluster.#empty(...flags);
    const namespaces = { group: '', version: 'v1', resource: 'namespaces' };
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: configNamespace } };
    await cluster.admin.create(namespaces, {}, namespace);
    return cluster;
  }

  /** With NodeConfigs and sets: all that deploy/ brings. */
  static async startWithDeploy(): Promise<OperatorCluster> {
    const cluster = await OperatorCluster.#empty();
    await applyDeploy(cluster.admin);
    return cluster;
  }

  static async #empty(...flags: string[]): Promise<OperatorCluster> {
    const dir = mkdtempSync(join(tmpdir(), 'relet-operator-'));
    const server = startRelet(['apiserver', '--data-dir', dir, '--port', '0', '--storage', 'memory', ...flags]);
    await server.printed(/^ready$/m);
    return new OperatorCluster(dir, server);
  }

  /** A file where relet runs; its name. */
  file(name: string, text: string): string {
    writeFileSync(join(this.dir, name), text);
    return name;
  }

  /** Stores a config with `relet push`; the name of its ConfigMap. */
  async push(text: string): Promise<string> {
    const { stdout } = await this.relet('push - -o name', { stdin: text });
    return stdout.trim().replace('configmap/', '');
  }

  /** The ConfigMap that a node is assigned. */
  async sourceOf(node: string): Promise<string | undefined> {
    return (await this.object(node)).spec.configSource?.configMap?.name;
  }

  async payloadOf(node: string) {
    const place = { namespace: 'relet-system', name: (await this.sourceOf(node))! };
    const configMap = await this.admin.get<AssignedConfigMap>(configMaps, place);
    return { ...configMap, text: configMap.data.kubelet! };
  }

  async close(): Promise<void> {
    for (const node of this.#nodes) node.close();
    this.admin.close();
    await this.server.end();
    rmSync(this.dir, { recursive: true, force: true });
  }

  async node(name: string, options: PlayedOptions = {}): Promise<PlayedNode> {
    const node = await PlayedNode.register(this, name, options);
    this.#nodes.push(node);
    return node;
  }

  /** A Node that nothing reports on, and its NodeConfig. */
  async nodeWithConfig(name: string, labels: Record<string, string> = {}, annotations: object = {}): Promise<void> {
    await this.node(name, { labels, does: 'deaf' });
    const metadata = { name, annotations };
    await this.admin.create(nodeConfigs, {}, { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig', metadata });
  }

  environment(more: Record<string, string> = {}): Record<string, string> {
    return {
      PATH: process.env.PATH!,
      HOME: this.dir,
      KUBECONFIG: this.kubeconfig,
      TMPDIR: this.dir,
      TERM: 'xterm',
      ...more,
    };
  }

  /** In a pipe. A string is split at spaces. */
  relet(args: string | string[], { stdin = '', env, cwd }: RunOptions = {}): Promise<Outcome> {
    return runRelet(typeof args === 'string' ? args.split(' ') : args, {
      env: this.environment(env),
      cwd: cwd ?? this.dir,
      input: stdin,
    });
  }

  /** On a terminal of 80 columns. `keys`: what is typed, or done and then typed, as soon as a text has appeared, in order. */
  async terminal(args: string[], { env, keys = [] }: RunOptions & { keys?: [after: string, keys: Keys][] } = {}) {
    const quoted = [process.execPath, executable, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
    const command = `stty cols 80 rows 24; exec ${quoted.join(' ')}`;
    const terminal = new Program('script', ['-qefc', command, '/dev/null'], {
      env: this.environment(env),
      cwd: this.dir,
      input: 'typed later',
    });
    let from = 0;
    const waiting = [...keys];
    const typing: Promise<void>[] = [];
    terminal.onOutput(() => {
      const screen = terminal.stdout;
      for (let next = waiting[0]; next !== undefined && screen.includes(next[0], from); next = waiting[0]) {
        from = screen.indexOf(next[0], from) + next[0].length;
        const [, typed] = next;
        typing.push(Promise.resolve(typeof typed === 'string' ? typed : typed()).then((text) => terminal.type(text)));
        waiting.shift();
      }
    });
    const { status, stdout } = await terminal.ended;
    await Promise.all(typing);
    return { status, screen: stdout.replaceAll('\r\n', '\n') };
  }

  async object(name: string): Promise<NodeObject> {
    return this.admin.get<NodeObject>(nodes, { name });
  }

  async configMapNames(): Promise<string[]> {
    const { items } = await this.admin.list(configMaps, { labelSelector: 'relet.dev/kubelet-config=true' });
    return items.map(({ metadata }) => metadata.name);
  }
}

interface NodeObject extends KubeObject {
  spec: { configSource?: NodeConfigSource };
  status: { config?: NodeConfigStatus };
}

export interface PlayedOptions {
  labels?: Record<string, string>;
  version?: string;
  config?: KubeletConfig;
  /** Kubelet flags that win over any config. */
  flags?: string[];
  /** Fields that its relet reports as pinned by flags. */
  pinned?: string[];
  /** Reaction of the node to a config. `deaf`: nothing reports there. */
  does?: 'run' | 'prove' | 'refuse' | 'roll back' | 'deaf';
}

/** A Node that follows its reference as relet on a host would, and answers on /configz. */
export class PlayedNode {
  readonly name: string;
  does: NonNullable<PlayedOptions['does']>;
  #effective: KubeletConfig;
  #reported: NodeConfigStatus = {};
  readonly #cluster: OperatorCluster;
  readonly #options: PlayedOptions;
  readonly #server: Server;
  readonly #ended = new AbortController();

  private constructor(cluster: OperatorCluster, name: string, options: PlayedOptions, server: Server) {
    this.name = name;
    this.does = options.does ?? 'run';
    this.#cluster = cluster;
    this.#options = options;
    this.#server = server;
    this.#effective = this.#read(encode(options.config ?? {}));
  }

  static async register(cluster: OperatorCluster, name: string, options: PlayedOptions): Promise<PlayedNode> {
    const pki = await openPki({
      dir: join(cluster.dir, 'pki'),
      bindAddress: '127.0.0.1',
      log: silentLog,
      clock: systemClock,
      random: systemRandom,
    });
    const serving = await pki.issueKubeletServing(name, ['127.0.0.1']);
    const server = createServer(serving, (request, response) => {
      if (request.url !== '/configz') return void response.writeHead(404).end();
      response.writeHead(200, { 'content-type': 'application/json' }).end(played.configz());
    });
    const played = new PlayedNode(cluster, name, options, server);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    const annotations = options.pinned && { [pinnedByFlagsAnnotation]: options.pinned.join(',') };
    await cluster.admin.create(
      nodes,
      {},
      { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: options.labels ?? {}, annotations } },
    );
    await cluster.admin.patch(nodes, { name, subresource: 'status' }, nodeStatus(port, options), { as: 'merge' });
    if (played.does !== 'deaf') await played.report({});
    played.#follow();
    return played;
  }

  /** As a kubelet: empty lists and maps are not there. */
  configz(): string {
    const { apiVersion: _, kind: __, ...shown } = JSON.parse(encode(withoutEmpty(this.#effective) as KubeletConfig));
    return JSON.stringify({ kubeletconfig: shown });
  }

  async report(status: NodeConfigStatus): Promise<void> {
    this.#reported = status;
    const { assigned = null, active = null, lastKnownGood = null, error = null } = status;
    await this.#cluster.admin.patch(
      nodes,
      { name: this.name, subresource: 'status' },
      { status: { config: { assigned, active, lastKnownGood, error } } },
      { as: 'merge' },
    );
  }

  close(): void {
    this.#ended.abort();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** As its kubelet would with its flags; an overlay is merged into the local config first. */
  #read(text: string): KubeletConfig {
    const { flags = [], version = 'v1.32.1', config = {} } = this.#options;
    const minor = Number(/1\.(\d+)/.exec(version)![1]);
    const local = [{ path: '/etc/kubernetes/kubelet.yaml', text: encode(config) }];
    return check(isOverlay(text) ? mergeOverlay({ minor, local, overlay: text }).text : text, { minor, flags })
      .effective!;
  }

  #follow(): void {
    let last = 'undefined';
    const see = (node: NodeObject | undefined) => {
      const asked = JSON.stringify(node?.spec?.configSource) ?? 'undefined';
      if (asked === last || this.does === 'deaf') return;
      last = asked;
      void this.#apply(node?.spec?.configSource).catch((error) => {
        if (!this.#ended.signal.aborted) throw error;
      });
    };
    void watchLoop<NodeObject>(this.#cluster.admin, {
      type: nodes,
      name: this.name,
      signal: this.#ended.signal,
      onList: ([node]) => see(node),
      onChange: (_type, node) => see(node),
      onFailure: () => {},
    });
  }

  async #apply(source: NodeConfigSource | undefined): Promise<void> {
    const { active, lastKnownGood } = this.#reported;
    const before = { ...(active && { active }), ...(lastKnownGood && { lastKnownGood }) };
    if (source?.configMap === undefined) {
      await this.report(before);
      this.#effective = this.#read(encode(this.#options.config ?? {}));
      return this.report({});
    }
    const { namespace, name, kubeletConfigKey } = source.configMap;
    const configMap = await this.#cluster.admin.get<KubeObject>(configMaps, { namespace, name });
    const { uid, resourceVersion } = configMap.metadata;
    const exact: NodeConfigSource = {
      configMap: { namespace, name, kubeletConfigKey, uid: uid!, resourceVersion: resourceVersion! },
    };
    if (this.does === 'refuse') return this.#fail('StartWouldFail', { ...before, assigned: exact });
    await this.report({ ...before, assigned: exact });
    if (this.does === 'roll back') return this.#fail('CrashLoop', { ...before, assigned: exact });
    this.#effective = this.#read((configMap.data as Record<string, string>)[kubeletConfigKey]!);
    await this.report({
      ...before,
      assigned: exact,
      active: exact,
      ...(this.does === 'prove' && { lastKnownGood: exact }),
    });
  }

  /** With its cause, which belongs to this error and this config. */
  async #fail(reason: ConfigErrorReason, status: NodeConfigStatus): Promise<void> {
    const failed = { ...status, error: betaError(new ConfigError(reason, '')) };
    const annotations = { [causeAnnotation]: causeText(failed, 'port 10250 is taken') };
    await this.#cluster.admin.patch(nodes, { name: this.name }, { metadata: { annotations } }, { as: 'merge' });
    await this.#cluster.admin.create(
      events,
      { namespace: 'default' },
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { namespace: 'default', name: `${this.name}.${process.hrtime.bigint().toString(16)}` },
        involvedObject: { kind: 'Node', name: this.name, uid: this.name },
        type: 'Warning',
        reason: reason === 'StartWouldFail' ? 'KubeletConfigRejected' : 'KubeletConfigRolledBack',
        message: failed.error,
        lastTimestamp: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
      },
    );
    await this.report(failed);
  }
}

function nodeStatus(port: number, { version = 'v1.32.1' }: PlayedOptions): object {
  return {
    status: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
      nodeInfo: { kubeletVersion: version },
      conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-01T00:00:00Z' }],
    },
  };
}

function withoutEmpty(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const kept = Object.entries(value).filter(
    ([, child]) => child !== null && !(typeof child === 'object' && Object.keys(child).length === 0),
  );
  return Object.fromEntries(kept.map(([key, child]) => [key, withoutEmpty(child)]));
}
