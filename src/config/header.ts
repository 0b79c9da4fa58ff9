/** How a KubeletConfiguration document begins, from kubelet 1.11 on. */

export const header = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' } as const;

/** A document that sets nothing: the kubelet's defaults. */
export const emptyDocument = `apiVersion: ${header.apiVersion}\nkind: ${header.kind}\n`;
