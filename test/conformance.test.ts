/**
 * The conformance list, end to end: E1–E9 and A1–A3, with the agent, the embedded API server over TLS and a real child
 * process. Payloads and expectations are those of upstream's tests. Where relet repairs a weakness of upstream the repaired behaviour
 * is expected: what is refused or has equal bytes restarts nothing.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { newCounters, render } from '../src/agent/report/metrics.js';
import { resultsRecord, trialRecord } from '../src/agent/trial/trial.js';
import type { ExactRef } from '../src/api/config-ref.js';
import type { KubeObject } from '../src/api/object.js';
import { ApiError } from '../src/api/status.js';
import { nodes } from '../src/kube/resource-type.js';
import { type ClusterRig, createClusterRig, type EventObject } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { createFlowRig, sourceNamed } from './rig/memory-node.js';

const load = 'failed to load config, see Kubelet log for details';
const validate = 'failed to validate config, see Kubelet log for details';
const download = 'failed to sync: failed to download config, see Kubelet log for details';
const unparsable = '{0xdeadbeef}';
const invalid = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nkubeAPIQPS: -1\n';

const exact = ({ metadata }: KubeObject, kubeletConfigKey = 'kubelet'): ExactRef => ({
  namespace: metadata.namespace!,
  name: metadata.name,
  uid: metadata.uid!,
  resourceVersion: metadata.resourceVersion!,
  kubeletConfigKey,
});

interface Expected {
  assigned?: ExactRef | undefined;
  active?: ExactRef | undefined;
  lastKnownGood?: ExactRef | undefined;
  error?: string | undefined;
}

/** Waits until the Node says exactly this, and checks everything that must agree with it. */
async function expectState(rig: ClusterRig, expected: Expected): Promise<void> {
  await expectStatus(rig, expected);
  await expectEvent(rig, expected);
}

async function expectStatus(rig: ClusterRig, expected: Expected): Promise<void> {
  const wanted: Record<string, unknown> = {};
  for (const name of ['assigned', 'active', 'lastKnownGood'] as const)
    if (expected[name]) wanted[name] = { configMap: expected[name] };
  if (expected.error) wanted.error = expected.error;
  const text = canonical(wanted);
  await rig.until(`status ${text}`, () => rig.config !== undefined && canonical(rig.config) === text);
  const start = rig.node.starts().at(-1)!;
  if (expected.active) expect(start.config).toBe(rig.node.state.checkpoints.load(expected.active).config.toString());
  else expect(start.configFile).toBeUndefined();
  if (expected.error) expect(rig.node.log()).toContain(expected.error);
  expectMetrics(rig, expected);
}

/** The four of upstream say the same as the status. */
function expectMetrics(rig: ClusterRig, expected: Expected): void {
  const { report } = rig.node.reporter;
  const text = render({ report, counters: newCounters(), trialSeconds: undefined, held: false });
  const series = Object.entries({ assigned: 'assigned', active: 'active', lastKnownGood: 'last_known_good' } as const);
  for (const [field, name] of series) {
    const { namespace, name: map, uid = '', ...source } = { ...expected[field as 'active'] };
    const path = namespace === undefined ? 'local' : `/api/v1/namespaces/${namespace}/configmaps/${map}`;
    const { kubeletConfigKey: key = '', resourceVersion: version = '' } = source;
    const labels = `node_config_kubelet_key="${key}",node_config_resource_version="${version}",node_config_source="${path}",node_config_uid="${uid}"`;
    const found = text.split('\n').filter((line) => line.startsWith(`kubelet_node_config_${name}{`));
    expect(found).toEqual([`kubelet_node_config_${name}{${labels}} 1`]);
  }
  expect(text).toContain(`\nkubelet_node_config_error ${expected.error ? 1 : 0}\n`);
}

const startsSeen = new WeakMap<ClusterRig, number>();

/**
 * As upstream's tests look for it. Through a Node, the newest event names what is assigned, also where that is rejected or has the
 * bytes that run. Through a NodeConfig, it names what was started last, where something was.
 */
