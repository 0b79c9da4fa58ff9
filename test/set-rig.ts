/**
 * A cluster in memory with the controller and a model of its nodes: each NodeConfig is answered as an agent would, after some time on
 * a clock that the test moves. How a node behaves with a config is the test's choice.
 */
import { isDeepStrictEqual } from 'node:util';
import { onTestFinished } from 'vitest';
import { refOf } from '../src/api/config-ref.js';
import { readClaim } from '../src/api/node-annotations.js';
import { isUnset, type NodeConfig, nodeConfigs } from '../src/api/node-config.js';
import { type NodeConfigSet, type NodeConfigSetSpec, nodeConfigSets } from '../src/api/node-config-set.js';
import type { ConfigMap } from '../src/api/object.js';
import { observeRequestOf } from '../src/api/observe.js';
import { isNotFound } from '../src/api/status.js';
import { rfc3339 } from '../src/clock.js';
import { runController } from '../src/controller/controller.js';
import { newControllerCounters } from '../src/controller/metrics.js';
import type { SendNotice } from '../src/controller/notifier.js';
import type { KubeClient } from '../src/kube/client.js';
import { configMaps, nodes } from '../src/kube/resource-type.js';
import type { Transport } from '../src/kube/transport.js';
import { silentLog } from '../src/log.js';
import { startInMemoryServer } from './in-memory-server.js';
import type { ManualClock } from './manual-clock.js';
import { applyDeploy } from './node-config-cluster.js';
import { type Behaviour, reportOf } from './rig/modelled-agent.js';

/** The server in memory asks nobody who they are. */
const rigUser = 'system:anonymous';

export class SetRig {
  /** Behaviour of a node with the text of a config; `works` unless a test sets another. */
  behaviour: (node: string, text: string, configMap: ConfigMap) => Behaviour = () => 'works';
  /** Answer of a node to an analysis; undefined: it does not answer. */
  observed: (node: string, isChanged: boolean) => unknown = () => undefined;
  /** Notice sender of the controller that is started next. */
  sendNotice: SendNotice | undefined;
  readonly counters = newControllerCounters();
  readonly #assignedMs = new Map<string, { generation: number; atMs: number }>();
  #stopController = new AbortController();
  #controller: Promise<void> = Promise.resolve();

  constructor(
    readonly clock: ManualClock,
    readonly client: KubeClient,
    /** Client of the controller. */
    readonly controllerClient: KubeClient = client,
  ) {}

  startController(): void {
    this.#stopController = new AbortController();
    const { controllerClient: client } = this;
    const options = { client, namespaces: ['relet-system'], guards: 'roles', settleMs: 0, log: silentLog } as const;
    const { sendNotice } = this;
    this.#controller = runController({ ...options, sendNotice, counters: this.counters }, this.#stopController.signal);
  }

  async stopController(): Promise<void> {
    this.#stopController.abort();
    await this.#controller;
  }

