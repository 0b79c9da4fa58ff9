/**
 * Serves the metrics of a node: on loopback to anybody on the host, and over TLS to clients that may get /metrics by the API server's
 * authorization. The latter uses the kubelet's serving certificate, which scrapers of kubelets trust already.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeOptions } from '../../agent/options.js';
import type { Clock } from '../../clock.js';
import { PathAccess } from '../../kube/access-review.js';
import type { KubeClient } from '../../kube/client.js';
import type { Log } from '../../log.js';
import { serveMetrics } from '../../metrics.js';

export interface NodeMetricsOptions {
  options: Pick<NodeOptions, 'metricsAddress' | 'metricsSecureAddress' | 'metricsCertFile' | 'metricsKeyFile'>;
  /** The kubelet's --cert-dir. */
  certDir: string | undefined;
  render: () => string;
  client: () => KubeClient | undefined;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

export function serveNodeMetrics({ options, certDir, render, client, clock, log, signal }: NodeMetricsOptions): void {
  const { metricsAddress, metricsSecureAddress, metricsCertFile, metricsKeyFile } = options;
  const common = { paths: { '/metrics': render }, log, signal };
  if (metricsAddress) void serveMetrics({ ...metricsAddress, ...common });
  if (!metricsSecureAddress) return;
  const access = new PathAccess({ client, clock });
  const certificate = () => {
    const [cert, key] = metricsCertFile
      ? [metricsCertFile, metricsKeyFile ?? metricsCertFile]
      : kubeletCertificate(certDir || '/var/lib/kubelet/pki');
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  };
  const secure = { certificate, check: access.check.bind(access) };
  void serveMetrics({ ...metricsSecureAddress, ...common, secure });
}

/** The one that the cluster signed (serverTLSBootstrap), else the one that the kubelet made for itself. */
function kubeletCertificate(dir: string): [cert: string, key: string] {
  const signed = join(dir, 'kubelet-server-current.pem');
  return existsSync(signed) ? [signed, signed] : [join(dir, 'kubelet.crt'), join(dir, 'kubelet.key')];
}
