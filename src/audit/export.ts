/**
 * Exports an overlay in the format of another system. Fields that this system cannot express are returned by name. Pure.
 *
 *   openshift   KubeletConfig of the Machine Config Operator      talos       KubeletConfig document, or a patch before 1.14
 *   eks         NodeConfig of nodeadm                             karpenter   EC2NodeClass
 *   kubeadm     a patch of target kubeletconfiguration            k3s, rke2   a drop-in, or kubelet-arg before 1.32
 */
import { setDefaults } from '../config/defaults.js';
import { flagRows } from '../config/facts/flag-rows.js';
import { formatPath, leavesOf } from '../config/field-path.js';
import { getField, type KubeletConfig, type Minor, newestMinor, type Overlay } from '../config/model.js';
import { overlayDropIn } from '../config/overlay-drop-in.js';
import { shapeOf } from '../config/shape.js';
import { isObject } from '../json.js';

export const exportFormats = ['openshift', 'talos', 'eks', 'karpenter', 'kubeadm', 'k3s', 'rke2'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export interface ExportOptions {
  /** Name of the object, or of the pool. */
  name: string;
  /** Minor of the target system, where its format changed: of Talos, or of the Kubernetes of k3s and RKE2. */
  minor?: Minor | undefined;
}

export interface Exported {
  object: object;
  /** Fields that the target does not take, and why. */
  lost: { field: string; why: string }[];
}

export function exportOverlay(overlay: Overlay, format: ExportFormat, options: ExportOptions): Exported {
  const target = targets[format];
  const lost: Exported['lost'] = [];
  const { config } = overlay;
  const kept = Object.fromEntries(
    Object.entries(config).filter(([field]) => {
      const why = target.rejects?.(field, options);
      if (why !== undefined) lost.push({ field, why });
      return why === undefined;
    }),
  );
  if (target.unsets?.(options) !== true)
    for (const field of overlay.unset)
      lost.push({ field, why: 'it can set fields, and not return one to its default' });
  return { object: target.write({ config: kept, unset: overlay.unset }, options, lost), lost };
}

/** Default thresholds that a kubelet without an evictionHard of its own drops, because the overlay names others. */
export function droppedThresholds({ config }: Overlay): string[] {
  const named = config.evictionHard;
  if (!isObject(named) || config.mergeDefaultEvictionSettings === true) return [];
  const { evictionHard: defaults } = setDefaults({}, newestMinor);
  return isObject(defaults) ? Object.keys(defaults).filter((signal) => !Object.hasOwn(named, signal)) : [];
}

interface ExportTarget {
  rejects?(field: string, options: ExportOptions): string | undefined;
  /** The format can reset a field to its default. */
  unsets?(options: ExportOptions): boolean;
  write(overlay: Overlay, options: ExportOptions, lost: Exported['lost']): object;
}

const among = (fields: readonly string[], why: string) => (field: string) => (fields.includes(field) ? why : undefined);

const openshiftRejects = [
  'cgroupDriver',
  'clusterDNS',
  'clusterDomain',
  'configMapAndSecretChangeDetectionStrategy',
  'featureGates',
  'runtimeRequestTimeout',
  'staticPodPath',
];
const talosRejects = [
  'authentication',
  'authorization',
  'cgroupRoot',
  'kubeletCgroups',
  'port',
  'protectKernelDefaults',
  'resolvConf',
  'rotateCertificates',
  'systemCgroups',
  'staticPodPath',
];
const karpenterTakes = [
  'clusterDNS',
  'maxPods',
  'podsPerCore',
  'systemReserved',
  'kubeReserved',
  'evictionHard',
  'evictionSoft',
  'evictionSoftGracePeriod',
  'evictionMaxPodGracePeriod',
  'imageGCHighThresholdPercent',
  'imageGCLowThresholdPercent',
  'cpuCFSQuota',
];

const rancher: ExportTarget = {
  unsets: ({ minor = newestMinor }) => minor >= 32,
  write(overlay, { minor = newestMinor }, lost) {
    return minor >= 32 ? overlayDropIn(overlay) : { 'kubelet-arg': kubeletArgs(overlay.config, minor, lost) };
  },
};

const targets: Record<ExportFormat, ExportTarget> = {
  openshift: {
    rejects: among(openshiftRejects, 'the Machine Config Operator keeps it to itself'),
    write: ({ config }, { name }) => ({
      apiVersion: 'machineconfiguration.openshift.io/v1',
      kind: 'KubeletConfig',
      metadata: { name },
      spec: {
        machineConfigPoolSelector: {
          matchLabels: { [`pools.operator.machineconfiguration.openshift.io/${name}`]: '' },
        },
        kubeletConfig: config,
      },
    }),
  },
  talos: {
    rejects: among(talosRejects, 'Talos keeps it to itself'),
    write({ config: { clusterDNS, seccompDefault, ...config } }, { minor = 14 }) {
      const own = {
        ...(clusterDNS !== undefined && { clusterDNS }),
        ...(seccompDefault !== undefined && { defaultRuntimeSeccompProfileEnabled: seccompDefault }),
      };
      if (minor < 14) return { machine: { kubelet: { ...own, extraConfig: config } } };
      return { apiVersion: 'v1alpha1', kind: 'KubeletConfig', ...own, config };
    },
  },
  eks: {
    write: ({ config }) => ({ apiVersion: 'node.eks.aws/v1alpha1', kind: 'NodeConfig', spec: { kubelet: { config } } }),
  },
  karpenter: {
    rejects: (field) =>
      karpenterTakes.includes(field) ? undefined : 'EC2NodeClass has no such field; use the userData of eks',
    write: ({ config }, { name }) => ({
      apiVersion: 'karpenter.k8s.aws/v1',
      kind: 'EC2NodeClass',
      metadata: { name },
      spec: { kubelet: config },
    }),
  },
  kubeadm: {
    unsets: () => true,
    // In a merge patch, null removes what the file of the cluster has.
    write: overlayDropIn,
  },
  k3s: rancher,
  rke2: rancher,
};

/** Before there were drop-ins: fields that have a flag. */
function kubeletArgs(config: KubeletConfig, minor: Minor, lost: Exported['lost']): string[] {
  const fields = new Set(leavesOf(config, shapeOf(newestMinor)).map((path) => fieldOfLeaf(path)));
  return [...fields].flatMap((field) => {
    const row = flagRows.find(([, , of, first, last]) => of === field && first <= minor && minor <= last);
    const value = getField(config, field);
    if (row === undefined || row[1] === 'headers' || row[1] === 'pair=') {
      lost.push({ field, why: `kubelet 1.${minor} has no flag for it; drop-ins are for 1.32 and later` });
      return [];
    }
    const separator = row[1] === 'map<' ? '<' : '=';
    const text = Array.isArray(value)
      ? value.join(',')
      : isObject(value)
        ? Object.entries(value)
            .map(([key, part]) => `${key}${separator}${String(part)}`)
            .join(',')
        : String(value);
    return [`${row[0]}=${text}`];
  });
}

const fieldOfLeaf = (path: string[]): string => formatPath(path, newestMinor).replace(/\[.*$/s, '');
