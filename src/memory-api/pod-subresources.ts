/** The eviction subresource of Pods: POST, as `kubectl drain` sends it. */
import type { KubeObject } from '../api/object.js';
import type { Status } from '../api/status.js';
import { evictionError } from './disruption-budget.js';
import { type DeleteOptions, writeOptions } from './options.js';
import { readObject } from './requests/body.js';
import { keyOf } from './requests/codec.js';
import type { Exchange } from './requests/exchange.js';
import { negotiateForm } from './requests/negotiate.js';
import type { Presenter } from './requests/presenter.js';
import type { RequestInfo } from './requests/request-info.js';
import type { Resource } from './resource.js';
import { defineResource } from './resources/define.js';
import type { Connector } from './router.js';
import { badRequest, methodNotAllowed, notFound } from './status-error.js';
import { type DeleteContext, deleteObject } from './verbs/delete.js';
import { admissionRequest, type VerbRequest } from './verbs/verb.js';

const pods = { group: '', resource: 'pods' };
const evictions = defineResource({
  group: 'policy',
  kind: 'Eviction',
  plural: 'evictions',
  shape: 'policy.v1.Eviction',
  namespaced: true,
});

export function podConnectors(context: DeleteContext, presenter: Presenter): Connector[] {
  return [
    {
      ...pods,
      subresource: 'eviction',
      async handle(exchange, info, resource) {
        if (exchange.method !== 'POST') throw methodNotAllowed();
        const request = requestOf(exchange, info, resource, presenter);
        const { dryRun } = writeOptions(exchange.query, 'CreateOptions');
        const object = await readBody(exchange, info);
        await context.admission.mutate(admissionRequest(request, 'CREATE', { object, dryRun, options: { dryRun } }));
        await evict(request, context, object, dryRun);
        exchange.respond(201, { 'content-type': 'application/json' }, JSON.stringify(success));
      },
    },
  ];
}

const success: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

function requestOf(exchange: Exchange, info: RequestInfo, resource: Resource, presenter: Presenter): VerbRequest {
  return { exchange, info, resource, form: negotiateForm(exchange.header('accept')), presenter };
}

/** As kubectl before 1.22 sends evictions. */
const olderVersions = ['policy/v1beta1'];

async function readBody(exchange: Exchange, info: RequestInfo): Promise<KubeObject> {
  const object = await readObject(exchange, evictions, 'Ignore', olderVersions);
  const name = object.metadata.name ?? '';
  if (name !== '' && name !== info.name) throw badRequest('name in URL does not match name in Eviction object');
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
