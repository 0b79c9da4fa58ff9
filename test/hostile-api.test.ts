/**
 * A hostile API server, or somebody with all rights in the cluster, against an agent that runs as a service of a host with a trust file:
 * two persons must have signed for its pool. Nothing else is started, at once, after a reboot, or later. The attacks are made in memory,
 * and against a process that reads the trust file from the disk and the configs over TLS.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { KubeletUnit, StartedConfig } from '../src/agent/drivers/driver.js';
import { configLabel } from '../src/api/node-config.js';
import type { ConfigMap } from '../src/api/object.js';
import { allowFieldsAnnotation, signaturesAnnotation, skipForecastAnnotation } from '../src/api/signing.js';
import { parseTrust } from '../src/config/signing/trust.js';
import { configMaps } from '../src/kube/resource-type.js';
import { type ClusterRig, createClusterRig } from './cluster-rig.js';
import { newPlace, type Started, withDir } from './process-rig.js';
import { createFlowRig, type FlowRig, quietUnit } from './rig/memory-node.js';
import { signedAnnotations, testKey, trustSource } from './rig/signing.js';

const [ann, anns, bob, cid, eve] = [testKey(), testKey('sk-ssh-ed25519@openssh.com'), testKey(), testKey(), testKey()];
const namespace = 'kube-system';
const hour = 3600;

type Parts = {
  data: Record<string, string>;
  binaryData?: Record<string, string>;
  annotations?: Record<string, string>;
};
type About = Partial<Parameters<typeof signedAnnotations>[1]>;

abstract class Host {
  /** UTC seconds. */
  abstract readonly now: number;
  /** With the rights of a cluster admin. */
  abstract assign(name: string, parts: Parts): Promise<void>;
  abstract edit(name: string, patch: object): Promise<void>;
  abstract trust(text: string): void;

  signed(maxPods: number, about: About = {}): Required<Omit<Parts, 'binaryData'>> {
    const parts = { data: { kubelet: configOf(maxPods) } };
    const facts = { keys: [ann!, bob!], pools: ['gpu'], serial: this.now + maxPods, floor: this.now, ...about };
    return { ...parts, annotations: signedAnnotations(parts, facts) };
  }

  revoke(line: string): void {
    this.trust(trustText(line));
  }
}

class HostInMemory extends Host {
  readonly rig: FlowRig;
  #trust = parseTrust(trustText(), 'trust.yaml');

