/** Metrics in Prometheus' text form: upstream's four under their names, and relet's own. Served on loopback by default. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Log } from '../../log.js';
import { apiPath, type SourceOrLocal } from '../source.js';
import type { Report } from './report.js';

export interface Counters {
  kubeletStarts: number;
  /** Ends that nobody asked for. */
  kubeletDeaths: number;
  refusals: number;
  rollbacks: number;
  graduations: number;
  /** Changes that had to wait because others came shortly before them. */
  delayedChanges: number;
}

export const newCounters = (): Counters => ({
  kubeletStarts: 0,
  kubeletDeaths: 0,
  refusals: 0,
  rollbacks: 0,
  graduations: 0,
  delayedChanges: 0,
});

export interface MetricsState {
  report: Report | undefined;
  counters: Counters;
  /** Healthy time of the config on trial, in seconds; undefined when none is. */
  trialSeconds: number | undefined;
  held: boolean;
}

export function render({ report, counters, trialSeconds, held }: MetricsState): string {
  const lines: string[] = [];
  const metric = (name: string, type: 'gauge' | 'counter', help: string, value: number, labels = '') =>
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name}${labels} ${value}`);
  if (report !== undefined) {
    const { assigned, active, lastKnownGood } = report;
    const gauge = (name: string, help: string, source: SourceOrLocal) =>
      metric(`kubelet_node_config_${name}`, 'gauge', help, 1, labelsOf(source));
    gauge('assigned', 'The node is assigned the config that the labels name.', assigned);
    gauge('active', 'The kubelet runs with the config that the labels name.', active);
    gauge('last_known_good', 'The node falls back to the config that the labels name.', lastKnownGood);
    const failed = report.syncFault ?? report.fault;
    metric('kubelet_node_config_error', 'gauge', '1 while the node reports an error about its config.', failed ? 1 : 0);
    metric('relet_config_warnings', 'gauge', 'Warnings about the active config.', report.warnings.length);
  }
  metric('relet_kubelet_starts_total', 'counter', 'Starts of the kubelet.', counters.kubeletStarts);
  metric('relet_kubelet_deaths_total', 'counter', 'Ends of the kubelet that nobody asked for.', counters.kubeletDeaths);
  metric('relet_config_refusals_total', 'counter', 'Assigned configs that were refused.', counters.refusals);
  metric('relet_config_rollbacks_total', 'counter', 'Configs whose trial failed.', counters.rollbacks);
  metric('relet_config_graduations_total', 'counter', 'Configs that became last known good.', counters.graduations);
  metric(
    'relet_config_changes_delayed_total',
    'counter',
    'Config changes that were followed later because others came shortly before them.',
    counters.delayedChanges,
  );
  metric('relet_held', 'gauge', '1 while the node is held and follows no new assignment.', held ? 1 : 0);
  if (trialSeconds !== undefined)
    metric('relet_trial_healthy_seconds', 'gauge', 'Healthy time of the config on trial.', trialSeconds);
  return `${lines.join('\n')}\n`;
}

function labelsOf(source: SourceOrLocal): string {
  const values: [string, string][] = [
    ['node_config_kubelet_key', source?.kubeletConfigKey ?? ''],
    ['node_config_resource_version', source?.resourceVersion ?? ''],
    ['node_config_source', source ? apiPath(source) : 'local'],
    ['node_config_uid', source?.uid ?? ''],
  ];
  return `{${values.map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escapeLabel)}"`).join(',')}}`;
}

function escapeLabel(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`;
}

export interface MetricsServerOptions {
  host: string;
  port: number;
  state(): MetricsState;
  log: Log;
  signal: AbortSignal;
}

/** Serves until the signal fires. A port that is taken is no reason to leave a node without its kubelet. */
export async function serveMetrics({
  host,
  port,
  state,
  log,
  signal,
}: MetricsServerOptions): Promise<number | undefined> {
  const server = createServer((request, response) => {
    const found = request.method === 'GET' && request.url === '/metrics';
    response.writeHead(found ? 200 : 404, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(found ? render(state()) : 'metrics are at /metrics\n');
  });
  // One scraper and one person: more connections than this are a mistake or an attack.
  server.maxConnections = 16;
  server.headersTimeout = 5000;
  server.requestTimeout = 5000;
  return new Promise((resolve) => {
    server.once('error', (error) => {
      log.warn('metrics are not served', { host, port, error });
      resolve(undefined);
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
    signal.addEventListener('abort', () => {
      server.close();
      server.closeAllConnections();
    });
  });
}
