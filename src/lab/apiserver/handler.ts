/**
 * The way of every request, top to bottom:
 *
 *     authenticate ─► info ─► impersonate ─► authorize ─► route ─► verb ─► admit ─► store
 *          └401                    └403          └403        └404/405    └4xx
 *
 * What stands behind the steps is handed in, so that each can be tested alone.
 */
import { randomUUID } from 'node:crypto';
import type { KubeObject } from '../../api/object.js';
import { ApiError } from '../../api/status.js';
import type { Clock } from '../../clock.js';
import type { Log } from '../../log.js';
import { forbiddenMessage } from './access/authorizer.js';
import type { Admission } from './admission.js';
import type { Authorizer, User } from './attributes.js';
import type { Trace } from './audit/audit-event.js';
import type { AuditLog } from './audit/audit-log.js';
import { answerPageNotFound } from './http/answer.js';
import type { Exchange } from './http/exchange.js';
import { negotiateOutput } from './http/negotiate.js';
import type { Presenter } from './http/presenter.js';
import { type RequestInfo, requestInfo } from './http/request-info.js';
import { apiError, respondError } from './http/respond.js';
import type { Registry } from './registry.js';
import type { Resource } from './resource.js';
import { badRequest, forbidden, methodNotAllowed, noSuchResource, notFound, unauthorized } from './status-error.js';
import type { Store } from './store/store.js';
import { create } from './verbs/create.js';
import { deleteOne } from './verbs/delete.js';
import { deleteCollection } from './verbs/delete-collection.js';
import { get } from './verbs/get.js';
import { list } from './verbs/list.js';
import { patch } from './verbs/patch.js';
import { update } from './verbs/update.js';
import type { Verb } from './verbs/verb.js';
import { watch } from './verbs/watch.js';
import type { WatchClock } from './watch/watch-clock.js';

export interface Authenticator {
  /** Undefined: nobody we know, answered with 401. Anonymous access is the authenticator's decision. */
  authenticate(exchange: Exchange): User | undefined | Promise<User | undefined>;
}

/** Who the request acts as, from Impersonate-* headers; throws 403. Returns the same user where there are none. */
export type Impersonate = (user: User, exchange: Exchange) => User | Promise<User>;

/** Answers for a path that is no resource: /version, /healthz, /openapi/v2, /apis … */
export interface Route {
  /** '/version' matches exactly, '/openapi/v3/' everything below. */
  path: string;
  handle(exchange: Exchange, info: RequestInfo): void | Promise<void>;
}

/** Answers for a subresource that is no part of the object: nodes/proxy, pods/eviction, serviceaccounts/token. */
export interface Connector {
  /** '*': of every resource that has this subresource. */
  group: string;
  resource: string;
  subresource: string;
  handle(exchange: Exchange, info: RequestInfo, resource: Resource): void | Promise<void>;
}

export interface Parts {
  store: Store;
  registry: Registry;
  clock: Clock;
  log: Log;
  authenticator: Authenticator;
  impersonate: Impersonate;
  authorizer: Authorizer;
  admission: Admission;
  presenter: Presenter;
  routes: Route[];
  connectors: Connector[];
  watches: WatchClock;
  /** Absent: nothing is logged. */
  audit?: Pick<AuditLog, 'record'>;
  /** Told of every answered request, for metrics. */
  observe?(exchange: Exchange, info: RequestInfo | undefined, milliseconds: number): void;
}

const verbs: Record<string, Verb> = {
  create,
  get,
  list,
  watch,
  update,
  patch,
  delete: deleteOne,
  deletecollection: deleteCollection,
};

export type Handle = (exchange: Exchange) => Promise<void>;

export function createHandler(parts: Parts): Handle {
  const routes = new Routes(parts.routes);
  return async (exchange) => {
    const started = parts.clock.monotonic();
    const trace = beginTrace(parts);
    try {
      const info = await identify(exchange, parts, trace);
      await dispatch(exchange, info, parts, routes, trace);
    } catch (error) {
      trace.error = apiError(error);
      fail(exchange, trace.info, error, parts.log);
    } finally {
      parts.observe?.(exchange, trace.info, parts.clock.monotonic() - started);
      parts.audit?.record(exchange, trace);
    }
  };
}

function beginTrace({ audit, clock }: Parts): Trace {
  // Only the log wants to know when and under which id.
  const isLogged = audit !== undefined;
  return { auditId: isLogged ? randomUUID() : '', receivedMs: isLogged ? clock.now() : 0, annotations: {} };
}

/** Who asks for what, and whether they may. */
async function identify(exchange: Exchange, parts: Parts, trace: Trace): Promise<RequestInfo> {
  const authenticated = await parts.authenticator.authenticate(exchange);
  if (authenticated === undefined) throw unauthorized();
  trace.authenticated = authenticated;
  const user = await parts.impersonate(authenticated, exchange);
  const info = readInfo(user, exchange);
  trace.info = info;
  const { allowed, reason } = parts.authorizer.authorize(info);
  trace.decision = { allowed, reason };
  if (!allowed) throw refusal(info, reason);
  return info;
}

function refusal(info: RequestInfo, reason: string | undefined): ApiError {
  const resource = info.isResource ? { group: info.apiGroup, resource: info.resource } : { group: '', resource: '' };
  return forbidden(resource, info.isResource ? info.name : '', forbiddenMessage(info, reason));
}

function readInfo(user: User, exchange: Exchange): RequestInfo {
  try {
    return requestInfo(user, exchange.method, exchange.path, exchange.query);
  } catch (error) {
    if (error instanceof URIError) throw badRequest(`invalid URL escape in ${exchange.path}`);
    throw error;
  }
}