  constructor(rig: FlowRig) {
    super();
    this.rig = rig;
    rig.trustFile = trustSource(() => ({ trust: this.#trust, writtenMs: this.now * 1000 }));
  }

  get now(): number {
    return Math.floor(this.rig.clock.now() / 1000);
  }

  async assign(name: string, { annotations = {}, ...parts }: Parts): Promise<void> {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, annotations }, ...parts };
    await this.rig.client.create(configMaps, { namespace }, object);
    await this.rig.point({ configMap: { name, namespace, kubeletConfigKey: 'kubelet' } });
  }

  async edit(name: string, patch: object): Promise<void> {
    await this.rig.client.patch(configMaps, { name, namespace }, patch, { as: 'merge' });
  }

  trust(text: string): void {
    this.#trust = parseTrust(text, 'trust.yaml');
  }

  get reason(): string | undefined {
    const { syncError, configError } = this.rig.reporter.latest;
    return (syncError ?? configError)?.reason;
  }
}

const trustText = (...revoked: string[]) =>
  JSON.stringify({
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'Trust',
    pool: 'gpu',
    threshold: 2,
    signers: [`ann ${ann!.line}`, `ann ${anns!.line}`, `bob ${bob!.line}`, `cid ${cid!.line}`],
    revoked,
  });

const configOf = (maxPods: number) =>
  `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: ${maxPods}\n`;

/** A host on which the first config was replaced by the second, and both have passed their trials. */
async function newHost(unit?: KubeletUnit): Promise<HostInMemory> {
  const host = new HostInMemory(await createFlowRig());
  const { rig } = host;
  rig.unit = unit;
  rig.boot();
  const start = host.now;
  for (const [name, maxPods] of [
    ['first', 1],
    ['second', 2],
  ] as const) {
    await host.assign(name, host.signed(maxPods, { serial: start + maxPods, floor: start + maxPods - 1 }));
    await rig.untilStatus({ active: name });
    await rig.passTrial();
    await rig.untilStatus({ lastKnownGood: name });
  }
  return host;
}

const attacks: [what: string, reason: string, attack: (host: Host) => Promise<void> | void][] = [
  ['an unsigned config', 'SignatureMissing', (host) => host.assign('evil', { data: { kubelet: configOf(666) } })],
  [
    'a statement without its signatures',
    'SignatureMissing',
    (host) => {
      const { data, annotations } = host.signed(666);
      const { [signaturesAnnotation]: _, ...rest } = annotations;
      return host.assign('evil', { data, annotations: rest });
    },
  ],
  [
    'a config that others signed',
    'SignerNotAllowed',
    (host) => host.assign('evil', host.signed(666, { keys: [eve!] })),
  ],
  [
    'a config signed with a revoked key',
    'SignerNotAllowed',
    (host) => {
      host.revoke(cid!.line);
      return host.assign('evil', host.signed(666, { keys: [cid!] }));
    },
  ],
  [
    'a config that one person signed with two keys',
    'TooFewSignatures',
    (host) => host.assign('evil', host.signed(666, { keys: [ann!, anns!, eve!] })),
  ],
  ['a config for another pool', 'WrongPool', (host) => host.assign('evil', host.signed(666, { pools: ['web'] }))],
  ['a config that has expired', 'Expired', (host) => host.assign('evil', host.signed(666, { notAfter: host.now - 1 }))],
  [
    'a config of later',
    'NotYetValid',
    (host) => host.assign('evil', host.signed(666, { notBefore: host.now + 30 * 24 * hour })),
  ],
  [
    'a replay of what was signed before',
    'SerialTooLow',
    (host) => host.assign('evil', host.signed(1, { serial: host.now - 100 * hour, floor: 0 })),
  ],
  [
    'a config that was cut off',
    'SignatureInvalid',
    (host) => {
      const { data, annotations } = host.signed(666);
      return host.assign('evil', { data: { kubelet: data.kubelet!.slice(0, -3) }, annotations });
    },
  ],
  [
    'a key beside the config',
    'SignatureInvalid',
    (host) => {
      const { data, annotations } = host.signed(666);
      return host.assign('evil', { data: { ...data, beside: 'x' }, annotations });
    },
  ],
  [
    'a binary key beside the config',
    'SignatureInvalid',
    (host) => host.assign('evil', { ...host.signed(666), binaryData: { beside: 'AAAA' } }),
  ],
  [
    'an annotation that loosens a check',
    'SignatureInvalid',
    (host) => {
      const { data, annotations } = host.signed(666);
      return host.assign('evil', { data, annotations: { ...annotations, [allowFieldsAnnotation]: 'enableServer' } });
    },
  ],
  [
    'the signatures of another config',
    'SignatureInvalid',
    (host) => host.assign('evil', { data: { kubelet: configOf(666) }, annotations: host.signed(5).annotations }),
  ],
  [
    'an edit of the config that runs',
    'SignatureInvalid',
    (host) => host.edit('second', { data: { kubelet: configOf(666) } }),
  ],
  [
    'an annotation on the config that runs',
    'SignatureInvalid',
    (host) => host.edit('second', { metadata: { annotations: { [skipForecastAnnotation]: 'true' } } }),
  ],
];

describe('a host with a trust file', () => {
  test.each([...attacks])('starts nothing that was not signed for it: %s', async (_what, reason, attack) => {
    const host = await newHost();
    const { rig } = host;
    expect(rig.starts).toEqual(['local', 'first', 'second']);
    await attack(host);
    await rig.until(reason, () => host.reason === reason);
    await rig.clock.advance(300_000);
    expect(rig.starts).toEqual(['local', 'first', 'second']);
    await rig.reboot();
    await rig.until('it runs again', () => rig.starts.length === 4);
    await rig.clock.advance(300_000);
    expect(rig.starts.slice(3)).toEqual(['second']);
    expect(rig.startedDocuments.slice(3)).toEqual([configOf(2)]);
    expect(host.reason).toBe(reason);
  });

  test('gives a kubelet in a unit of its own nothing that was not signed for it, neither now nor for its next start', async () => {
    const given = new Set<string>();
    const give = async ({ source }: StartedConfig) => void given.add(source?.name ?? 'local');
    const host = await newHost({ ...quietUnit, stage: give, keep: give });
    const { rig } = host;
    await host.assign('evil', host.signed(666, { keys: [eve!] }));
    await rig.until('it is rejected', () => host.reason === 'SignerNotAllowed');
    await rig.clock.advance(300_000);
    await rig.reboot();
    await rig.clock.advance(300_000);
    expect([...given]).toEqual(['local', 'first', 'second']);
    expect(rig.startedDocuments.slice(1)).toEqual([configOf(1), configOf(2), configOf(2)]);
  });

  test('starts what it ran before under a version whose content the API server replaces', async () => {
    const host = await newHost();
    const { rig } = host;
    const { client } = rig;
    const forged = (object: unknown) => ({ ...(object as ConfigMap), data: { kubelet: configOf(666) } });
    rig.seen = {
      ...client,
      get: async (type, place, options) => {
        const object = await client.get(type, place, options);
        return type === configMaps ? (forged(object) as never) : (object as never);
      },
    };
    await rig.reboot();
    await rig.until('it is noticed', () => host.reason === 'CheckpointNotSaved');
    await rig.reboot();
    await rig.clock.advance(300_000);
    expect(rig.startedDocuments.slice(1)).toEqual([configOf(1), configOf(2), configOf(2), configOf(2)]);
  });

  test('returns to the config before, and no further', async () => {
    const host = await newHost();
    const { rig } = host;
    await rig.point({ configMap: { name: 'first', namespace, kubeletConfigKey: 'kubelet' } });
    await rig.untilStatus({ active: 'first' });
    await rig.passTrial();
    const next = host.signed(3, { serial: host.now, floor: host.now });
    await host.assign('third', next);
    await rig.untilStatus({ active: 'third' });
    await rig.passTrial();
    await rig.point({ configMap: { name: 'second', namespace, kubeletConfigKey: 'kubelet' } });
    await rig.until('it is rejected', () => host.reason === 'SerialTooLow');
    expect(rig.starts).toEqual(['local', 'first', 'second', 'first', 'third']);
  });

  test('reports who signed what runs, when that expired, and runs on with it', async () => {
    const host = await newHost();
    const { rig } = host;
    await host.assign('third', host.signed(3, { notAfter: host.now + hour, floor: host.now + 1 }));
    await rig.untilStatus({ active: 'third' });
    await rig.passTrial();
    const signing = () => rig.reporter.latest.signing;
    expect(signing()).toMatchObject({
      status: { required: true, signers: ['ann', 'bob'], pool: 'gpu', threshold: 2 },
    });
    expect(signing()?.status.floor).toBeGreaterThan(0);
    expect(signing()?.expiredAt).toBeUndefined();
    await rig.clock.advance(2 * hour * 1000);
    expect(signing()?.expiredAt).toBe(signing()?.status.notAfter);
    await rig.reboot();
    await rig.untilStatus({ active: 'third', lastKnownGood: 'third' });
    expect(rig.starts.at(-1)).toBe('third');
  });

  test('starts a rejected config once it is valid', async () => {
    const host = await newHost();
    const { rig } = host;
    await host.assign('later', host.signed(3, { notBefore: host.now + hour }));
    await rig.until('it is rejected', () => host.reason === 'NotYetValid');
    await rig.clock.advance((hour + 120) * 1000);
    await rig.untilStatus({ active: 'later' });
    expect(host.reason).toBeUndefined();
  });

  test('starts an unsigned config only while a person on the host lets it, and reports that', async () => {
    const host = await newHost();
    const { rig } = host;
    await host.assign('unsigned', { data: { kubelet: configOf(4) } });
    await rig.until('it is rejected', () => host.reason === 'SignatureMissing');
    await rig.request({ verb: 'accept-unsigned', seconds: hour, why: 'outage', who: 'ann' });
    await rig.untilStatus({ active: 'unsigned' });
    expect(rig.reporter.latest.signing?.unsigned).toMatch(/^Until .*, ann: outage$/);
    expect((await rig.events()).map(({ reason }) => reason)).toContain('KubeletConfigUnsignedAccepted');
    await rig.clock.advance((hour + 120) * 1000);
    expect(rig.reporter.latest.signing?.unsigned).toBeUndefined();
    await host.assign('another', { data: { kubelet: configOf(5) } });
    await rig.until('it is rejected', () => host.reason === 'SignatureMissing');
    await rig.reboot();
    await rig.clock.advance(hour * 1000);
    expect(rig.starts.at(-1)).toBe('unsigned');
  });
});

/** A relet process in front of a kubelet process. Its API server is in this process, on a socket with TLS. */
class HostProcess extends Host {
  readonly rig: ClusterRig;
  readonly #trustFile: string;

