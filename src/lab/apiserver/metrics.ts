/** /metrics: requests, objects and the process, with the metric names of kube-apiserver. */

import type { Clock } from '../../clock.js';
import { type Metric, renderMetrics } from '../../metrics.js';
import type { Exchange } from './http/exchange.js';
import type { RequestInfo } from './http/request-info.js';
import type { Registry } from './registry.js';
import type { Route } from './router.js';
import type { Store } from './store/store.js';
import { kubernetesVersion } from './version.js';

const bucketsSeconds = [0.005, 0.025, 0.1, 0.5, 1, 5, 60];

interface Series {
  labels: Record<string, string>;
  count: number;
  seconds: number;
  buckets: number[];
}

export interface Metrics {
  route: Route;
  /** Called for every answered request. */
  observe(exchange: Exchange, info: RequestInfo | undefined, milliseconds: number): void;
}

export function createMetrics(registry: Registry, store: Store, clock: Pick<Clock, 'now'>): Metrics {
  const startedMs = clock.now();
  const series = new Map<string, Series>();
  const observe: Metrics['observe'] = (_exchange, info, milliseconds) => {
    const labels = requestLabels(registry, info);
    const key = Object.values(labels).join(' ');
    let entry = series.get(key);
    if (entry === undefined) {
      entry = { labels, count: 0, seconds: 0, buckets: bucketsSeconds.map(() => 0) };
      series.set(key, entry);
    }
    entry.count++;
    // The duration of a watch depends on its client.
    if (info?.verb === 'watch' || info?.verb === 'proxy') return;
    const seconds = milliseconds / 1000;
    entry.seconds += seconds;
    for (const [index, limit] of bucketsSeconds.entries()) if (seconds <= limit) entry.buckets[index]!++;
  };
  const route: Route = {
    path: '/metrics',
    handle(exchange) {
      const text = renderMetrics([
        ...requestMetrics([...series.values()]),
        ...objectMetrics(registry, store),
        ...processMetrics(startedMs),
      ]);
      exchange.respond(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8; escaping=values' }, text);
    },
  };
  return { route, observe };
}

/** Only kinds that exist become labels: requests for made-up kinds must not add series without limit. */
function requestLabels(registry: Registry, info: RequestInfo | undefined): Record<string, string> {
  const known = info?.isResource && registry.find(info.apiGroup, info.apiVersion, info.resource);
  if (info === undefined || !known) return { verb: '', group: '', version: '', resource: '', subresource: '' };
  const { apiGroup: group, apiVersion: version, resource } = info;
  const subresource = Object.hasOwn(known.subresources, info.subresource) ? info.subresource : '';
  return { verb: info.verb.toUpperCase(), group, version, resource, subresource };
}

function requestMetrics(series: Series[]): Metric[] {
  const total = { name: 'apiserver_request_total', type: 'counter', help: 'Requests answered.' } as const;
  const duration = {
    name: 'apiserver_request_duration_seconds',
    type: 'histogram',
    help: 'Duration of requests, without watches.',
  } as const;
  return [
    ...series.map(({ labels, count }) => ({ ...total, labels, value: count })),
    ...series.flatMap(({ labels, count, seconds, buckets }): Metric[] => [
      ...[...bucketsSeconds.map(String), '+Inf'].map(
        (le, index): Metric => ({
          ...duration,
          suffix: '_bucket',
          labels: { ...labels, le },
          value: buckets[index] ?? count,
        }),
      ),
      { ...duration, suffix: '_sum', labels, value: seconds },
      { ...duration, suffix: '_count', labels, value: count },
    ]),
  ];
}

function objectMetrics(registry: Registry, store: Store): Metric[] {
  const stored = registry.all().filter((resource) => resource.answer === undefined && resource.stored === undefined);
  return [
    ...stored.map(
      ({ group, plural }): Metric => ({
        name: 'apiserver_storage_objects',
        type: 'gauge',
        help: 'Objects in the store.',
        labels: { resource: group === '' ? plural : `${plural}.${group}` },
        value: store.count({ group, resource: plural }),
      }),
    ),
    { name: 'relet_store_revision', type: 'gauge', help: 'The newest durable revision.', value: store.revision },
  ];
}

function processMetrics(startedMs: number): Metric[] {
  const { user, system } = process.cpuUsage();
  const gauge = (name: string, help: string, value: number, labels: Record<string, string> = {}): Metric => ({
    name,
    type: 'gauge',
    help,
    value,
    labels,
  });
  return [
    { name: 'process_cpu_seconds_total', type: 'counter', help: 'CPU time used.', value: (user + system) / 1e6 },
    gauge('process_resident_memory_bytes', 'Resident memory.', process.memoryUsage().rss),
    gauge('process_start_time_seconds', 'Start of the process since the epoch.', startedMs / 1000),
    gauge('kubernetes_build_info', 'The version that is served, as a label.', 1, {
      git_version: `v${kubernetesVersion}`,
    }),
  ];
}
