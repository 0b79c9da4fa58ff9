/** The controller's metrics in Prometheus' text form, and a sign of life for a liveness probe. */
import { createServer } from 'node:http';
import type { Log } from '../log.js';
import type { ControllerCounters } from './controller.js';

export function renderMetrics(counters: ControllerCounters, isLeader: boolean): string {
  const lines: string[] = [];
  const metric = (name: string, type: 'gauge' | 'counter', help: string, value: number, labels = '') =>
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name}${labels} ${value}`);
  metric('relet_controller_leader', 'gauge', '1 while this process leads.', isLeader ? 1 : 0);
  metric('relet_controller_passes_total', 'counter', 'Looks at one object.', counters.passes);
  metric('relet_controller_retries_total', 'counter', 'Looks that ended in an error.', counters.retries);
  metric('relet_controller_nodeconfigs_made_total', 'counter', 'NodeConfigs made.', counters.nodeConfigsMade);
  metric('relet_controller_grants_written_total', 'counter', 'RoleBindings written.', counters.grantsWritten);
  metric('relet_controller_guards', 'gauge', 'The guards that are in force.', 1, `{guards="${counters.guards}"}`);
  return `${lines.join('\n')}\n`;
}

export interface ControllerMetricsOptions {
  host: string;
  port: number;
  counters: ControllerCounters;
  isLeader(): boolean;
  log: Log;
  signal: AbortSignal;
}

export function serveControllerMetrics({
  host,
  port,
  counters,
  isLeader,
  log,
  signal,
}: ControllerMetricsOptions): void {
  const server = createServer((request, response) => {
    const answers: Record<string, () => string> = {
      '/metrics': () => renderMetrics(counters, isLeader()),
      '/healthz': () => 'ok\n',
    };
    const path = request.url ?? '';
    const answer = request.method === 'GET' && Object.hasOwn(answers, path) ? answers[path] : undefined;
    response.writeHead(answer ? 200 : 404, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(answer?.() ?? 'there are /metrics and /healthz\n');
  });
  server.maxConnections = 16;
  server.headersTimeout = 5000;
  server.requestTimeout = 5000;
  server.once('error', (error) => log.warn('metrics are not served', { host, port, error }));
  server.listen(port, host);
  signal.addEventListener('abort', () => {
    server.close();
    server.closeAllConnections();
  });
}
