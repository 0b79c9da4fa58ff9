/** Dispatches an authorized request: to a route for a path, a connector for a subresource, or a verb for a resource. */

import type { Registry } from './registry.js';
import { answerPageNotFound } from './requests/answer.js';
import type { Exchange } from './requests/exchange.js';
import { negotiateForm } from './requests/negotiate.js';
import type { Presenter } from './requests/presenter.js';
import type { RequestInfo } from './requests/request-info.js';
import { isCustom, type Resource } from './resource.js';
import { badRequest, methodNotAllowed, noSuchResource, notFound } from './status-error.js';
import type { Verb } from './verbs/verb.js';

/** Answers for a path that is not a resource: /version, /healthz, /openapi/v2, /apis … */
export interface Route {
  /** '/version' matches exactly, '/openapi/v3/' everything below. */
  path: string;
  handle(exchange: Exchange, info: RequestInfo): void | Promise<void>;
}

/** Answers for a subresource that is not part of the object: nodes/proxy, pods/eviction, serviceaccounts/token. */
export interface Connector {
  /** '*': of every resource that has this subresource. */
  group: string;
  resource: string;
  subresource: string;
  handle(exchange: Exchange, info: RequestInfo, resource: Resource): void | Promise<void>;
}

export interface RouterOptions {
  registry: Registry;
  presenter: Presenter;
  routes: Route[];
  connectors: Connector[];
  verbs: Record<string, Verb>;
}

export type Dispatch = (exchange: Exchange, info: RequestInfo) => void | Promise<void>;

export function createRouter({ registry, presenter, connectors, verbs, ...options }: RouterOptions): Dispatch {
  const routes = new Routes(options.routes);
  return (exchange, info) => {
    if (!info.isResource) {
      const route = routes.find(exchange.path);
      return route === undefined ? answerPageNotFound(exchange) : route.handle(exchange, info);
    }
    const resource = registry.find(info.apiGroup, info.apiVersion, info.resource);
    const isPage = resource === undefined || (isCustom(resource) && isAcross(resource, info));
    if (isPage && !registry.hasBuiltIn(info.apiGroup)) return answerPageNotFound(exchange);
    if (resource === undefined || !fitsScope(resource, info)) throw noSuchResource();
    if (resource.deprecation !== undefined) exchange.warn(resource.deprecation);
    const connector = findConnector(connectors, info, resource);
    if (connector !== undefined) return connector.handle(exchange, info, resource);
    const verb = findVerb(verbs, exchange.method, info, resource);
    return verb({ exchange, info, resource, form: negotiateForm(exchange.header('accept')), presenter });
  };
}

/** Namespaced kinds are read across namespaces, but not by name; cluster kinds are never in a namespace. */
function fitsScope(resource: Resource, info: RequestInfo): boolean {
  if (info.rest !== '' && info.verb !== 'proxy') return info.subresource === 'proxy';
  if (resource.group === '' && resource.plural === 'namespaces') return true;
  if (!resource.namespaced) return info.namespace === '';
  const isByName = info.name !== '' && info.verb !== 'list' && info.verb !== 'watch';
  return info.namespace !== '' || !isByName;
}

function findConnector(connectors: Connector[], info: RequestInfo, resource: Resource): Connector | undefined {
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

function findVerb(verbs: Record<string, Verb>, method: string, info: RequestInfo, resource: Resource): Verb {
  if (info.name.includes('/')) throw noSuchResource();
  // The paths that begin with watch are for reading.
  if (info.verb === 'watch' && method !== 'GET') throw methodNotAllowed();
  if (info.subresource === '' && (info.name === '.' || info.name === '..'))
    throw badRequest(`Name parameter invalid: "${info.name}": may not be '${info.name}'`);
  // Reviews have no name under which they could be found.
  if (resource.answer !== undefined && info.name !== '') throw noSuchResource();
  let allowed = resource.verbs;
  if (info.subresource !== '') {
    const subresource = Object.hasOwn(resource.subresources, info.subresource)
      ? resource.subresources[info.subresource]
      : undefined;
    if (subresource === undefined)
      throw isCustom(resource)
        ? notFound({ group: info.apiGroup, resource: info.resource }, info.name)
        : noSuchResource();
    allowed = subresource.verbs;
  }
  // A collection has no PUT and no PATCH, an object no POST. Kubernetes serves custom resources with another handler, which
  // is less strict.
  const isWhole = info.name === '' || info.verb === 'list' || info.verb === 'watch' || info.verb === 'deletecollection';
  const needsName = info.verb === 'get' || info.verb === 'update' || info.verb === 'patch' || info.verb === 'delete';
  const misplaced =
    isAcross(resource, info) ||
    needsName === isWhole ||
    (info.verb === 'create' && info.name !== '' && info.subresource === '' && !isCustom(resource));
  const verb = Object.hasOwn(verbs, info.verb) ? verbs[info.verb] : undefined;
  if (verb === undefined || misplaced || (method === 'HEAD' && !isCustom(resource)) || !allowed.includes(info.verb))
    throw methodNotAllowed();
  return verb;
}

/** Across namespaces there is only reading. */
function isAcross(resource: Resource, info: RequestInfo): boolean {
  return resource.namespaced && info.namespace === '' && info.verb !== 'list' && info.verb !== 'watch';
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