async function expectEvent(rig: ClusterRig, { assigned, active }: Expected): Promise<void> {
  const starts = rig.node.starts().length;
  const isRestart = starts > (startsSeen.get(rig) ?? 1);
  startsSeen.set(rig, starts);
  const isNode = rig.type === nodes;
  if (!isNode && !isRestart) return;
  const source = isNode ? assigned : active;
  const { namespace, name, uid, resourceVersion, kubeletConfigKey } = { ...source };
  const wanted = source
    ? `/api/v1/namespaces/${namespace}/configmaps/${name}, UID: ${uid}, ResourceVersion: ${resourceVersion}, KubeletConfigKey: ${kubeletConfigKey}`
    : 'local config';
  // Written beside the status, and perhaps a moment after it.
  await eventually('the event of the change', async () => {
    const newest = await newestChange(rig);
    // Nothing was ever assigned.
    if (newest !== undefined || source !== undefined) expect(newest).toBe(`Kubelet restarting to use ${wanted}`);
  });
}

async function changes(rig: ClusterRig): Promise<EventObject[]> {
  return (await rig.events()).filter(({ reason }) => reason === 'KubeletConfigChanged');
}

/** The first in the list of those with the latest time. */
async function newestChange(rig: ClusterRig): Promise<string | undefined> {
  const all = await changes(rig);
  const newest = all.reduce<EventObject | undefined>(
    (newest, event) =>
      newest === undefined || Date.parse(event.firstTimestamp) > Date.parse(newest.firstTimestamp) ? event : newest,
    undefined,
  );
  return newest?.message;
}

/** Keys in order, so that objects compare as text. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );

interface State {
  id: string;
  apply(): Promise<void>;
}

/** Every unordered pair of states, both ways: there and back from each. */
async function walkBothWays(states: State[]): Promise<void> {
  for (let first = 0; first < states.length; first++) {
    await states[first]!.apply();
    for (const other of states.slice(first + 1)) {
      await other.apply();
      await states[first]!.apply();
    }
  }
}

/** Rejected by the API server: nothing changes, whatever was before. */
function refusedByServer(rig: ClusterRig, id: string, configSource: object, message: string): State {
  return {
    id,
    async apply() {
      const before = { starts: rig.node.starts().length, config: canonical(rig.config) };
      const error = await rig.assign(configSource).catch((error: unknown) => error);
      expect((error as ApiError).message, id).toContain(message);
      expect(error, id).toBeInstanceOf(ApiError);
      expect({ starts: rig.node.starts().length, config: canonical(rig.config) }, id).toEqual(before);
    },
  };
}

