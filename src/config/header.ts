/** How documents begin: a KubeletConfiguration, from kubelet 1.11 on, and an overlay. */

export const header = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' } as const;

/** A document that sets nothing: the kubelet's defaults. */
export const emptyDocument = `apiVersion: ${header.apiVersion}\nkind: ${header.kind}\n`;

export const overlayHeader = { apiVersion: 'relet.dev/v1alpha1', kind: 'KubeletConfigurationOverlay' } as const;
