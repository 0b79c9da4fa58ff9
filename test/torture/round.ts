/** Rounds of torture: assignments and faults that a seed chooses, the end of all faults, and whether the node recovers. */
import { type MergedRef, refOf, sameConfig } from '../../src/api/config-ref.js';
import { type NodeConfig, nodeConfigs } from '../../src/api/node-config.js';
import type { KubeObject } from '../../src/api/object.js';
import { isNotFound } from '../../src/api/status.js';
import { systemClock } from '../../src/clock.js';
import type { KubeClient } from '../../src/kube/client.js';
import { configMaps, leases, nodes } from '../../src/kube/resource-type.js';
import { type SeededRandom, seededRandom } from '../../src/rehearsal/simulation/seeded-random.js';
import { configMapObject, point } from '../cluster/cluster-node.js';
import type { NodeObject } from '../cluster-rig.js';
import { eventually } from '../eventually.js';
import { isReady } from '../real-kubelet-rig.js';
import type { TorturedNode } from './tortured-node.js';

const name = 'node-a';
const namespace = 'relet-system';
const activeMs = 20_000;
const recoveryMs = 900_000;
const longestMs = [300, 2000, 6000, 15_000, 40_000];

/** One content of a ConfigMap. It is recognised by maxPods. */
interface Version {
  maxPods: number;
  isGood: boolean;
}

export class Torture {
  readonly #node: TorturedNode;
  readonly #admin: KubeClient;
  #maxPods = 200;
  /** By uid and resourceVersion; and all by name, since the answer to a write may be lost. */
  readonly #versions = new Map<string, Version>();
  readonly #written = new Map<string, Version[]>();

  constructor(node: TorturedNode) {
    this.#node = node;
    this.#admin = node.cluster.client('admin');
  }

  /** Without a NodeConfig nothing can be assigned. */
  begin(): Promise<unknown> {
    const hasBegun = async () => {
      await this.#admin.get(nodeConfigs, { name });
      return this.#isReadySince(0);
    };
    return eventually('the Node is Ready', hasBegun, { limitMs: recoveryMs });
  }