  constructor(rig: ClusterRig, trustFile: string) {
    super();
    this.rig = rig;
    this.#trustFile = trustFile;
    this.trust(trustText());
  }

  get now(): number {
    return Math.floor(Date.now() / 1000);
  }

  async assign(name: string, { data, annotations = {}, ...parts }: Parts): Promise<void> {
    const metadata = { name, namespace: this.rig.namespace, labels: { [configLabel]: '' }, annotations };
    await this.rig.createConfigMap(name, data, { metadata, ...parts });
    await this.rig.point(name);
  }

  async edit(name: string, patch: object): Promise<void> {
    await this.rig.patchConfigMap(name, patch);
  }

  trust(text: string): void {
    writeFileSync(this.#trustFile, text, { mode: 0o600 });
  }
}

test('a process on a host with a trust file starts nothing that was not signed for it, whatever its API server serves over TLS', async () => {
  const rig = await createClusterRig({ boot: false, through: 'NodeConfig' });
  const place = await newPlace();
  const trustFile = join(place.dir, '../trust.yaml');
  const host = new HostProcess(rig, trustFile);
  const start = () => withDir(place, rig, `--trust-file=${trustFile}`);
  const relet = start();
  await rig.until('first status', () => rig.config !== undefined);
  const second = host.signed(2, { floor: host.now });
  await host.assign('second', second);
  await rig.until('last known good', () => rig.config?.lastKnownGood?.configMap?.name === 'second');
  const starts = () => relet.starts().map(({ config }) => config);
  const before = starts();
  expect(before.at(-1)).toBe(configOf(2));

  let count = 0;
  // Each in a ConfigMap of its own, after the config that runs is as it was signed.
  const assign = host.assign.bind(host);
  host.assign = (name, parts) => assign(`${name}-${++count}`, parts);
  const pristine = { data: second.data, metadata: { annotations: { [skipForecastAnnotation]: null } } };
  let lastReason = '';
  for (const [what, reason, attack] of attacks) {
    await host.edit('second', pristine);
    await rig.point('second');
    await rig.until('no error', () => rig.config?.error === undefined && rig.condition?.status === 'True');
    await attack(host);
    await rig.until(`${what}: ${reason}`, () => rig.condition?.reason === reason);
    expect(rig.config?.active?.configMap?.name, what).toBe('second');
    lastReason = reason;
  }
  expect(starts()).toEqual(before);

  const reboot = async (running: Started) => {
    running.process.kill('SIGKILL');
    await running.exit;
    return start();
  };
  const again = await reboot(relet);
  await rig.until(
    'it is up again',
    () => starts().length === before.length + 1 && rig.condition?.reason === lastReason,
  );
  rmSync(trustFile);
  await host.assign('third', host.signed(3));
  await rig.until('the trust file is missing', () => rig.condition?.reason === 'TrustFileUnusable');
  const last = await reboot(again);
  await rig.until('it is up once more', () => starts().length === before.length + 2);
  await rig.until('why', () => last.output().includes('trust file cannot be used, keeping the current config'));
  const usable = rig.seen?.status.conditions?.find(({ type }) => type === 'TrustFileUsable');
  expect(usable).toMatchObject({ status: 'False', message: expect.stringContaining('and this host had a trust file') });
  expect(starts()).toEqual([...before, configOf(2), configOf(2)]);
});
