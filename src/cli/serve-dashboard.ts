/** Wires the dashboard: the page's files, connections to the cluster, and the relet child processes for its buttons. */
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import pkg from '../../package.json' with { type: 'json' };
import { systemClock } from '../clock.js';
import { isLoopbackAddress, proxiesOf } from '../dashboard/server/request-checks.js';
import { type DashboardOptions, startDashboard } from '../dashboard/server/server.js';
import { createClient } from '../kube/client.js';
import { createIdentity, type IdentitySource } from '../kube/identity.js';
import { systemFileReader } from '../kube/kubeconfig.js';
import { liveKeepAliveMs } from '../kube/liveness.js';
import type { Log } from '../log.js';
import { systemRandom } from '../random.js';
import type { ConnectionOptions } from './command-line.js';
import { reletExecutable } from './node/kubelet-command.js';
import { runRelet } from './run-relet.js';
import { identitySource } from './session.js';

type Given = Partial<
  Pick<DashboardOptions, 'address' | 'basePath' | 'readOnly' | 'allowedHosts' | 'proxyHeader' | 'trustedProxies'>
>;

export interface ServeOptions extends Given {
  connection: ConnectionOptions;
  /** Default 8440, or any where that is taken. */
  port?: number;
  tls?: { certFile: string; keyFile: string };
  log: Log;
  signal: AbortSignal;
}

export const defaultPort = 8440;
export const loopbackProxies = proxiesOf(['127.0.0.1', '::1'])!;
const defaultAddress = '127.0.0.1';

/** Each link logs in once, as the person who started it; only on a loopback address. */
export async function serveDashboard(options: ServeOptions): Promise<{ url: string; newLink?: () => string }> {
  const { connection, log, signal, tls, port, address = defaultAddress, basePath = '/', proxyHeader } = options;
  // Lists of thousands of objects are garbage once they are reduced to rows; V8 would let the heap grow to four times what is used.
  for (const flag of ['--heap-growing-percent=20', '--semi-space-growth-factor=1']) setFlagsFromString(flag);
  const own = identitySource(connection);
  const isLocal = isLoopbackAddress(address);
  const start = (port: number) =>
    startDashboard({
      address,
      port,
      basePath,
      ...(tls && { tls: { cert: readFileSync(tls.certFile, 'utf8'), key: readFileSync(tls.keyFile, 'utf8') } }),
      readOnly: options.readOnly ?? false,
      allowedHosts: options.allowedHosts ?? [],
      ...(proxyHeader !== undefined && { proxyHeader }),
      trustedProxies: options.trustedProxies ?? loopbackProxies,
      pageDir: join(dirname(reletExecutable()), '..', 'dist', 'dashboard'),
      connect: (token) =>
        token !== undefined ? clientOf(() => withToken(own, token)) : isLocal ? clientOf(own) : undefined,
      run: runRelet,
      memoryMB: memoryMB(),
      version: pkg.version,
      clock: systemClock,
      random: systemRandom,
      log,
      signal,
    });
  const dashboard = await start(port ?? defaultPort).catch((error: NodeJS.ErrnoException) => {
    if (port === undefined && error.code === 'EADDRINUSE') return start(0);
    throw error;
  });
  const host = address.includes(':') ? `[${address}]` : address;
  const url = `${tls ? 'https' : 'http'}://${host}:${dashboard.port}${basePath}`;
  return { url, ...(isLocal && { newLink: () => `${url}#once=${dashboard.newCode()}` }) };
}

/** Memory limit of the pod's cgroup, but at most half of the machine's memory. */
const memoryMB = (): number => Math.floor(Math.min(process.constrainedMemory() || Infinity, totalmem() / 2) / 2 ** 20);

const clientOf = (source: IdentitySource) =>
  createClient({
    source,
    clock: systemClock,
    random: systemRandom,
    userAgent: `relet/${pkg.version} (dashboard)`,
    env: process.env,
    tcpKeepAliveMs: liveKeepAliveMs,
  });

/** The same server; of the user in the kubeconfig nothing is used. */
function withToken(own: IdentitySource, token: string) {
  const connection = { ...own().connection, user: { token }, userName: '' };
  return createIdentity({ connection, env: {}, files: systemFileReader, clock: systemClock });
}
