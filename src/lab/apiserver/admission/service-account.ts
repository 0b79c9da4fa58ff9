/** ServiceAccount: every pod runs as one, and gets its token mounted unless pod or account disable that. */

import type { KubeObject } from '../../../api/object.js';
import { quote } from '../../../go/quote.js';
import { isAbout, type Objects, rejection } from '../../../memory-api/admission/rejection.js';
import type { Admission, AdmissionRequest } from '../../../memory-api/admission.js';
import { generateName } from '../../../memory-api/object-meta.js';
import type { Random } from '../../../random.js';
import { isMirrorPod, podReferences } from '../resources/pod-references.js';

const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
const volumePrefix = 'kube-api-access-';

interface Container {
  volumeMounts?: { name: string; readOnly?: boolean; mountPath: string }[];
}

interface PodSpec {
  serviceAccountName?: string;
  /** Its deprecated name, which clients still read. */
  serviceAccount?: string;
  automountServiceAccountToken?: boolean;
  imagePullSecrets?: { name: string }[];
  initContainers?: Container[];
  containers?: Container[];
  volumes?: { name: string; [source: string]: unknown }[];
}

interface ServiceAccount extends KubeObject {
  automountServiceAccountToken?: boolean;
  imagePullSecrets?: { name: string }[];
}

export function serviceAccount(objects: Objects, random: Random): Admission {
  return {
    mutate(request) {
      if (request.operation !== 'CREATE' || !isAbout(request, 'pods') || request.object === undefined) return;
      // The kubelet compares a mirror with its static pod and deletes it when they differ: nothing is added.
      if (isMirrorPod(request.object)) checkMirror(request, request.object);
      else setDefaults(request, request.object, objects, random);
    },
    validate() {},
  };
}

function setDefaults(request: AdmissionRequest, pod: KubeObject, objects: Objects, random: Random): void {
  pod.spec ??= {};
  const spec = pod.spec as PodSpec;
  const name = spec.serviceAccountName || spec.serviceAccount || 'default';
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
  const account = find(request, name, objects);
  if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) mountToken(spec, random);
  if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length)
    spec.imagePullSecrets = account.imagePullSecrets.map(({ name: secret }) => ({ name: secret }));
}

function find(request: AdmissionRequest, name: string, objects: Objects): ServiceAccount {
  const { namespace } = request.attributes;
  const account = objects.find({ group: '', resource: 'serviceaccounts', namespace, name });
  if (account !== undefined) return account;
  throw rejection(
    request,
    `error looking up service account ${namespace}/${name}: serviceaccount ${quote(name)} not found`,
  );
}

function checkMirror(request: AdmissionRequest, pod: KubeObject): void {
  const { serviceAccount: account, secrets } = podReferences(pod);
  if (account) throw rejection(request, 'a mirror pod may not reference service accounts');
  if (secrets.length > 0) throw rejection(request, 'a mirror pod may not reference secrets');
  if (JSON.stringify((pod.spec as PodSpec | undefined)?.volumes ?? []).includes('"serviceAccountToken":'))
    throw rejection(request, 'a mirror pod may not use ServiceAccountToken volume projections');
}

function mountToken(spec: PodSpec, random: Random): void {
  const existing = spec.volumes?.find((volume) => volume.name?.startsWith(volumePrefix));
  const name = existing?.name ?? generateName(volumePrefix, random);
  const containers = [...asList(spec.initContainers), ...asList(spec.containers)];
  const without = containers.filter(
    ({ volumeMounts }) => !volumeMounts?.some((mount) => mount.mountPath === mountPath),
  );
  for (const container of without)
    container.volumeMounts = [...(container.volumeMounts ?? []), { mountPath, name, readOnly: true }];
  if (existing === undefined && without.length > 0)
    spec.volumes = [...(spec.volumes ?? []), { name, projected: tokenSources() }];
}

const asList = (containers: Container[] | undefined) => (Array.isArray(containers) ? containers : []);

function tokenSources() {
  const fieldRef = { apiVersion: 'v1', fieldPath: 'metadata.namespace' };
  return {
    defaultMode: 0o644,
    sources: [
      // An hour and seven seconds: by the odd number Kubernetes recognizes tokens of this default.
      { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
      { configMap: { items: [{ key: 'ca.crt', path: 'ca.crt' }], name: 'kube-root-ca.crt' } },
      { downwardAPI: { items: [{ fieldRef, path: 'namespace' }] } },
    ],
  };
}
