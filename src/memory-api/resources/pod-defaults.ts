/** The defaults of a Pod. */
import type { KubeObject } from '../../api/object.js';
import { type Container, type PodSpec, type Probe, podSpec } from './pod-parts.js';

export function setPodDefaults(pod: KubeObject): void {
  const spec = podSpec(pod);
  setPodSpecDefaults(spec);
  // Not for containers of templates.
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) setRequestDefaults(container);
  spec.enableServiceLinks ??= true;
}

/** Also for Pod templates. */
export function setPodSpecDefaults(spec: PodSpec): void {
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])])
    setContainerDefaults(container, spec);
  for (const volume of spec.volumes ?? []) setVolumeDefaults(volume);
  spec.dnsPolicy ||= 'ClusterFirst';
  spec.restartPolicy ||= 'Always';
  spec.schedulerName ||= 'default-scheduler';
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  // A negative period becomes the minimum.
  if (spec.terminationGracePeriodSeconds < 0) spec.terminationGracePeriodSeconds = 1;
  // The deprecated field has the value of the new one.
  const account = spec.serviceAccountName || spec.serviceAccount;
  if (account) {
    spec.serviceAccountName = account;
    spec.serviceAccount = account;
  }
}

function setContainerDefaults(container: Container, spec: PodSpec): void {
  container.terminationMessagePath ||= '/dev/termination-log';
  container.terminationMessagePolicy ||= 'File';
  container.imagePullPolicy ||= isLatest(container.image ?? '') ? 'Always' : 'IfNotPresent';
  for (const port of container.ports ?? []) {
    port.protocol ||= 'TCP';
    if (spec.hostNetwork) port.hostPort ||= port.containerPort;
  }
  for (const { valueFrom } of container.env ?? []) if (valueFrom?.fieldRef) valueFrom.fieldRef.apiVersion ||= 'v1';
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe])
    if (probe !== undefined) setProbeDefaults(probe);
}

function setRequestDefaults(container: Container): void {
  const { limits, requests } = container.resources ?? {};
  if (limits !== undefined) container.resources = { ...container.resources, requests: { ...limits, ...requests } };
}

/** Files of these are readable by all and writable by their owner; a volume without a source is an emptyDir. */
const filesVolumes = ['configMap', 'secret', 'downwardAPI', 'projected'];
const filesMode = 0o644;

function setVolumeDefaults(volume: Record<string, unknown>): void {
  if (Object.keys(volume).length === 1) volume.emptyDir = {};
  for (const source of filesVolumes) {
    if (volume[source] !== undefined) volume[source] = { defaultMode: filesMode, ...(volume[source] as object) };
  }
  if (volume.hostPath !== undefined) volume.hostPath = { type: '', ...(volume.hostPath as object) };
}

function setProbeDefaults(probe: Probe): void {
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  if (probe.httpGet === undefined) return;
  probe.httpGet.path ||= '/';
  probe.httpGet.scheme ||= 'HTTP';
}

/** No tag means latest; a digest means no tag. */
function isLatest(image: string): boolean {
  if (image.includes('@')) return false;
  const tag = /:([^/:]+)$/.exec(image);
  return tag === null || tag[1] === 'latest';
}
