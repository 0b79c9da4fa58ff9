/**
 * A cluster in memory with the controller and a model of its nodes: each NodeConfig is answered as an agent would, after some time on
 * a clock that the test moves. How a node behaves with a config is the test's choice.
 */
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

/** works: active after 2 s, trial of 1 min. rejects, rolls back: after 5 s. silent: never answers. */
export type Behaviour = 'works' | 'rejects' | 'rolls back' | 'silent';

const trialMs = 60_000;
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
    const status = { conditions: [condition], nodeInfo: nodeInfo };
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
    const sets = await this.client.list<NodeConfigSet>(nodeConfigSets);
    throw new Error(
      `never: ${what}\n${JSON.stringify(
        sets.items.map(({ status }) => status),
        null,
        1,
      )}`,
    );
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
    const seen = this.#assignedMs.get(name);
    if (seen?.generation !== generation) this.#assignedMs.set(name, { generation, atMs: nowMs });
    const sinceMs = nowMs - this.#assignedMs.get(name)!.atMs;
    const ref = refOf(object.spec?.configSource);
    const before = object.status?.config ?? {};
    if (ref === undefined) {
      if (!isUnset(object) || object.status?.config === undefined) await this.#report(object, { config: {} });
      return;
    }
    const text = await this.#text(ref.namespace, ref.name);
    if (text === undefined) return;
    const exact = { configMap: { ...ref, uid: text.uid, resourceVersion: text.resourceVersion } };
    const behaviour = this.behaviour(name, text.text, text.configMap);
    if (behaviour === 'silent' || sinceMs < 2000) return;
    const old = before.lastKnownGood === undefined ? {} : { lastKnownGood: before.lastKnownGood };
    const running = before.lastKnownGood === undefined ? {} : { active: before.lastKnownGood };
    if (behaviour !== 'works') {
      if (sinceMs < 5000) return;
      const error = behaviour === 'rejects' ? 'failed to validate config' : 'rolled back';
      const reason = behaviour === 'rejects' ? 'ValidationFailed' : 'CrashLoop';
      return this.#report(object, { config: { assigned: exact, ...running, ...old, error }, reason });
    }
    const isPassed = sinceMs >= 2000 + trialMs;
    const config = { assigned: exact, active: exact, ...(isPassed ? { lastKnownGood: exact } : old) };
    const endsAt = rfc3339(this.#assignedMs.get(name)!.atMs + 2000 + trialMs);
    await this.#report(object, { config, ...(!isPassed && { trial: { deaths: 0, healthySeconds: 0, endsAt } }) });
  }

  async #report(
    object: NodeConfig,
    { reason = 'ConfigActive', ...status }: { config: object; reason?: string; trial?: object },
  ) {
    const { name, generation } = object.metadata;
    const isOk = reason === 'ConfigActive';
    const others = (object.status?.conditions ?? []).filter(({ type }) => type !== 'ConfigOK');
    const known = object.status?.conditions?.find(({ type }) => type === 'ConfigOK');
    const condition = {
      type: 'ConfigOK',
      status: isOk ? 'True' : 'False',
      reason,
      message: 'modelled',
      lastTransitionTime: known?.lastTransitionTime ?? rfc3339(this.clock.now()),
    };
    const observed = object.status?.observed;
    const next = {
      observedGeneration: generation,
      ...status,
      ...(observed && { observed }),
      conditions: [...others, condition],
    };
    const { observedGeneration, config, trial, conditions } = object.status ?? {};
    if (
      JSON.stringify([
        observedGeneration,
        config,
        trial,
        conditions?.find((one) => one.type === 'ConfigOK')?.reason,
      ]) === JSON.stringify([generation, next.config, next.trial, reason])
    )
      return;
    await this.client.update(nodeConfigs, { name, subresource: 'status' }, { ...object, status: next }).catch(() => {});
  }

  async #text(namespace: string, name: string) {
    try {
      const configMap = await this.client.get<ConfigMap>(configMaps, { namespace, name });
      const { metadata, data } = configMap;
      return { text: data!.kubelet!, uid: metadata.uid!, resourceVersion: metadata.resourceVersion!, configMap };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

const nodeInfo = Object.fromEntries(
  [
    'architecture',
    'bootID',
    'containerRuntimeVersion',
    'kernelVersion',
    'kubeProxyVersion',
    'machineID',
    'operatingSystem',
    'osImage',
    'systemUUID',
  ]
    .map((name) => [name, 'x'])
    .concat([['kubeletVersion', 'v1.32.0']]),
);

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
