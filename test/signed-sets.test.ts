/** Sets with signed configs, in memory: the whole controller against the API server; hosts decide with the code of the agent. */
import { expect, test } from 'vitest';
import { refOf } from '../src/api/config-ref.js';
import { configLabel } from '../src/api/node-config.js';
import type { NodeConfigSetSpec, SetStrategy, SignedConfig } from '../src/api/node-config-set.js';
import type { ConfigMap } from '../src/api/object.js';
import { signaturesAnnotation, statementAnnotation } from '../src/api/signing.js';
import { parseAllowedSigner } from '../src/config/signing/allowed-signers.js';
import { type AcceptedBytes, decideSignature, signedParts } from '../src/config/signing/decide.js';
import { contentOf, formatStatement, type Statement } from '../src/config/signing/statement.js';
import { configMaps } from '../src/kube/resource-type.js';
import { type TestKey, testKey } from './rig/signing.js';
import { createSetRig, type SetRig } from './set-rig.js';

const [ann, bob] = [testKey(), testKey()];
const names = ['node-0', 'node-1', 'node-2'];
const strategy: SetStrategy = { waves: [{ nodes: 1 }, { nodes: '100%' }], maxUnavailable: 3, maxInTrial: 10 };

const payloadOf = (maxPods: number) =>
  `# signed by people\napiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig: {maxPods: ${maxPods}}\n`;

function signed(
  payload: string,
  facts: Partial<Statement> & { serial: number },
  keys: TestKey[] = [ann],
): SignedConfig {
  const { annotations } = facts;
  const content = contentOf({ data: { kubelet: payload }, annotations });
  const statement = formatStatement({
    pools: ['gpu'],
    floor: 0,
    ...content,
    ...facts,
    annotations: content.annotations,
  });
  return { payload, statement, signatures: keys.map((key) => key.sign(statement)) };
}

/** Trust of the hosts, and the records that the agent of each keeps. */
class Hosts {
  threshold = 1;
  readonly rejections: string[] = [];
  readonly #records = new Map<string, { floor: number; accepted: AcceptedBytes[] }>();

  constructor(readonly rig: SetRig) {
    rig.behaviour = (node, text, configMap) => {
      if (!this.accepts(node, configMap)) return 'rejects';
      return text.includes('maxPods: 666') ? 'rolls back' : 'works';
    };
  }

  accepts(node: string, { data, metadata: { annotations } }: ConfigMap): boolean {
    const record = this.#records.get(node) ?? { floor: 0, accepted: [] };
    this.#records.set(node, record);
    const lines = [`ann@example.com ${ann.line}`, `bob@example.com ${bob.line}`];
    const { threshold } = this;
    const trust = { pool: 'gpu', threshold, signers: lines.map(parseAllowedSigner), revoked: new Set<string>() };
    const host = { ...record, now: Math.floor(this.rig.clock.now() / 1000) };
    const decision = decideSignature(signedParts({ data, annotations }), trust, host);
    const isNew = decision.kind === 'accepted' && decision.accepted.statement !== record.accepted[0]?.statement;
    if (isNew) record.accepted.unshift({ ...decision.accepted, at: host.now });
    if (decision.kind === 'rejected') this.rejections.push(`${node}: ${decision.reason}`);
    return decision.kind === 'accepted';
  }