describe('E1 state transitions by editing the Node', () => {
  test('13 states, all pairs, both ways', { timeout: 240_000 }, async () => {
    const rig = await createClusterRig();
    const good = exact(await rig.createConfigMap('good', { kubelet: rig.node.config('eventRecordQPS: 7') }));
    const bad = exact(await rig.createConfigMap('unparsable', { kubelet: unparsable }));
    const wrong = exact(await rig.createConfigMap('invalid', { kubelet: invalid }));
    const source = { namespace: 'kube-system', name: 'good', kubeletConfigKey: 'kubelet' };
    const without = (field: keyof typeof source) => ({ configMap: { ...source, [field]: undefined } });
    const place = 'spec.configSource.configMap';
    const states: State[] = [
      {
        id: 'E1.1',
        async apply() {
          await rig.assign(null);
          await expectState(rig, {});
        },
      },
      refusedByServer(rig, 'E1.2', {}, 'exactly one reference subfield must be non-nil'),
      refusedByServer(rig, 'E1.3', without('namespace'), `${place}.namespace: Required value: namespace must be set`),
      refusedByServer(rig, 'E1.4', without('name'), `${place}.name: Required value: name must be set`),
      refusedByServer(
        rig,
        'E1.5',
        without('kubeletConfigKey'),
        `${place}.kubeletConfigKey: Required value: kubeletConfigKey must be set`,
      ),
      refusedByServer(
        rig,
        'E1.6',
        { configMap: { ...source, uid: 'foo' } },
        `${place}.uid: Forbidden: uid must not be set in spec`,
      ),
      refusedByServer(
        rig,
        'E1.7',
        { configMap: { ...source, resourceVersion: '1' } },
        `${place}.resourceVersion: Forbidden: resourceVersion must not be set in spec`,
      ),
      refusedByServer(
        rig,
        'E1.8',
        { configMap: { ...source, namespace: '../baz' } },
        `${place}.namespace: Invalid value`,
      ),
      refusedByServer(rig, 'E1.9', { configMap: { ...source, name: '../bar' } }, `${place}.name: Invalid value`),
      refusedByServer(
        rig,
        'E1.10',
        { configMap: { ...source, kubeletConfigKey: '../qux' } },
        `${place}.kubeletConfigKey: Invalid value`,
      ),
      {
        id: 'E1.11',
        async apply() {
          await rig.point('good');
          await expectState(rig, { assigned: good, active: good });
          expect(rig.condition).toMatchObject({
            status: 'True',
            message: `using current (UID: "${good.uid}")`,
            reason: 'passing all checks',
          });
        },
      },
      {
        id: 'E1.12',
        async apply() {
          await rig.point('unparsable');
          await expectState(rig, { assigned: bad, error: load });
          expect(rig.condition).toMatchObject({
            status: 'False',
            message: 'using last-known-good (default)',
            reason: `failed to parse current (UID: "${bad.uid}")`,
          });
        },
      },
      {
        id: 'E1.13',
        async apply() {
          await rig.point('invalid');
          await expectState(rig, { assigned: wrong, error: validate });
        },
      },
    ];
    await walkBothWays(states);
  });
});

describe.each(['Node', 'NodeConfig'] as const)('last known good, through a %s', (through) => {
  test('E2 recover to the last known good ConfigMap', async () => {
    const rig = await createClusterRig({ through });
    const a = exact(await rig.createConfigMap('a', { kubelet: rig.node.config('eventRecordQPS: 1') }));
    const b = exact(await rig.createConfigMap('b', { kubelet: unparsable }));
    await rig.point('a');
    await expectState(rig, { assigned: a, active: a });
    await rig.node.passTrial();
    await expectState(rig, { assigned: a, active: a, lastKnownGood: a });
    const starts = rig.node.starts().length;
    await rig.point('b');
    await expectState(rig, { assigned: b, active: a, lastKnownGood: a, error: load });
    await rig.point('a');
    await expectState(rig, { assigned: a, active: a, lastKnownGood: a });
    // Repaired: the last known good ran all the time, so nothing was restarted.
    expect(rig.node.starts()).toHaveLength(starts);
  });

  test('E3 recover to the last known good key of one ConfigMap', async () => {
    const rig = await createClusterRig({ through });
    const both = await rig.createConfigMap('both', { good: rig.node.config('eventRecordQPS: 1'), bad: unparsable });
    const [good, bad] = [exact(both, 'good'), exact(both, 'bad')];
    await rig.point('both', 'good');
    await expectState(rig, { assigned: good, active: good });
    await rig.node.passTrial();
    await expectState(rig, { assigned: good, active: good, lastKnownGood: good });
    await rig.point('both', 'bad');
    await expectState(rig, { assigned: bad, active: good, lastKnownGood: good, error: load });
    await rig.point('both', 'good');
    await expectState(rig, { assigned: good, active: good, lastKnownGood: good });
  });

  test('E4 the last known good moves from one ConfigMap to another', async () => {
    const rig = await createClusterRig({ through });
    let lastKnownGood: ExactRef | undefined;
    // As upstream's: two ConfigMaps with the same payload; and one with another.
    const payloads = { a: '# config', b: '# config', c: '# another config' };
    for (const [name, payload] of Object.entries(payloads)) {
      const source = exact(await rig.createConfigMap(name, { kubelet: rig.node.config(payload) }));
      await rig.point(name);
      await expectState(rig, { assigned: source, active: source, lastKnownGood });
      await rig.node.passTrial();
      lastKnownGood = source;
      await expectState(rig, { assigned: source, active: source, lastKnownGood });
    }
    const passed = (await rig.events()).filter(({ reason }) => reason === 'KubeletConfigTrialPassed');
    expect(passed).toHaveLength(3);
    // Repaired: equal bytes restart nothing.
    expect(rig.node.starts()).toHaveLength(3);
  });
});