  async round(seed: string, report: (text: string) => void) {
    const random = seededRandom(seed);
    const actions: string[] = [];
    const faults: string[] = [];
    await Promise.all([this.#act(random.stream('actions'), actions), this.#break(random.stream('faults'), faults)]);
    report(`${actions.join(', ')} | ${faults.join(', ')} | `);
    const healedMs = systemClock.now();
    const runs = await eventually('the node recovers', () => this.#recovered(healedMs), { limitMs: recoveryMs });
    return { actions, faults, runs, recoveredMs: systemClock.now() - healedMs };
  }

  /** Each on another target, for a while. */
  async #break(random: SeededRandom, done: string[]): Promise<void> {
    const targets = new Map<string, string>();
    for (let more = 1 + random.below(4); more > 0; more--) {
      const fault = random.pick(Object.keys(this.#node.faults));
      targets.set(fault.split(' ')[0]!, fault);
    }
    const hold = async ([fault, atMs, forMs]: [string, number, number]) => {
      await systemClock.sleep(atMs);
      const end = await this.#node.faults[fault]!();
      done.push(`${fault} at ${seconds(atMs)} for ${seconds(forMs)}`);
      await systemClock.sleep(forMs);
      await end();
    };
    const times = () => [random.number() * activeMs, random.pick(longestMs) * random.number()] as const;
    await Promise.all([...targets.values()].map((fault) => hold([fault, ...times()])));
  }

  async #act(random: SeededRandom, done: string[]): Promise<void> {
    for (let more = 1 + random.below(3); more > 0; more--) {
      const [what, write] = this.#action(random);
      const lost = await write().then(
        () => '',
        () => ' (no answer)',
      );
      done.push(what + lost);
      await systemClock.sleep((random.number() * activeMs) / 2);
    }
  }

  #action(random: SeededRandom): [what: string, write: () => Promise<unknown>] {
    const used = [...this.#written.keys()].slice(-8);
    const choices = ['new', 'new', 'new', 'edit', 'edit', 'back', 'reset', 'delete'];
    const choice = used.length === 0 ? 'new' : random.pick(choices);
    const newest = random.pick(used.slice(-2));
    if (choice === 'reset') return [choice, () => point(this.#admin, name, undefined)];
    if (choice === 'back') return this.#backTo(random.pick(used));
    if (choice === 'delete')
      return [`${choice} ${newest}`, () => this.#admin.delete(configMaps, { namespace, name: newest })];

    const { kind, text, version } = this.#payload(random);
    const annotations = { 'relet.dev/skip-forecast': 'true', 'relet.dev/allow-fields': 'containerRuntimeEndpoint' };
    const place = { namespace, name: choice === 'new' ? `c-${version.maxPods}` : newest };
    const object = configMapObject(place.name, text);
    const patch = { metadata: { ...object.metadata, annotations }, data: object.data };
    this.#written.set(place.name, [...(this.#written.get(place.name) ?? []), version]);
    const write = async () => {
      const { metadata } = await (choice === 'edit'
        ? this.#admin.patch<KubeObject>(configMaps, place, patch, { as: 'merge' })
        : this.#admin.create<KubeObject>(configMaps, { namespace }, { ...object, ...patch }));
      this.#versions.set(`${metadata.uid}/${metadata.resourceVersion}`, version);
      if (choice === 'new') await point(this.#admin, name, place.name);
    };
    return [`${choice} ${place.name}: ${kind}`, write];
  }

  #backTo(earlier: string): [string, () => Promise<unknown>] {
    return [`back to ${earlier}`, () => point(this.#admin, name, earlier)];
  }

  #payload(random: SeededRandom): { kind: string; text: string; version: Version } {
    const maxPods = ++this.#maxPods;
    const { badFields, config } = this.#node;
    const bad = random.pick(Object.keys(badFields));
    const header = { apiVersion: 'relet.dev/v1alpha1', kind: 'KubeletConfigurationOverlay' };
    const overlay = (fields: object) => JSON.stringify({ ...header, config: { maxPods, ...fields } });
    const good = { 'whole config': config({ maxPods }), overlay: overlay({}) };
    const others = {
      'unknown field': config({ maxPods, noSuchField: 1 }),
      invalid: config({ maxPods, kubeAPIQPS: -1 }),
      unparsable: `{maxPods ${maxPods}`,
      [bad]: config({ maxPods, ...badFields[bad] }),
      [`overlay: ${bad}`]: overlay(badFields[bad]!),
    };
    const [kind, text] = random.pick([...Object.entries(good), ...Object.entries(good), ...Object.entries(others)]);
    return { kind, text, version: { maxPods, isGood: kind in good || kind === 'unknown field' } };
  }

  /** Returns what the node runs. Throws the first thing that is not so: the Node is Ready, and its status is true and final. */
  async #recovered(healedMs: number): Promise<string> {
    const { spec, status = {} } = await this.#admin.get<NodeConfig>(nodeConfigs, { name });
    const { error, ...refs } = status.config ?? {};
    const [assigned, active, lastKnownGood] = [refs.assigned, refs.active, refs.lastKnownGood].map(refOf);
    const wanted = refOf(spec?.configSource);
    const newest = wanted && (await this.#admin.get<KubeObject>(configMaps, wanted).catch(undefinedIfNotFound));
    const runs = await this.#node.runs();
    const facts = JSON.stringify({ wanted, newest: newest?.metadata, runs, ...status });
    const must = (isSo: boolean, what: string) => {
      if (!isSo) throw new Error(`${what}: ${facts}`);
    };
    const condition = (type: string) => status.conditions?.find((one) => one.type === type);
    must(await this.#isReadySince(healedMs), 'the Node is not Ready');
    must(condition('OnTrial')?.status !== 'True', 'a config is on trial');
    must(
      this.#possible(active).some(({ maxPods, isGood }) => isGood && maxPods === runs),
      'active is bad, or not what the kubelet runs',
    );
    must(
      this.#possible(lastKnownGood).some(({ isGood }) => isGood),
      'a bad config is last known good',
    );
    must(active === undefined || sameConfig(active, lastKnownGood, 'version'), 'active is not last known good');
    const { uid, resourceVersion } = newest?.metadata ?? {};
    if (newest !== undefined)
      must(
        sameConfig(assigned, { ...wanted!, uid: uid!, resourceVersion: resourceVersion! }, 'version'),
        'not assigned',
      );
    else if (wanted !== undefined) must(condition('ConfigOK')?.reason === 'DownloadFailed', 'not reported as missing');
    if (wanted === undefined) must(assigned === undefined && lastKnownGood === undefined, 'not reset');
    const isAssigned = sameConfig(active, assigned, 'version') && (newest === undefined) === (wanted === undefined);
    must(isAssigned === (error === undefined), 'error does not say whether the assigned config runs');
    must((condition('ConfigOK')?.status === 'True') === isAssigned, 'ConfigOK does not say whether that runs');
    const others = active === undefined ? 'local' : 'last known good';
    return isAssigned ? 'assigned' : `${others}, ${condition('ConfigOK')?.reason}`;
  }

  async #isReadySince(healedMs: number): Promise<boolean> {
    const lease = await this.#admin.get<KubeObject>(leases, { namespace: 'kube-node-lease', name });
    const { renewTime } = lease.spec as { renewTime: string };
    return isReady(await this.#admin.get<NodeObject>(nodes, { name })) && Date.parse(renewTime) >= healedMs;
  }

  /** One version, unless the answer to its write was lost. */
  #possible(ref: MergedRef | undefined): Version[] {
    if (ref === undefined) return [{ maxPods: 110, isGood: true }];
    const version = this.#versions.get(`${ref.uid}/${ref.resourceVersion}`);
    return version === undefined ? (this.#written.get(ref.name) ?? []) : [version];
  }
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

function undefinedIfNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}
