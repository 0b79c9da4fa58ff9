/** POST to a pod's eviction (as `kubectl drain` does) and binding (as a scheduler does). */
import type { KubeObject } from '../api/object.js';
import type { Status } from '../api/status.js';
import { rfc3339 } from '../clock.js';
import { evictionError } from './disruption-budget.js';
import { type DeleteOptions, writeOptions } from './options.js';
import { changeStored } from './own-objects.js';
import { readObject } from './requests/body.js';
import { keyOf } from './requests/codec.js';
import type { Exchange } from './requests/exchange.js';
import { negotiateForm } from './requests/negotiate.js';
import type { Presenter } from './requests/presenter.js';
import type { RequestInfo } from './requests/request-info.js';
import type { Resource } from './resource.js';
import { defineResource } from './resources/define.js';
import { podStatus } from './resources/pod-parts.js';
import type { Connector } from './router.js';
import { badRequest, conflict, methodNotAllowed, notFound, plainInternal } from './status-error.js';
import { type DeleteContext, deleteObject } from './verbs/delete.js';
import { admissionRequest, type VerbRequest } from './verbs/verb.js';

const pods = { group: '', resource: 'pods' };
const binding = { group: '', resource: 'pods/binding' };
const evictions = defineResource({
  group: 'policy',
  kind: 'Eviction',
  plural: 'evictions',
  shape: 'policy.v1.Eviction',
  namespaced: true,
});
const bindings = defineResource({ kind: 'Binding', plural: 'bindings', shape: 'core.v1.Binding', namespaced: true });

export function podConnectors(context: DeleteContext, presenter: Presenter): Connector[] {
  const connector = (
    subresource: string,
    kind: Resource,
    act: (request: VerbRequest, context: DeleteContext, body: KubeObject, dryRun: boolean) => Promise<void>,
  ): Connector => ({
    ...pods,
    subresource,
    async handle(exchange, info, resource) {
      if (exchange.method !== 'POST') throw methodNotAllowed();
      const request = requestOf(exchange, info, resource, presenter);
      const { dryRun } = writeOptions(exchange.query, 'CreateOptions');
      const body = await readBody(exchange, info, kind);
      await context.admission.mutate(
        admissionRequest(request, 'CREATE', { object: body, dryRun, options: { dryRun } }),
      );
      await act(request, context, body, dryRun);
      exchange.respond(201, { 'content-type': 'application/json' }, JSON.stringify(success));
    },
  });
  return [connector('eviction', evictions, evict), connector('binding', bindings, bind)];
}

const success: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

function requestOf(exchange: Exchange, info: RequestInfo, resource: Resource, presenter: Presenter): VerbRequest {
  return { exchange, info, resource, form: negotiateForm(exchange.header('accept')), presenter };
}

/** As kubectl before 1.22 sends evictions. */
const olderVersions = ['policy/v1beta1'];

async function readBody(exchange: Exchange, info: RequestInfo, kind: Resource): Promise<KubeObject> {
  const object = await readObject(exchange, kind, 'Ignore', olderVersions);
  const name = object.metadata.name ?? '';
  if (name !== '' && name !== info.name) throw badRequest(`name in URL does not match name in ${kind.kind} object`);
  return object;
}

async function evict(request: VerbRequest, context: DeleteContext, body: KubeObject, dryRun: boolean): Promise<void> {
  const { dryRun: stages = [], ...given } = (body.deleteOptions ?? {}) as Omit<DeleteOptions, 'dryRun'> & {
    dryRun?: string[];
  };
  const { store } = context;
  const { name, namespace } = request.info;
  const stored = store.latest(keyOf(request.resource, namespace, name));
  if (stored === undefined) throw notFound(pods, name);
  // The latest state: a Pod that is being evicted concurrently does not count.
  const inNamespace = (collection: { group: string; resource: string }) =>
    store.list({ ...collection, namespace }).items.flatMap(({ key }) => {
      const latest = store.latest(key);
      return latest === undefined ? [] : [JSON.parse(latest.bytes.toString()) as KubeObject];
    });
  const budgets = inNamespace({ group: 'policy', resource: 'poddisruptionbudgets' });
  // Without budgets, the usual case, Pods need not be read.
  const error =
    budgets.length === 0
      ? undefined
      : evictionError(JSON.parse(stored.bytes.toString()) as KubeObject, budgets, inNamespace(pods));
  if (error !== undefined) throw error;
  // Admission sees the deletion of the pod, not a request to its subresource.
  const deletion = { ...request, info: { ...request.info, subresource: '' } };
  await deleteObject(deletion, context, name, { ...given, dryRun: dryRun || stages.length > 0 });
}

async function bind(
  { info, resource }: VerbRequest,
  { store, clock }: DeleteContext,
  body: KubeObject,
  dryRun: boolean,
): Promise<void> {
  const { target } = body as { target?: { name?: string; kind?: string } };
  const node = target?.name ?? '';
  if (node === '') throw plainInternal('target.name: Required value');
  const key = keyOf(resource, info.namespace, info.name);
  if (store.latest(key) === undefined) throw notFound(pods, info.name);
  await changeStored(store, key, (pod) => {
    const spec = pod.spec as { nodeName?: string };
    if (pod.metadata.deletionTimestamp !== undefined) {
      throw conflict(binding, info.name, `pod ${info.name} is being deleted, cannot be assigned to a host`);
    }
    if (spec.nodeName)
      throw conflict(binding, info.name, `pod ${info.name} is already assigned to node "${spec.nodeName}"`);
    return dryRun ? undefined : scheduled({ ...pod, spec: { ...spec, nodeName: node } }, clock.now());
  });
}

/** The pod with the condition PodScheduled. */
function scheduled(pod: KubeObject, nowMs: number): KubeObject {
  const { conditions = [] } = podStatus(pod);
  const condition = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: rfc3339(nowMs) };
  const others = conditions.filter(({ type }) => type !== condition.type);
  return { ...pod, status: { ...podStatus(pod), conditions: [...others, condition] } };
}
