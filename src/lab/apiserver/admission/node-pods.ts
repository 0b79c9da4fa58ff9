/** More rules for pods of a node: it may report, evict and delete those bound to it, and request tokens on their behalf. */

import type { KubeObject } from '../../../api/object.js';
import { quote } from '../../../go/quote.js';
import { nameOf, type Objects, rejection } from '../../../memory-api/admission/rejection.js';
import type { AdmissionRequest } from '../../../memory-api/admission.js';
import { isSameJson } from '../../../memory-api/json-equality.js';
import { notFound } from '../../../memory-api/status-error.js';

interface Pod extends KubeObject {
  spec?: { nodeName?: string };
  status?: { resourceClaimStatuses?: unknown[] };
}

const nodeOf = (pod: Pod) => pod.spec?.nodeName ?? '';

export function admitPodDelete(node: string, request: AdmissionRequest, objects: Objects): void {
  const pod = request.oldObject ?? existingPod(request, nameOf(request), objects);
  if (nodeOf(pod) !== node)
    throw rejection(request, `node ${quote(node)} can only delete pods with spec.nodeName set to itself`);
}

export function admitPodStatus(node: string, request: AdmissionRequest): void {
  const { operation, object, oldObject } = request as { operation: string; object?: Pod; oldObject?: Pod };
  const who = `node ${quote(node)}`;
  if (operation !== 'UPDATE' || object === undefined || oldObject === undefined)
    throw rejection(request, `unexpected operation ${quote(operation)}`);
  if (nodeOf(oldObject) !== node)
    throw rejection(request, `${who} can only update pod status for pods with spec.nodeName set to itself`);
  if (!isSameJson(object.metadata.labels ?? {}, oldObject.metadata.labels ?? {}))
    throw rejection(request, `${who} cannot update labels through pod status`);
  if (!isSameJson(object.status?.resourceClaimStatuses ?? [], oldObject.status?.resourceClaimStatuses ?? []))
    throw rejection(request, `${who} cannot update resource claim statues`);
}

export function admitPodEviction(node: string, request: AdmissionRequest, objects: Objects): void {
  if (request.operation !== 'CREATE') throw rejection(request, `unexpected operation ${request.operation}`);
  const name = nameOf(request);
  if (name === '') throw rejection(request, 'could not determine pod from request data');
  if (nodeOf(existingPod(request, name, objects)) !== node)
    throw rejection(request, `node ${node} can only evict pods with spec.nodeName set to itself`);
}

interface TokenRequestSpec {
  audiences?: string[];
  boundObjectRef?: { apiVersion?: string; kind?: string; name?: string; uid?: string };
}

/** A token must be bound to a pod of this node, and only for an audience that the pod itself asks for. */
export function admitToken(node: string, request: AdmissionRequest, objects: Objects): void {
  if (request.operation !== 'CREATE' || request.attributes.subresource !== 'token') return;
  const { boundObjectRef: bound, audiences = [] } = (request.object?.spec ?? {}) as TokenRequestSpec;
  if (bound?.apiVersion !== 'v1' || bound.kind !== 'Pod' || !bound.name)
    throw rejection(request, 'node requested token not bound to a pod');
  if (!bound.uid) throw rejection(request, 'node requested token with a pod binding without a uid');
  const pod = existingPod(request, bound.name, objects);
  if (bound.uid !== pod.metadata.uid)
    throw rejection(
      request,
      `the UID in the bound object reference (${bound.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  if (nodeOf(pod) !== node)
    throw rejection(request, 'node requested token bound to a pod scheduled on a different node');
  if (audiences.length > 1) throw rejection(request, 'node may only request 0 or 1 audiences');
  if (!audiencesOf(pod).includes(audiences[0] ?? ''))
    throw rejection(request, `audience ${quote(audiences[0] ?? '')} not found in pod spec volume`);
}

interface TokenVolume {
  projected?: { sources?: { serviceAccountToken?: { audience?: string } }[] };
}

function audiencesOf(pod: KubeObject): string[] {
  const volumes = (pod.spec as { volumes?: TokenVolume[] } | undefined)?.volumes ?? [];
  return volumes
    .flatMap((volume) => volume.projected?.sources ?? [])
    .flatMap((source) => (source.serviceAccountToken === undefined ? [] : [source.serviceAccountToken.audience ?? '']));
}

function existingPod(request: AdmissionRequest, name: string, objects: Objects): Pod {
  const key = { group: '', resource: 'pods', namespace: request.attributes.namespace, name };
  const pod = objects.find(key);
  if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, name);
  return pod;
}
