/** /metrics: requests and objects, with the metric names of kube-apiserver. */

import type { Registry } from '../../memory-api/registry.js';
import type { RequestInfo } from '../../memory-api/requests/request-info.js';
import type { Route } from '../../memory-api/router.js';
import type { Store } from '../../memory-api/store/store.js';
import { type Metric, renderMetrics } from '../../metrics.js';

export interface Metrics {
  route: Route;
  /** Called for every answered request. */
  observe(info: RequestInfo | undefined): void;
}

export function createMetrics(registry: Registry, store: Store): Metrics {
  const counts = new Map<string, { labels: Record<string, string>; value: number }>();
  return {
    observe(info) {
      // Only kinds that exist become labels: requests for made-up kinds must not add series without limit.
      const known = info?.isResource && registry.find(info.apiGroup, info.apiVersion, info.resource) !== undefined;
      const labels = known ? { verb: info.verb.toUpperCase(), group: info.apiGroup, resource: info.resource } : {};
      const key = Object.values(labels).join(' ');
      counts.set(key, { labels, value: (counts.get(key)?.value ?? 0) + 1 });
    },
    route: {
      path: '/metrics',
      handle(exchange) {
        const text = renderMetrics([...requests([...counts.values()]), ...objects(registry, store)]);
        exchange.respond(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8; escaping=values' }, text);
      },
    },
  };
}

function requests(counts: { labels: Record<string, string>; value: number }[]): Metric[] {
  const total = { name: 'apiserver_request_total', type: 'counter', help: 'Requests answered.' } as const;
  return counts.map((count) => ({ ...total, ...count }));
}

function objects(registry: Registry, store: Store): Metric[] {
  const stored = registry.all().filter((resource) => resource.answer === undefined && resource.stored === undefined);
  return stored.map(({ group, plural }) => ({
    name: 'apiserver_storage_objects',
    type: 'gauge',
    help: 'Objects in the store.',
    labels: { resource: group === '' ? plural : `${plural}.${group}` },
    value: store.count({ group, resource: plural }),
  }));
}