describe.each(['Node', 'NodeConfig'] as const)('edits in place, through a %s', (through) => {
  const contents = (rig: ClusterRig) => [
    { text: rig.node.config('eventRecordQPS: 1') },
    { text: unparsable, error: load },
    { text: invalid, error: validate },
  ];

  test('E6 good, unparsable, invalid, all pairs both ways', async () => {
    const rig = await createClusterRig({ through });
    await rig.createConfigMap('shared', { kubelet: rig.node.config() });
    await rig.point('shared');
    await walkBothWays(
      contents(rig).map(({ text, error }, index) => ({
        id: `E6.${index}`,
        async apply() {
          const source = exact(await rig.patchConfigMap('shared', { data: { kubelet: text } }));
          await expectState(rig, error ? { assigned: source, error } : { assigned: source, active: source });
        },
      })),
    );
  });

  test('E7 recover to the last known good version; a write that changes nothing does nothing', async () => {
    const rig = await createClusterRig({ through });
    const good = exact(await rig.createConfigMap('shared', { kubelet: rig.node.config('eventRecordQPS: 1') }));
    await rig.point('shared');
    await expectState(rig, { assigned: good, active: good });
    await rig.node.passTrial();
    await expectState(rig, { assigned: good, active: good, lastKnownGood: good });
    const starts = rig.node.starts().length;
    await rig.patchConfigMap('shared', {});
    const bad = exact(await rig.patchConfigMap('shared', { data: { kubelet: unparsable } }));
    await expectState(rig, { assigned: bad, active: good, lastKnownGood: good, error: load });
    expect(rig.node.starts()).toHaveLength(starts);
    const repaired = exact(
      await rig.patchConfigMap('shared', { data: { kubelet: rig.node.config('eventRecordQPS: 1') } }),
    );
    await expectState(rig, { assigned: repaired, active: repaired, lastKnownGood: good });
    await rig.node.passTrial();
    await expectState(rig, { assigned: repaired, active: repaired, lastKnownGood: repaired });
    // Repaired: equal bytes restart nothing.
    expect(rig.node.starts()).toHaveLength(starts);
  });

  test('E8 deleted and created again with other content, all pairs both ways', async () => {
    const rig = await createClusterRig({ through });
    await rig.createConfigMap('shared', { kubelet: rig.node.config() });
    await rig.point('shared');
    await walkBothWays(
      contents(rig).map(({ text, error }, index) => ({
        id: `E8.${index}`,
        async apply() {
          await rig.deleteConfigMap('shared');
          const source = exact(await rig.createConfigMap('shared', { kubelet: text }));
          await expectState(rig, error ? { assigned: source, error } : { assigned: source, active: source });
        },
      })),
    );
  });

  test('E9 an absent ConfigMap changes nothing, and is followed when it comes back', async () => {
    const rig = await createClusterRig({ through });
    const first = exact(await rig.createConfigMap('gone', { kubelet: rig.node.config() }));
    await rig.point('gone');
    await expectState(rig, { assigned: first, active: first });
    const starts = rig.node.starts().length;
    const remove = () => rig.deleteConfigMap('gone');
    // The role of a node with a NodeConfig names ConfigMaps that exist.
    await (through === 'Node' ? remove() : rig.node.denied(remove));
    await expectState(rig, { assigned: first, active: first, error: download });
    const reported = {
      Node: {
        message: `using current (UID: "${first.uid}")`,
        reason: 'failed to sync, reason: failed to download ConfigMap with name "gone" from namespace "kube-system"',
      },
      NodeConfig: { message: 'The ConfigMap cannot be read from the API server.', reason: 'DownloadFailed' },
    };
    expect(rig.condition).toMatchObject({ status: 'False', ...reported[through] });
    const second = exact(await rig.createConfigMap('gone', { kubelet: rig.node.config() }));
    await expectState(rig, { assigned: second, active: second });
    // Repaired: equal bytes under a new uid move the record, not the kubelet.
    expect(rig.node.starts()).toHaveLength(starts);
  });
});

