/**
 * Converts a payload of DKC alpha (`kubeletconfig/v1alpha1`, Kubernetes 1.8 and 1.9) to v1beta1: renamed fields, maps that 1.8 still
 * wrote as flag text, and a warning for each field that v1beta1 does not have. Unset fields get v1beta1's defaults: those of v1alpha1
 * would allow anonymous access.
 */

import type { Entry, Value } from '../go/yaml/value.js';
import type { Finding, Minor } from './model.js';
import type { StructShape } from './shape.js';

const renamed: Record<string, string> = {
  podManifestPath: 'staticPodPath',
  manifestURL: 'staticPodURL',
  manifestURLHeader: 'staticPodURLHeader',
  experimentalQOSReserved: 'qosReserved',
  experimentalKernelMemcgNotification: 'kernelMemcgNotification',
  remoteRuntimeEndpoint: 'containerRuntimeEndpoint',
  remoteImageEndpoint: 'imageServiceEndpoint',
};

/** Alpha fields that v1beta1 does not have, and the flag that replaced each, while there was one. */
const dropped: Record<string, string> = {
  allowPrivileged: 'allow-privileged',
  cAdvisorPort: 'cadvisor-port',
  configTrialDuration: '',
  containerRuntime: 'container-runtime',
  containerized: 'containerized',
  enableCustomMetrics: '',
  exitOnLockContention: 'exit-on-lock-contention',
  experimentalCheckNodeCapabilitiesBeforeMount: 'experimental-check-node-capabilities-before-mount',
  experimentalMounterPath: 'experimental-mounter-path',
  experimentalNodeAllocatableIgnoreEvictionThreshold: 'experimental-allocatable-ignore-eviction',
  hostIPCSources: 'host-ipc-sources',
  hostNetworkSources: 'host-network-sources',
  hostPIDSources: 'host-pid-sources',
  keepTerminatedPodVolumes: 'keep-terminated-pod-volumes',
  lockFilePath: 'lock-file',
  masterServiceNamespace: 'master-service-namespace',
  maxContainerCount: 'maximum-dead-containers',
  maxPerPodContainerCount: 'maximum-dead-containers-per-container',
  minimumGCAge: 'minimum-container-ttl-duration',
  nodeLabels: 'node-labels',
  nonMasqueradeCIDR: 'non-masquerade-cidr',
  registerSchedulable: 'register-schedulable',
  runtimeCgroups: 'runtime-cgroups',
  seccompProfileRoot: 'seccomp-profile-root',
};

/** Alpha fields that v1beta1 has again, but not from the start, under these (v1beta1) names and the flags of the time between. */
const later: Record<string, string> = {
  allowedUnsafeSysctls: 'experimental-allowed-unsafe-sysctls',
  containerRuntimeEndpoint: 'container-runtime-endpoint',
  enableServer: 'enable-server',
  imageServiceEndpoint: 'image-service-endpoint',
  kernelMemcgNotification: 'experimental-kernel-memcg-notification',
  registerNode: 'register-node',
  registerWithTaints: 'register-with-taints',
  volumePluginDir: 'volume-plugin-dir',
};

/** Maps that 1.8 wrote as text, and the separator between key and value there. */
const mapTexts: Record<string, string> = {
  evictionHard: '<',
  evictionSoft: '<',
  evictionSoftGracePeriod: '=',
  evictionMinimumReclaim: '=',
  featureGates: '=',
  staticPodURLHeader: ':',
};

export function convertAlpha(document: Value, shape: StructShape, minor: Minor): { value: Value; findings: Finding[] } {
  const findings: Finding[] = [];
  if (document.kind !== 'object') return { value: document, findings };
  const entries: Entry[] = [];
  for (const entry of document.entries) {
    const name = Object.hasOwn(renamed, entry.key) ? renamed[entry.key]! : entry.key;
    const isGone = Object.hasOwn(dropped, name) || (Object.hasOwn(later, name) && !shape.fields.has(name));
    if (isGone) findings.push(goneField(entry, dropped[name] || later[name] || '', minor));
    else if (entry.value.kind !== 'null') entries.push({ ...entry, key: name, value: convertText(name, entry.value) });
  }
  return { value: { ...document, entries }, findings };
}

function goneField(entry: Entry, flag: string, minor: Minor): Finding {
  let message = `field "${entry.key}" of kubeletconfig/v1alpha1 is not in kubelet.config.k8s.io/v1beta1 of 1.${minor} and is left out`;
  if (flag !== '') message += `; the kubelet took it as the flag --${flag}`;
  if (entry.key === 'configTrialDuration') message += "; relet's trial is set by --trial-duration";
  return { severity: 'warning', source: 'relet', path: entry.key, ...entry.keyAt, message };
}

/** Text that is not in the flag's form stays text, and is refused as a wrong type. */
function convertText(name: string, value: Value): Value {
  if (value.kind !== 'string' || !Object.hasOwn(mapTexts, name)) return value;
  const separator = mapTexts[name]!;
  const entries: Entry[] = [];
  for (const pair of value.value.split(',').filter((part) => part.trim() !== '')) {
    const cut = pair.indexOf(separator);
    if (cut < 0) return value;
    const item = convertItem(name, pair.slice(cut + 1).trim(), value);
    if (item === undefined) return value;
    entries.push({ key: pair.slice(0, cut).trim(), keyAt: value.at, value: item });
  }
  return { kind: 'object', entries, at: value.at };
}

function convertItem(name: string, text: string, { at }: Value): Value | undefined {
  const item: Value = { kind: 'string', value: text, at };
  if (name === 'staticPodURLHeader') return { kind: 'array', items: [item], at };
  if (name !== 'featureGates') return item;
  if (!/^(1|t|T|TRUE|true|True|0|f|F|FALSE|false|False)$/.test(text)) return undefined;
  return { kind: 'bool', value: /^[1tT]/.test(text), at };
}
