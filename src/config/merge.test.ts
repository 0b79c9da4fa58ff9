/** Overlays over local configs: what the result has, and where each value comes from. */
import { describe, expect, test } from 'vitest';
import { type LocalFile, mergeOverlay } from './merge.js';

const overlayOf = (body: string): string =>
  `apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\n${body}`;
const fileOf = (body: string, path = '/var/lib/kubelet/config.yaml'): LocalFile => ({
  path,
  text: `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${body}`,
});
const merge = (local: readonly LocalFile[], body: string, minor = 32) =>
  mergeOverlay({ minor, local, overlay: overlayOf(body) });

describe('merging an overlay', () => {
  test('maps merge key by key, lists and scalars are replaced, nothing else is written', () => {
    const local = fileOf('maxPods: 60\nclusterDNS: [10.0.0.10]\nkubeReserved: {cpu: 100m, memory: 1Gi}\nport: 10250\n');
    const { text } = merge([local], 'config: {maxPods: 150, clusterDNS: [10.0.0.11], kubeReserved: {cpu: 200m}}\n');
    expect(text).toBe(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
clusterDNS:
  - "10.0.0.11"
kubeReserved:
  cpu: 200m
  memory: 1Gi
maxPods: 150
port: 10250
`);
  });

  test('one threshold does not drop the default ones', () => {
    const { document } = merge([fileOf('')], 'config: {evictionHard: {memory.available: 200Mi}}\n');
    expect(document.evictionHard).toEqual({
      'memory.available': '200Mi',
      'nodefs.available': '10%',
      'nodefs.inodesFree': '5%',
      'imagefs.available': '15%',
      'imagefs.inodesFree': '5%',
    });
  });
});