/** The order in which configs are assigned in turn: c and d are rejected. */
const order = ['a', 'b', 'a', 'c', 'b', 'd'];
const rejections = new Map([
  ['c', { error: load, text: unparsable }],
  ['d', { error: validate, text: invalid }],
]);

describe('stress', () => {
  // Processes and connections that are lost show after a few changes; in memory there are more of them.
  test.each([
    ['Node', 60],
    ['NodeConfig', 30],
  ] as const)(
    'E5 changes in a row, good and bad mixed, through a %s: none stuck, none lost (%i)',
    async (through, changeCount) => {
      const rig = await createClusterRig({ through });
      const sources = new Map<string, ExactRef>();
      for (const name of new Set(order)) {
        const kubelet = rejections.get(name)?.text ?? rig.node.config(`# config ${name}`);
        sources.set(name, exact(await rig.createConfigMap(name, { kubelet })));
      }
      const descriptors = () => readdirSync('/proc/self/fd').length;
      let before = 0;
      for (let change = 0; change < changeCount; change++) {
        // By then every connection is open that is used at all.
        if (change === 2 * order.length) before = descriptors();
        const name = order[change % order.length]!;
        await rig.point(name);
        const [assigned, error] = [sources.get(name), rejections.get(name)?.error];
        await expectStatus(rig, error ? { assigned, error } : { assigned, active: assigned });
      }
      expect(rig.node.state.read(trialRecord)?.deaths ?? 0).toBe(0);
      expect(await changes(rig)).toHaveLength(through === 'Node' ? changeCount : rig.node.starts().length - 1);
      // Nothing is left behind: descriptors, processes, checkpoints, records.
      expect(descriptors()).toBeLessThanOrEqual(before + 4);
      const alive = rig.node.starts().filter(({ pid }) => existsSync(`/proc/${pid}/environ`));
      expect(alive.map(({ pid }) => pid)).toEqual([rig.node.starts().at(-1)!.pid]);
      expect(readdirSync(join(rig.node.dir, 'checkpoints')).length).toBeLessThanOrEqual(3);
      expect(readdirSync(join(rig.node.dir, 'meta')).filter((name) => name.startsWith('tmp_'))).toEqual([]);
      expect(Object.keys(rig.node.state.read(resultsRecord) ?? {}).length).toBeLessThanOrEqual(4);
    },
    300_000,
  );

  test.each(['Node', 'NodeConfig'] as const)(
    'E5 150 changes in memory through a %s: none stuck, none lost',
    async (through) => {
      const rig = await createFlowRig(through);
      for (const name of new Set(order)) {
        const kubelet =
          rejections.get(name)?.text ??
          `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n# ${name}\n`;
        await rig.createPayload(name, kubelet);
      }
      rig.boot({ restartLimit: { burst: 1, intervalMs: 0 } });
      await rig.until('local runs', () => rig.starts.length === 1);
      for (let change = 0; change < 150; change++) {
        const name = order[change % order.length]!;
        await rig.point(sourceNamed(name));
        const error = rejections.get(name)?.error;
        const expected = { assigned: name, active: error ? undefined : name, lastKnownGood: undefined, error };
        await rig.untilStatus(expected);
        expect(rig.machine.running?.config.source?.name).toBe(error ? undefined : name);
      }
      expect(rig.state.read(trialRecord)?.deaths ?? 0).toBe(0);
      const changed = (await rig.events()).filter(({ reason }) => reason === 'KubeletConfigChanged');
      expect(changed).toHaveLength(through === 'Node' ? 150 : rig.starts.length - 1);
      expect(rig.files.list('/dynamic-config/checkpoints').length).toBeLessThanOrEqual(3);
      expect(rig.files.list('/dynamic-config/meta').filter((name) => name.startsWith('tmp_'))).toEqual([]);
      expect(Object.keys(rig.state.read(resultsRecord) ?? {}).length).toBeLessThanOrEqual(4);
    },
  );
});
