/** The paths of discovery: /, /api, /apis and the paths below them that do not name a resource. */

import type { Registry } from '../../../memory-api/registry.js';
import { answerBytes, answerJson, answerPageNotFound, CachedDocument } from '../../../memory-api/requests/answer.js';
import type { Exchange } from '../../../memory-api/requests/exchange.js';
import { noRepresentation } from '../../../memory-api/requests/negotiate.js';
import type { Route } from '../../../memory-api/router.js';
import { methodNotAllowed, noSuchResource, notAcceptable } from '../../../memory-api/status-error.js';
import { aggregatedDiscovery } from './aggregated.js';
import { apiGroup, apiGroupList, apiResourceList, apiVersions, groupsOf } from './groups.js';

const aggregatedVersions = ['v2', 'v2beta1'];
const mediaTypes = ['application/json', 'application/vnd.kubernetes.protobuf'];
/** All are answered with JSON, which every client accepts. */
const knownTypes: ReadonlySet<string> = new Set([...mediaTypes, 'application/*', '*/*']);

export interface DiscoveryOptions {
  registry: Registry;
  /** host:port, shown to clients that ask /api. */
  serverAddress: string;
  /** Other paths that `/` lists. */
  otherPaths: string[];
}

export function discoveryRoutes({ registry, serverAddress, otherPaths }: DiscoveryOptions): Route[] {
  const cached = new Map<string, CachedDocument>();
  const document = (key: string, build: () => unknown): CachedDocument => {
    if (!cached.has(key)) cached.set(key, new CachedDocument(() => registry.generation, build));
    return cached.get(key)!;
  };
  const root = (exchange: Exchange, isCore: boolean, legacy: () => unknown) => {
    const version = aggregatedVersion(exchange.header('accept') ?? '');
    if (version === undefined) return answerJson(exchange, 200, legacy());
    const contentType = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
    const key = `${isCore ? '/api' : '/apis'} ${version}`;
    answerBytes(
      exchange,
      contentType,
      document(key, () => aggregatedDiscovery(registry, version, isCore)),
    );
  };
  return [
    // Kubernetes ignores the method here and in the list of groups.
    { path: '/', handle: (exchange) => answerJson(exchange, 200, { paths: rootPaths(registry, otherPaths) }) },
    readOnly('/api', (exchange) => root(exchange, true, () => apiVersions(serverAddress))),
    readOnly('/api/', (exchange) => {
      if (trimmed(exchange) === '/api') return root(exchange, true, () => apiVersions(serverAddress));
      if (trimmed(exchange) !== '/api/v1') throw noSuchResource();
      answerJson(exchange, 200, apiResourceList(registry, '', 'v1'));
    }),
    { path: '/apis', handle: (exchange) => root(exchange, false, () => apiGroupList(registry)) },
    readOnly('/apis/', (exchange) => {
      const [, , name = '', version] = trimmed(exchange).split('/');
      if (name === '') return root(exchange, false, () => apiGroupList(registry));
      const group = groupsOf(registry).find((entry) => entry.name === name);
      if (group === undefined) return answerPageNotFound(exchange);
      if (version === undefined) return answerJson(exchange, 200, apiGroup(group));
      if (!group.versions.includes(version)) throw noSuchResource();
      answerJson(exchange, 200, apiResourceList(registry, name, version));
    }),
  ];
}

function readOnly(path: string, handle: (exchange: Exchange) => void): Route {
  return {
    path,
    handle(exchange) {
      if (exchange.method !== 'GET') throw methodNotAllowed();
      handle(exchange);
    },
  };
}

function trimmed(exchange: Exchange): string {
  return decodeURIComponent(exchange.path).replace(/\/+$/, '');
}

/** The first form in the Accept header that we have; undefined for the old form. */
function aggregatedVersion(accept: string): string | undefined {
  if (accept.trim() === '') return undefined;
  for (const entry of accept.split(',')) {
    const [type = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const values = new Map(parameters.map((parameter) => parameter.split('=') as [string, string]));
    if (!knownTypes.has(type)) continue;
    if (!values.has('as')) return undefined;
    const version = values.get('v') ?? '';
    const isOurs = values.get('as') === 'APIGroupDiscoveryList' && values.get('g') === 'apidiscovery.k8s.io';
    if (isOurs && aggregatedVersions.includes(version)) return version;
  }
  const isKnown = accept.split(',').some((entry) => knownTypes.has(entry.split(';')[0]!.trim()));
  throw isKnown ? notAcceptable(mediaTypes) : noRepresentation();
}

function rootPaths(registry: Registry, otherPaths: string[]): string[] {
  const groups = groupsOf(registry).filter(({ name }) => name !== '');
  const groupPaths = groups.flatMap(({ name, versions }) => [
    `/apis/${name}`,
    ...versions.map((version) => `/apis/${name}/${version}`),
  ]);
  return [...new Set(['/api', '/api/v1', '/apis', '/apis/', ...groupPaths, ...otherPaths])].sort();
}
