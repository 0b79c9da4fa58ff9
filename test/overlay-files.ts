/** Short ways to write a local file and an overlay in tests. */
import type { LocalFile } from '../src/config/merge.js';

export const overlayText = (body: string): string =>
  `apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\n${body}`;

export const configText = (body: string): string =>
  `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${body}`;

export const localFile = (body: string, path = '/var/lib/kubelet/config.yaml'): LocalFile => ({
  path,
  text: configText(body),
});
