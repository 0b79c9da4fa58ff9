/** apiVersion and kind of a KubeletConfiguration (kubelet 1.11 and later) and of an overlay. */

export const header = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' } as const;

/** A document that sets nothing: the kubelet's defaults. */
export const emptyDocument = `apiVersion: ${header.apiVersion}\nkind: ${header.kind}\n`;

export const overlayHeader = { apiVersion: 'relet.dev/v1alpha1', kind: 'KubeletConfigurationOverlay' } as const;
