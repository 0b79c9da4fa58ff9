/** The pods a node may create: mirrors of its static pods, owned by its own Node, that reference no other objects. */

import type { OwnerReference } from '../../../api/object.js';
import { quote } from '../../../go/quote.js';
import { type Objects, rejection } from '../../../memory-api/admission/rejection.js';
import type { AdmissionRequest } from '../../../memory-api/admission.js';
import { notFound } from '../../../memory-api/status-error.js';
import { isMirrorPod, podReferences } from '../resources/pod-references.js';

export function admitMirrorPod(node: string, request: AdmissionRequest, objects: Objects): void {
  const pod = request.object!;
  const who = `node ${quote(node)}`;
  const spec = (pod.spec ?? {}) as { nodeName?: string; serviceAccountName?: string; volumes?: unknown };
  if (!isMirrorPod(pod))
    throw rejection(
      request,
      `pod does not have "kubernetes.io/config.mirror" annotation, ${who} can only create mirror pods`,
    );
  if (spec.nodeName !== node) throw rejection(request, `${who} can only create pods with spec.nodeName set to itself`);
  const why = ownerFault(who, node, pod.metadata.ownerReferences ?? []);
  if (why !== undefined) throw rejection(request, why);
  checkOwnerUid(node, request, pod.metadata.ownerReferences![0]!, objects);

  const { secrets, configMaps } = podReferences(pod);
  if (spec.serviceAccountName) throw rejection(request, `${who} can not create pods that reference a service account`);
  if (secrets.length > 0) throw rejection(request, `${who} can not create pods that reference secrets`);
  if (configMaps.length > 0) throw rejection(request, `${who} can not create pods that reference configmaps`);
  const volumes = Array.isArray(spec.volumes) ? (spec.volumes as Volume[]) : [];
  if (volumes.some((volume) => volume?.projected?.sources?.some((source) => source.clusterTrustBundle != null)))
    throw rejection(request, `${who} can not create pods that reference clustertrustbundles`);
  if (volumes.some((volume) => volume?.persistentVolumeClaim != null))
    throw rejection(request, `${who} can not create pods that reference persistentvolumeclaims`);
}

interface Volume {
  projected?: { sources?: { clusterTrustBundle?: unknown }[] };
  persistentVolumeClaim?: unknown;
}

function ownerFault(who: string, node: string, owners: OwnerReference[]): string | undefined {
  const [owner] = owners;
  if (owners.length > 1) return `${who} can only create pods with a single owner reference set to itself`;
  if (owner === undefined || owner.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node)
    return `${who} can only create pods with an owner reference set to itself`;
  if (owner.controller !== true) return `${who} can only create pods with a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion === true) return `${who} must not set blockOwnerDeletion on an owner reference`;
  return undefined;
}

/** A Node that was deleted and created again is another node. */
function checkOwnerUid(name: string, request: AdmissionRequest, owner: OwnerReference, objects: Objects): void {
  const node = objects.find({ group: '', resource: 'nodes', namespace: '', name });
  if (node === undefined) throw notFound({ group: '', resource: 'nodes' }, name);
  if (owner.uid !== node.metadata.uid)
    throw rejection(request, `node ${name} UID mismatch: expected ${owner.uid} got ${node.metadata.uid}`);
}
