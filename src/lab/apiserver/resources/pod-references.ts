/** The other objects a pod's spec names: what a node that runs the pod must be able to read. */
import type { KubeObject } from '../../../api/object.js';

export interface PodReferences {
  configMaps: string[];
  secrets: string[];
  serviceAccount: string | undefined;
}

export const isMirrorPod = (pod: KubeObject) =>
  Object.hasOwn(pod.metadata.annotations ?? {}, 'kubernetes.io/config.mirror');

type Json = Record<string, unknown>;

/** Fields of a volume that name a secret. */
const volumeSecrets: string[][] = [
  ['secret', 'secretName'],
  ['csi', 'nodePublishSecretRef', 'name'],
];

export function podReferences(pod: KubeObject): PodReferences {
  const spec = record(pod.spec);
  const containers = ['initContainers', 'containers', 'ephemeralContainers'].flatMap((field) => list(spec[field]));
  const envFrom = containers.flatMap((container) => list(container.envFrom));
  const valueFrom = containers.flatMap((container) => list(container.env)).map((env) => record(env.valueFrom));
  const volumes = list(spec.volumes);
  const projected = volumes.flatMap((volume) => list(record(volume.projected).sources));
  return {
    configMaps: names(
      envFrom.map((source) => at(source, ['configMapRef', 'name'])),
      valueFrom.map((source) => at(source, ['configMapKeyRef', 'name'])),
      volumes.map((volume) => at(volume, ['configMap', 'name'])),
      projected.map((source) => at(source, ['configMap', 'name'])),
    ),
    secrets: names(
      list(spec.imagePullSecrets).map((ref) => ref.name),
      envFrom.map((source) => at(source, ['secretRef', 'name'])),
      valueFrom.map((source) => at(source, ['secretKeyRef', 'name'])),
      volumes.flatMap((volume) => volumeSecrets.map((path) => at(volume, path))),
      projected.map((source) => at(source, ['secret', 'name'])),
    ),
    serviceAccount: typeof spec.serviceAccountName === 'string' ? spec.serviceAccountName : undefined,
  };
}

const record = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.map(record) : []);
const at = (value: Json, path: string[]): unknown =>
  path.reduce<unknown>((inner, field) => record(inner)[field], value);
const names = (...found: unknown[][]) => [
  ...new Set(found.flat().filter((name): name is string => typeof name === 'string' && name !== '')),
];