async function dispatch(
  exchange: Exchange,
  info: RequestInfo,
  parts: Parts,
  routes: Routes,
  trace: Trace,
): Promise<void> {
  if (!info.isResource) {
    const route = routes.find(exchange.path);
    if (route !== undefined) return route.handle(exchange, info);
    answerPageNotFound(exchange);
    return;
  }
  const resource = parts.registry.find(info.apiGroup, info.apiVersion, info.resource);
  const isPage = resource === undefined || (resource.typedItems === true && isAcross(resource, info));
  if (isPage && !parts.registry.hasBuiltIn(info.apiGroup)) {
    answerPageNotFound(exchange);
    return;
  }
  if (resource === undefined || !fitsScope(resource, info)) throw noSuchResource();
  if (resource.deprecation !== undefined) exchange.warn(resource.deprecation);
  const connector = findConnector(parts, info, resource);
  if (connector !== undefined) return connector.handle(exchange, info, resource);
  const verb = findVerb(exchange.method, info, resource);
  const output = negotiateOutput({
    accept: exchange.header('accept'),
    userAgent: exchange.header('user-agent'),
    query: exchange.query,
    verb: info.verb,
    isOne: info.name !== '' && info.verb !== 'list' && info.verb !== 'watch',
  });
  const annotate = (key: string, value: string) => {
    trace.annotations[key] = value;
  };
  await verb({ exchange, info, resource, output, parts, ...(parts.audit === undefined ? {} : { annotate }) });
}

/** Namespaced kinds are read across namespaces, but not by name; cluster kinds are never in a namespace. */
function fitsScope(resource: Resource, info: RequestInfo): boolean {
  if (info.rest !== '' && info.verb !== 'proxy') return info.subresource === 'proxy';
  if (resource.group === '' && resource.plural === 'namespaces') return true;
  if (!resource.namespaced) return info.namespace === '';
  const isByName = info.name !== '' && info.verb !== 'list' && info.verb !== 'watch';
  return info.namespace !== '' || !isByName;
}

function findConnector({ connectors }: Parts, info: RequestInfo, resource: Resource): Connector | undefined {
  const subresource = info.verb === 'proxy' ? 'proxy' : info.subresource;
  if (subresource === '') return undefined;
  return connectors.find(
    (each) =>
      each.subresource === subresource &&
      (each.group === '*'
        ? Object.hasOwn(resource.subresources, subresource)
        : each.group === info.apiGroup && each.resource === info.resource),
  );
}

function findVerb(method: string, info: RequestInfo, resource: Resource): Verb {
  if (info.name.includes('/')) throw noSuchResource();
  // The paths that begin with watch are for reading.
  if (info.verb === 'watch' && method !== 'GET') throw methodNotAllowed();
  if (info.subresource === '' && (info.name === '.' || info.name === '..'))
    throw badRequest(`Name parameter invalid: "${info.name}": may not be '${info.name}'`);
  // A question has no name under which it could be found.
  if (resource.answer !== undefined && info.name !== '') throw noSuchResource();
  let allowed = resource.verbs;
  if (info.subresource !== '') {
    const subresource = Object.hasOwn(resource.subresources, info.subresource)
      ? resource.subresources[info.subresource]
      : undefined;
    if (subresource === undefined)
      throw resource.typedItems === true
        ? notFound({ group: info.apiGroup, resource: info.resource }, info.name)
        : noSuchResource();
    allowed = subresource.verbs;
  }
  // A collection has no PUT and no PATCH, an object no POST; kinds of CRDs are asked by another hand, which is less strict.
  const isCustom = resource.typedItems === true;
  const isWhole = info.name === '' || info.verb === 'list' || info.verb === 'watch' || info.verb === 'deletecollection';
  const needsName = info.verb === 'get' || info.verb === 'update' || info.verb === 'patch' || info.verb === 'delete';
  const misplaced =
    isAcross(resource, info) ||
    needsName === isWhole ||
    (info.verb === 'create' && info.name !== '' && info.subresource === '' && !isCustom);
  const verb = Object.hasOwn(verbs, info.verb) ? verbs[info.verb] : undefined;
  if (verb === undefined || misplaced || (method === 'HEAD' && !isCustom) || !allowed.includes(info.verb))
    throw methodNotAllowed();
  return verb;
}

/** Across namespaces there is only reading. */
function isAcross(resource: Resource, info: RequestInfo): boolean {
  return resource.namespaced && info.namespace === '' && info.verb !== 'list' && info.verb !== 'watch';
}

function fail(exchange: Exchange, info: RequestInfo | undefined, error: unknown, log: Log): void {
  const isOurs = !(error instanceof ApiError);
  if (isOurs && !exchange.closed) {
    log.error('request failed', { method: exchange.method, path: exchange.path, user: info?.user.name, error });
  }
  respondError(exchange, error);
}

/** Exact paths first, then the longest prefix that ends in a slash. */
class Routes {
  readonly #exact = new Map<string, Route>();
  readonly #prefixes: Route[];

  constructor(routes: Route[]) {
    for (const route of routes) if (!route.path.endsWith('/') || route.path === '/') this.#exact.set(route.path, route);
    this.#prefixes = routes.filter(({ path }) => path.endsWith('/') && path !== '/');
    this.#prefixes.sort((a, b) => b.path.length - a.path.length);
  }

  find(path: string): Route | undefined {
    return this.#exact.get(path) ?? this.#prefixes.find((route) => path.startsWith(route.path));
  }
}

/** Reads what is stored of another kind, for those who decide about this one. */
export function findObject(
  store: Store,
  key: { group: string; resource: string; namespace: string; name: string },
): KubeObject | undefined {
  const stored = store.latest(key);
  return stored && (JSON.parse(stored.bytes.toString('utf8')) as KubeObject);
}