  /** The config that was accepted last becomes the last known good. */
  settle(): void {
    for (const record of this.#records.values()) record.floor = Math.max(record.floor, record.accepted[0]?.floor ?? 0);
  }
}

async function started(spec: Partial<NodeConfigSetSpec> & Pick<NodeConfigSetSpec, 'config'>) {
  const rig = await createSetRig();
  const hosts = new Hosts(rig);
  await rig.addNodes(names);
  await rig.apply('gpu', { strategy, ...spec });
  return { rig, hosts };
}

async function completed() {
  const first = signed(payloadOf(100), { serial: 100 });
  const { rig, hosts } = await started({ config: { signed: first } });
  await rig.untilReason('gpu', 'RolloutComplete', 10_000);
  hosts.settle();
  return { rig, hosts, first };
}

async function assigned(rig: SetRig, node: string): Promise<ConfigMap> {
  const { namespace, name } = refOf((await rig.nodeConfig(node)).spec?.configSource)!;
  return rig.client.get<ConfigMap>(configMaps, { namespace, name });
}
const maxPodsOf = async (rig: SetRig) =>
  Promise.all(names.map(async (name) => /maxPods: (\d+)/.exec((await assigned(rig, name)).data!.kubelet!)![1]));
const sourcesOf = async (rig: SetRig) =>
  Promise.all(names.map(async (name) => (await assigned(rig, name)).metadata.name));

test('the ConfigMap has the payload byte for byte, the statement, its annotations and the signatures, and nothing else', async () => {
  const annotations = { 'relet.dev/allow-fields': 'providerID' };
  const one = signed(payloadOf(100), { serial: 100, annotations }, [ann, bob]);
  const { rig, hosts } = await started({ config: { signed: one } });
  await rig.untilReason('gpu', 'RolloutComplete', 10_000);
  const { data, metadata } = await assigned(rig, 'node-2');
  expect(data).toEqual({ kubelet: one.payload });
  expect(metadata.annotations).toEqual({
    ...annotations,
    [statementAnnotation]: one.statement,
    [signaturesAnnotation]: one.signatures.join(''),
  });
  expect(hosts.rejections).toEqual([]);
  const [revision] = (await rig.set('gpu')).status!.revisions!;
  expect(revision?.signed?.serial).toBe(100);
  expect(revision?.signed?.keys).toEqual([ann, bob].map(({ line }) => parseAllowedSigner(`x ${line}`).fingerprint));
});

test.each([
  [
    'an undo',
    {},
    async (rig: SetRig) => rig.rollout('gpu', { request: { action: 'Undo', revision: await update(rig) } }),
  ],
  ['expiresAfter', { expiresAfter: '30m' }, async (rig: SetRig) => rig.clock.advance(1_800_000)],
])('%s returns all nodes to the signed config before, which their hosts accept', async (_name, spec, act) => {
  const { rig, hosts } = await completed();
  await rig.apply('gpu', {
    strategy,
    ...spec,
    config: { signed: signed(payloadOf(120), { serial: 200, floor: 100 }) },
  });
  await rig.untilReason('gpu', 'RolloutComplete', 10_000);
  hosts.settle();
  expect(await maxPodsOf(rig)).toEqual(['120', '120', '120']);
  await act(rig);
  await rig.until('back', async () => (await maxPodsOf(rig)).every((one) => one === '100'), 10_000);
  await rig.until('settled', async () => (await rig.reason('gpu')) !== 'RollingBack');
  expect(hosts.rejections).toEqual([]);
  expect((await rig.set('gpu')).status).toMatchObject({ rollingBack: false });
});

const update = async (rig: SetRig) => (await rig.set('gpu')).status?.updateRevision;

test('onFailure Rollback returns the canary to the signed config before, and a signed correction reaches it first', async () => {
  const { rig, hosts } = await completed();
  const rollback = { ...strategy, onFailure: 'Rollback' as const };
  await rig.apply('gpu', {
    strategy: rollback,
    config: { signed: signed(payloadOf(666), { serial: 200, floor: 100 }) },
  });
  await rig.untilReason('gpu', 'RolledBack', 5000);
  expect(await maxPodsOf(rig)).toEqual(['100', '100', '100']);
  await rig.apply('gpu', { strategy, config: { signed: signed(payloadOf(666), { serial: 210, floor: 100 }, [bob]) } });
  await rig.rollout('gpu', { request: { action: 'Retry', revision: await update(rig) } });
  await rig.untilReason('gpu', 'Halted', 5000);
  await rig.apply('gpu', { strategy, config: { signed: signed(payloadOf(130), { serial: 220, floor: 100 }) } });
  await rig.until('canary', async () => (await maxPodsOf(rig))[0] === '130');
  expect((await maxPodsOf(rig)).slice(1)).toEqual(['100', '100']);
  await rig.untilReason('gpu', 'RolloutComplete', 10_000);
  expect(hosts.rejections).toEqual([]);
});

test('a signature that is added goes out with the next attempt: the same bytes, only to nodes that lack it', async () => {
  const config = signed(payloadOf(100), { serial: 100 }, [ann]);
  const { rig, hosts } = await started({ config: { signed: config } });
  hosts.threshold = 2;
  await rig.untilReason('gpu', 'Halted');
  const before = (await rig.set('gpu')).status!.revisions![0]!;
  expect(hosts.rejections[0]).toBe('node-0: TooFewSignatures');
  const both = { ...config, signatures: [...config.signatures, bob.sign(config.statement)] };
  await rig.apply('gpu', { strategy, config: { signed: both } });
  await rig.clock.advance(5000);
  const after = (await rig.set('gpu')).status!.revisions!;
  expect(after).toHaveLength(1);
  expect(after[0]).toMatchObject({ revision: before.revision, startedAt: before.startedAt, attempt: 2 });
  expect(after[0]!.source).not.toBe(before.source);
  await rig.rollout('gpu', { request: { action: 'Retry', revision: before.revision } });
  await rig.untilReason('gpu', 'RolloutComplete', 10_000);
  expect((await assigned(rig, 'node-0')).data).toEqual({ kubelet: config.payload });
});

test('a renewed statement is for nodes that join, and nodes that have the config keep their ConfigMap', async () => {
  const { rig, hosts } = await completed();
  const hour = Math.floor(rig.clock.now() / 1000) + 3600;
  await rig.apply('gpu', { strategy, config: { signed: signed(payloadOf(140), { serial: 200, notAfter: hour }) } });
  await rig.untilReason('gpu', 'RolloutComplete', 10_000);
  const sources = await sourcesOf(rig);
  await rig.clock.advance(7_200_000);
  await rig.addNodes(['late-0']);
  await rig.until('rejected', async () => (await rig.set('gpu')).status?.failedNodes === 1);
  expect(hosts.rejections[0]).toBe('late-0: Expired');
  await rig.apply('gpu', { strategy, config: { signed: signed(payloadOf(140), { serial: 300, notAfter: hour * 2 }) } });
  await rig.addNodes(['late-1']);
  await rig.rollout('gpu', { request: { action: 'Retry', revision: await update(rig) } });
  await rig.until('all updated', async () => (await rig.set('gpu')).status?.updatedNodes === 5, 10_000);
  expect(await sourcesOf(rig)).toEqual(sources);
  for (const name of ['late-0', 'late-1']) {
    const { metadata, data } = await assigned(rig, name);
    expect(data).toEqual({ kubelet: payloadOf(140) });
    expect(sources).not.toContain(metadata.name);
  }
  expect((await rig.set('gpu')).status?.failedNodes).toBe(0);
});

test('a config in a ConfigMap that is signed is copied with its signatures', async () => {
  const { payload, statement, signatures } = signed(payloadOf(150), { serial: 400 });
  const annotations = { [statementAnnotation]: statement, [signaturesAnnotation]: signatures.join('') };
  const metadata = { name: 'pushed', namespace: 'relet-system', labels: { [configLabel]: 'true' }, annotations };
  const { rig, hosts } = await completed();
  const stored = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { kubelet: payload } };
  await rig.client.create(configMaps, { namespace: 'relet-system' }, stored);
  const source = { namespace: 'relet-system', name: 'pushed', kubeletConfigKey: 'kubelet' };
  await rig.apply('gpu', { strategy, config: { configMap: source } });
  await rig.until('all', async () => (await maxPodsOf(rig)).every((one) => one === '150'), 10_000);
  await rig.untilReason('gpu', 'RolloutComplete', 10_000);
  expect(hosts.rejections).toEqual([]);
});
