/** /metrics: requests, objects and the process, under the names kube-apiserver has for them. */

import type { Clock } from '../../clock.js';
import type { Exchange } from './http/exchange.js';
import type { RequestInfo } from './http/request-info.js';
import type { Registry } from './registry.js';
import type { Route } from './router.js';
import type { Store } from './store/store.js';
import { kubernetesVersion } from './version.js';

const bucketsSeconds = [0.005, 0.025, 0.1, 0.5, 1, 5, 60];

interface Series {
  labels: string;
  count: number;
  seconds: number;
  buckets: number[];
}

export interface Metrics {
  route: Route;
  /** Told of every answered request. */
  observe(exchange: Exchange, info: RequestInfo | undefined, milliseconds: number): void;
}

export function createMetrics(registry: Registry, store: Store, clock: Pick<Clock, 'now'>): Metrics {
  const startedMs = clock.now();
  const series = new Map<string, Series>();
  const observe: Metrics['observe'] = (_exchange, info, milliseconds) => {
    const labels = requestLabels(registry, info);
    let entry = series.get(labels);
    if (entry === undefined) {
      entry = { labels, count: 0, seconds: 0, buckets: bucketsSeconds.map(() => 0) };
      series.set(labels, entry);
    }
    entry.count++;
    // A watch lasts as long as its client wants; its length says nothing about the server.
    if (info?.verb === 'watch' || info?.verb === 'proxy') return;
    const seconds = milliseconds / 1000;
    entry.seconds += seconds;
    for (const [index, limit] of bucketsSeconds.entries()) if (seconds <= limit) entry.buckets[index]!++;
  };
  const route: Route = {
    path: '/metrics',
    handle(exchange) {
      const text = [
        ...requestMetrics([...series.values()]),
        ...objectMetrics(registry, store),
        ...processMetrics(startedMs),
      ];
      exchange.respond(
        200,
        { 'content-type': 'text/plain; version=0.0.4; charset=utf-8; escaping=values' },
        `${text.join('\n')}\n`,
      );
    },
  };
  return { route, observe };
}

/** Only kinds that exist become labels: a client that asks for a thousand made-up ones must not grow our memory. */
function requestLabels(registry: Registry, info: RequestInfo | undefined): string {
  const known = info?.isResource && registry.find(info.apiGroup, info.apiVersion, info.resource);
  if (info === undefined || !known) return `verb="",group="",version="",resource="",subresource=""`;
  const { apiGroup, apiVersion, resource } = info;
  const verb = info.verb.toUpperCase();
  const subresource = Object.hasOwn(known.subresources, info.subresource) ? info.subresource : '';
  return `verb="${verb}",group="${apiGroup}",version="${apiVersion}",resource="${resource}",subresource="${subresource}"`;
}

function requestMetrics(series: Series[]): string[] {
  const lines = [
    '# HELP apiserver_request_total Requests answered.',
    '# TYPE apiserver_request_total counter',
    ...series.map(({ labels, count }) => `apiserver_request_total{${labels}} ${count}`),
    '# HELP apiserver_request_duration_seconds How long answers took, watches excepted.',
    '# TYPE apiserver_request_duration_seconds histogram',
  ];
  for (const { labels, count, seconds, buckets } of series) {
    const bucket = (limit: number | '+Inf', value: number) =>
      `apiserver_request_duration_seconds_bucket{${labels},le="${limit}"} ${value}`;
    lines.push(...buckets.map((value, index) => bucket(bucketsSeconds[index]!, value)), bucket('+Inf', count));
    lines.push(`apiserver_request_duration_seconds_sum{${labels}} ${seconds}`);
    lines.push(`apiserver_request_duration_seconds_count{${labels}} ${count}`);
  }
  return lines;
}

function objectMetrics(registry: Registry, store: Store): string[] {
  const stored = registry.all().filter((resource) => resource.answer === undefined && resource.stored === undefined);
  return [
    '# HELP apiserver_storage_objects Objects in the store.',
    '# TYPE apiserver_storage_objects gauge',
    ...stored.map(({ group, plural }) => {
      const name = group === '' ? plural : `${plural}.${group}`;
      return `apiserver_storage_objects{resource="${name}"} ${store.count({ group, resource: plural })}`;
    }),
    '# HELP relet_store_revision The newest durable revision.',
    '# TYPE relet_store_revision gauge',
    `relet_store_revision ${store.revision}`,
  ];
}

function processMetrics(startedMs: number): string[] {
  const { user, system } = process.cpuUsage();
  const { rss } = process.memoryUsage();
  return [
    '# TYPE process_cpu_seconds_total counter',
    `process_cpu_seconds_total ${(user + system) / 1e6}`,
    '# TYPE process_resident_memory_bytes gauge',
    `process_resident_memory_bytes ${rss}`,
    '# TYPE process_start_time_seconds gauge',
    `process_start_time_seconds ${startedMs / 1000}`,
    '# TYPE kubernetes_build_info gauge',
    `kubernetes_build_info{git_version="v${kubernetesVersion}"} 1`,
  ];
}
