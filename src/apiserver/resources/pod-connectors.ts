/** Two ways to act on a pod without writing it: eviction (what `kubectl drain` asks for) and binding (what a scheduler does). */
import type { KubeObject } from '../../api/object.js';
import { badRequest, methodNotAllowed } from '../../api/status-error.js';
import { answerJson } from '../answer.js';
import { readObject } from '../body.js';
import type { Exchange } from '../exchange.js';
import type { Connector, Parts } from '../handler.js';
import { timestamp } from '../object-meta.js';
import { type DeleteOptions, writeOptions } from '../options.js';
import type { RequestInfo } from '../request-info.js';
import type { Resource } from '../resource.js';
import { changeObject } from '../verbs/change.js';
import { deleteObject } from '../verbs/delete.js';
import type { VerbRequest } from '../verbs/verb.js';
import { builtIn } from './define.js';
import { podSpec, podStatus } from './pod-parts.js';

const evictions = builtIn({
  group: 'policy',
  kind: 'Eviction',
  plural: 'evictions',
  shape: 'policy.v1.Eviction',
  namespaced: true,
});
const bindings = builtIn({ kind: 'Binding', plural: 'bindings', shape: 'core.v1.Binding', namespaced: true });

export const podConnectors: Connector[] = [
  { group: '', resource: 'pods', subresource: 'eviction', handle: evict },
  { group: '', resource: 'pods', subresource: 'binding', handle: bind },
];

/** There are no disruption budgets here, so every eviction is a deletion. */
async function evict(exchange: Exchange, info: RequestInfo, resource: Resource, parts: Parts): Promise<void> {
  const { object, request, dryRun } = await read(exchange, info, resource, parts, evictions);
  checkName(object, info);
  const options = (object.deleteOptions ?? {}) as Omit<DeleteOptions, 'dryRun'> & { dryRun?: string[] };
  const isDry = dryRun || (options.dryRun ?? []).length > 0;
  await deleteObject(request, info.name, { ...options, dryRun: isDry });
  succeed(exchange);
}

async function bind(exchange: Exchange, info: RequestInfo, resource: Resource, parts: Parts): Promise<void> {
  const { object, request, options } = await read(exchange, info, resource, parts, bindings);
  checkName(object, info);
  const nodeName = (object.target as { name?: string } | undefined)?.name ?? '';
  if (nodeName === '') throw badRequest('binding.target.name is required');
  const produce = (current: KubeObject | undefined) => bound(current!, nodeName, timestamp(parts.clock.now()));
  await changeObject(request, { options, createsMissing: false, produce });
  succeed(exchange);
}

async function read(exchange: Exchange, info: RequestInfo, resource: Resource, parts: Parts, kind: Resource) {
  if (exchange.method !== 'POST') throw methodNotAllowed();
  const options = writeOptions(exchange.query, 'CreateOptions');
  const object = await readObject(exchange, kind, options.fieldValidation);
  const output = { type: 'json' as const, pretty: false, form: undefined };
  const request: VerbRequest = { exchange, info, resource, output, parts };
  return { object, request, options, dryRun: options.dryRun };
}

function checkName({ kind, metadata }: KubeObject, info: RequestInfo): void {
  const named = metadata.name ?? '';
  if (named !== '' && named !== info.name)
    throw badRequest(`name in URL does not match name in ${kind} object: ${info.name} != ${named}`);
}

function bound(pod: KubeObject, nodeName: string, now: string): KubeObject {
  const { nodeName: taken } = podSpec(pod);
  if (taken) throw badRequest(`pod ${pod.metadata.name} is already assigned to node ${JSON.stringify(taken)}`);
  const scheduled = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: now };
  const others = (podStatus(pod).conditions ?? []).filter(({ type }) => type !== scheduled.type);
  return {
    ...pod,
    spec: { ...podSpec(pod), nodeName },
    status: { ...podStatus(pod), conditions: [...others, scheduled] },
  };
}

function succeed(exchange: Exchange): void {
  answerJson(exchange, 201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
}
