/** Each format: what it looks like, what it cannot express, and that what it says is what the overlay says. */
import { describe, expect, test } from 'vitest';
import { setDefaults } from '../config/defaults.js';
import { diff } from '../config/diff.js';
import { applyFlags, parseCommandLine } from '../config/flags.js';
import { getField, type KubeletConfig } from '../config/model.js';
import { droppedThresholds, type ExportFormat, exportFormats, exportOverlay } from './export.js';

const config: KubeletConfig = {
  maxPods: 150,
  evictionHard: { 'memory.available': '200Mi' },
  kubeReserved: { cpu: '100m' },
};
const exported = (format: ExportFormat, more: KubeletConfig = {}, minor?: number, unset: string[] = []) =>
  exportOverlay({ config: { ...config, ...more }, unset }, format, { name: 'worker', minor });

/** Place of the config in each format. */
const places: Record<ExportFormat, string | undefined> = {
  openshift: 'spec.kubeletConfig',
  talos: 'config',
  eks: 'spec.kubelet.config',
  karpenter: 'spec.kubelet',
  kubeadm: undefined,
  k3s: undefined,
  rke2: undefined,
};

test.each(exportFormats)(
  '%s has every field of an overlay that it can express, and read back it means the same',
  (format) => {
    const { object, lost } = exported(format);
    expect(lost).toEqual([]);
    const place = places[format];
    const { apiVersion: _, kind: __, ...whole } = object as KubeletConfig;
    const read = place === undefined ? whole : (getField(object as KubeletConfig, place) as KubeletConfig);
    expect(read).toEqual(config);
    expect(diff(read, config, 36)).toEqual([]);
  },
);

describe('versions of the target', () => {
  test('Talos before 1.14 takes a patch of machine.kubelet', () => {
    const { object } = exported('talos', { clusterDNS: ['10.0.0.10'], seccompDefault: true }, 13);
    expect(object).toEqual({
      machine: {
        kubelet: { clusterDNS: ['10.0.0.10'], defaultRuntimeSeccompProfileEnabled: true, extraConfig: config },
      },
    });
  });

  test.each(['k3s', 'rke2'] as const)('%s before 1.32 takes flags, which mean the same', (format) => {
    const { object, lost } = exported(format, { featureGates: { MemoryQoS: true } }, 31);
    const args = (object as { 'kubelet-arg': string[] })['kubelet-arg'];
    expect(lost).toEqual([]);
    expect(args).toContain('eviction-hard=memory.available<200Mi');
    const flags = parseCommandLine(
      args.map((arg) => `--${arg}`),
      31,
    );
    const wanted = setDefaults({ ...config, featureGates: { MemoryQoS: true } }, 31);
    expect(diff(applyFlags(setDefaults({}, 31), flags, 31), wanted, 31)).toEqual([]);
  });

  test('fields without a flag are lost there, and named', () => {
    expect(exported('k3s', { memorySwap: { swapBehavior: 'LimitedSwap' } }, 31).lost).toEqual([
      { field: 'memorySwap.swapBehavior', why: 'kubelet 1.31 has no flag for it; drop-ins are for 1.32 and later' },
    ]);
    expect(exported('k3s', { memorySwap: { swapBehavior: 'LimitedSwap' } }, 32).lost).toEqual([]);
  });
});

test.each([
  ['openshift', { clusterDomain: 'a.example' }, 'clusterDomain'],
  ['talos', { rotateCertificates: true }, 'rotateCertificates'],
  ['karpenter', { podPidsLimit: 100 }, 'podPidsLimit'],
] as const)('%s names a field that it cannot express, and leaves it out', (format, more, field) => {
  const { object, lost } = exported(format, more);
  expect(lost.map((one) => one.field)).toEqual([field]);
  expect(JSON.stringify(object)).not.toContain(field);
});

test('kubeadm, and k3s and RKE2 from 1.32 on, can return a field to its default', () => {
  const unset = ['clusterDomain', 'evictionHard[nodefs.available]'];
  for (const format of exportFormats)
    expect(exported(format, {}, undefined, unset).lost.map(({ field }) => field)).toEqual(
      ['kubeadm', 'k3s', 'rke2'].includes(format) ? [] : unset,
    );
  expect(exported('k3s', {}, 31, unset).lost.map(({ field }) => field)).toEqual(unset);
  expect(exported('kubeadm', {}, undefined, unset).object).toMatchObject({
    clusterDomain: null,
    evictionHard: { 'memory.available': '200Mi', 'nodefs.available': null },
  });
});

describe('thresholds that a target drops, because it replaces the map', () => {
  const dropped = (overlay: KubeletConfig) => droppedThresholds({ config: overlay, unset: [] });

  test('one threshold drops the defaults of the others', () => {
    expect(dropped({ evictionHard: { 'memory.available': '200Mi' } })).toEqual([
      'imagefs.available',
      'imagefs.inodesFree',
      'nodefs.available',
      'nodefs.inodesFree',
    ]);
  });

  test('all thresholds, none, or defaults that the kubelet merges drop nothing', () => {
    expect(dropped(setDefaults({}, 36))).toEqual([]);
    expect(dropped({ maxPods: 150 })).toEqual([]);
    expect(dropped({ evictionHard: { 'memory.available': '1Gi' }, mergeDefaultEvictionSettings: true })).toEqual([]);
  });
});