  async addNodes(names: readonly string[], labels: Record<string, string> = { pool: 'gpu' }): Promise<void> {
    for (const name of names) {
      const node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } };
      await this.client.create(nodes, {}, node);
      await this.setReady(name, true);
    }
  }

  async setReady(name: string, ready: boolean): Promise<void> {
    const now = rfc3339(this.clock.now());
    const condition = {
      type: 'Ready',
      status: ready ? 'True' : 'False',
      lastTransitionTime: now,
      lastHeartbeatTime: now,
    };
    const status = { conditions: [condition], nodeInfo };
    await this.client.patch(nodes, { name, subresource: 'status' }, { status }, { as: 'merge' });
  }

  apply(name: string, spec: Partial<NodeConfigSetSpec> & Pick<NodeConfigSetSpec, 'config'>): Promise<NodeConfigSet> {
    const set = {
      apiVersion: 'relet.dev/v1alpha1',
      kind: 'NodeConfigSet',
      metadata: { name },
      spec: { selector: { matchLabels: { pool: 'gpu' } }, ...spec },
    };
    const options = { as: 'apply', fieldManager: 'git', force: true } as const;
    return this.client.patch<NodeConfigSet>(nodeConfigSets, { name }, set, options);
  }

  set = (name: string): Promise<NodeConfigSet> => this.client.get<NodeConfigSet>(nodeConfigSets, { name });

  /** Requests a change of the rollout, in the name of the user of this rig. */
  async rollout(name: string, block: Record<string, object>): Promise<void> {
    const place = { name, subresource: 'status' };
    const rollout = Object.fromEntries(Object.entries(block).map(([field, one]) => [field, { ...one, by: rigUser }]));
    await this.client.patch(nodeConfigSets, place, { status: { rollout } }, { as: 'merge' });
  }

  /** The reason of the condition that is True. */
  async reason(name: string): Promise<string | undefined> {
    const { status, metadata } = await this.set(name);
    if (status?.observedGeneration !== metadata.generation) return undefined;
    const kstatus = ['Ready', 'Reconciling', 'Stalled'];
    return status?.conditions?.find((one) => one.status === 'True' && kstatus.includes(one.type))?.reason;
  }

  nodeConfig = (name: string): Promise<NodeConfig> => this.client.get<NodeConfig>(nodeConfigs, { name });

  async nodeConfigs(): Promise<NodeConfig[]> {
    return (await this.client.list<NodeConfig>(nodeConfigs)).items;
  }

  /** Node → the revision of its claim. */
  async revisions(): Promise<Record<string, string | undefined>> {
    const claim = ({ metadata }: NodeConfig) => readClaim(metadata.annotations?.['relet.dev/claim']);
    return Object.fromEntries((await this.nodeConfigs()).map((one) => [one.metadata.name, claim(one)?.revision]));
  }

  /** Moves time and lets the nodes answer, until this is so. */
  async until(what: string, satisfied: () => Promise<boolean>, stepMs = 1000, steps = 4000): Promise<void> {
    for (let step = 0; step < steps; step++) {
      if (await satisfied()) return;
      await this.clock.advance(stepMs);
      await this.answer();
    }
    const { items } = await this.client.list<NodeConfigSet>(nodeConfigSets);
    const seen = items.map(({ status }) => JSON.stringify(status, null, 1));
    throw new Error(`never: ${what}\n${seen.join('\n')}`);
  }

  untilReason(name: string, reason: string, stepMs = 1000): Promise<void> {
    return this.until(`${name} ${reason}`, async () => (await this.reason(name)) === reason, stepMs);
  }

  async answer(): Promise<void> {
    for (const object of await this.nodeConfigs()) {
      await this.#answerOne(object);
      await this.#observe(object);
    }
  }

  async #observe(object: NodeConfig): Promise<void> {
    const request = observeRequestOf(object);
    const { name, annotations } = object.metadata;
    const isDue = request !== undefined && Date.parse(request.after[1]) <= this.clock.now();
    if (!isDue || object.status?.observed?.id === request.id) return;
    const isChanged = request.id.split('/')[1] === readClaim(annotations?.['relet.dev/claim'])?.revision;
    const signals = this.observed(name, isChanged);
    const place = { name, subresource: 'status' };
    const status = { observed: { id: request.id, signals } };
    if (signals !== undefined) await this.client.patch(nodeConfigs, place, { status }, { as: 'merge' });
  }

  async #answerOne(object: NodeConfig): Promise<void> {
    const { name, generation = 1 } = object.metadata;
    const nowMs = this.clock.now();
    if (this.#assignedMs.get(name)?.generation !== generation) this.#assignedMs.set(name, { generation, atMs: nowMs });
    const { atMs } = this.#assignedMs.get(name)!;
    const ref = refOf(object.spec?.configSource);
    if (ref === undefined && isUnset(object) && object.status?.config !== undefined) return;
    const configMap = ref && (await this.#configMap(ref.namespace, ref.name));
    if (ref !== undefined && configMap === undefined) return;
    const { uid, resourceVersion } = configMap?.metadata ?? {};
    const source = ref && { configMap: { ...ref, uid: uid!, resourceVersion: resourceVersion! } };
    const behaviour = configMap ? this.behaviour(name, configMap.data!.kubelet!, configMap) : 'works';
    const status = reportOf(object, { source, behaviour, atMs, nowMs });
    if (status === undefined || isDeepStrictEqual(status, object.status)) return;
    await this.client.update(nodeConfigs, { name, subresource: 'status' }, { ...object, status }).catch(() => {});
  }

  async #configMap(namespace: string, name: string): Promise<ConfigMap | undefined> {
    try {
      return await this.client.get<ConfigMap>(configMaps, { namespace, name });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

const nodeInfo = {
  ...Object.fromEntries(
    'architecture bootID containerRuntimeVersion kernelVersion kubeProxyVersion machineID operatingSystem osImage systemUUID'
      .split(' ')
      .map((name) => [name, 'x']),
  ),
  kubeletVersion: 'v1.32.0',
};

/** `through`: the transport of the controller, over that of the others. */
export async function createSetRig({ through = (transport: Transport) => transport } = {}): Promise<SetRig> {
  const { clock, plane, transport, clientOver } = await startInMemoryServer('sets');
  const client = clientOver(transport);
  const rig = new SetRig(clock, client, clientOver(through(transport)));
  onTestFinished(async () => {
    await rig.stopController();
    client.close();
    await plane.close();
  });
  await applyDeploy(client);
  rig.startController();
  return rig;
}
