/**
 * The embedded control plane, put together: store, kinds, access, and the handler that every request goes through. With a
 * socket (startApiServer) or without one (createControlPlane), for tests and for what runs in the same process.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../clock.js';
import { type Log, silentLog } from '../../log.js';
import { makeDirectory } from '../../make-directory.js';
import { type Access, type AccessOptions, createAccess } from './access/access.js';
import { inTurn } from './admission.js';
import { openAuditLog } from './audit/audit-log.js';
import { backupRoute } from './backup/backup.js';
import { finishRestore } from './backup/restore.js';
import { startDefinitionCleanup } from './crd/cleanup.js';
import { customResourceDefinitions } from './crd/definitions.js';
import { serveDefinedKinds } from './crd/served-kinds.js';
import { discoveryRoutes } from './discovery/routes.js';
import { expireEvents } from './event-expiry.js';
import { startGarbageCollector } from './garbage/collector.js';
import { createHandler, findObject, type Handle, type Parts } from './handler.js';
import { healthRoutes } from './health.js';
import { type ServerLimits, startServer } from './http/server.js';
import { tablePresenter } from './http/table.js';
import { createMetrics } from './metrics.js';
import { ensureSystemNamespaces, startNamespaceController } from './namespace-controller.js';
import { openApiRoutes } from './openapi/routes.js';
import { serverUrl, writeKubeconfig } from './pki/admin-kubeconfig.js';
import { openPki, type Pki } from './pki/pki.js';
import { podConnectors } from './pod-subresources.js';
import { type Policies, validatingPolicies } from './policy/policy-admission.js';
import { Registry } from './registry.js';
import type { Resource } from './resource.js';
import { builtInResources } from './resources/built-in.js';
import { scaleConnector } from './scale-subresource.js';
import { openStore } from './store/open-store.js';
import type { HistoryLimits } from './store/revision-store.js';
import type { Store } from './store/store.js';
import { versionRoutes } from './version.js';
import { WatchClock } from './watch/watch-clock.js';

type AccessChoices = Pick<AccessOptions, 'modes' | 'nodeConfigAccess' | 'anonymous' | 'tokens' | 'kubeletCa'>;

export interface ControlPlaneOptions extends AccessChoices {
  /** Where the store is; absent: in memory. */
  storeDirectory?: string;
  /** The feature gate that keeps Node.spec.configSource and Node.status.config alive. Default true. */
  dynamicKubeletConfig?: boolean;
  history?: HistoryLimits;
  /** Delete what lost its owners, and finish foreground and orphan deletions. Default true. */
  garbageCollection?: boolean;
  /** A line for every request is appended to this file; absent: none is. */
  auditLogPath?: string;
  /** What /version tells of relet. */
  version?: string;
  clock?: Clock;
  log?: Log;
}

export interface ControlPlane {
  handle: Handle;
  store: Store;
  registry: Registry;
  /** Ends watches, lets writes finish, lets go of the disk. */
  close(): Promise<void>;
}

/** What only a server with a socket has. */
interface Identity extends Pick<AccessOptions, 'serviceAccountKey' | 'kubeletClient' | 'ownPort'> {
  /** host:port, told to clients that ask /api. */
  address(): string;
}

export async function createControlPlane(options: ControlPlaneOptions & Identity): Promise<ControlPlane> {
  const { clock = systemClock, log = silentLog } = options;
  const store = await openStore(options.storeDirectory, clock, options.history);
  try {
    return await assemble({ ...options, clock, log }, store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function assemble(
  options: ControlPlaneOptions & Identity & { clock: Clock; log: Log },
  store: Store,
): Promise<ControlPlane> {
  const { clock, log, auditLogPath } = options;
  const audit = auditLogPath === undefined ? undefined : await openAuditLog(auditLogPath, clock, log);
  const access = createAccess({ ...options, store });
  const registry = new Registry([
    ...builtInResources({ dynamicKubeletConfig: options.dynamicKubeletConfig ?? true }),
    ...access.resources,
  ]);
  registry.replace([], [customResourceDefinitions({ registry, clock })]);
  const ended = new AbortController();
  const stops = [
    serveDefinedKinds(store, registry),
    () => access.stop(),
    () => ended.abort(new Error('the server is closing')),
  ];
  await ensureSystemNamespaces({ store, registry, clock, log });
  await access.start();
  stops.push(startNamespaceController({ store, registry, clock, log }), startDefinitionCleanup({ store, clock, log }));
  if (options.garbageCollection ?? true) stops.push(startGarbageCollector({ store, registry, clock, log }));
  void expireEvents(store, clock, log, ended.signal);

  const { authorizer } = access;
  const policies = validatingPolicies({
    store,
    registry,
    authorizer,
    objects: { find: (key) => findObject(store, key) },
  });
  stops.push(() => policies.stop());
  const parts = partsOf(options, store, registry, access, policies);
  if (audit !== undefined) parts.audit = audit;
  const isServed = ({ group, version, plural }: Resource) => registry.find(group, version, plural) !== undefined;
  stops.push(registry.onChange(() => parts.watches.endUnserved(isServed)));
  return {
    handle: createHandler(parts),
    store,
    registry,
    async close() {
      parts.watches.close();
      for (const stop of stops) stop();
      await store.close();
      await audit?.close();
    },
  };
}

function partsOf(
  options: ControlPlaneOptions & Identity & { clock: Clock; log: Log },
  store: Store,
  registry: Registry,
  access: Access,
  policies: Policies,
): Parts {
  const { clock, log } = options;
  const metrics = createMetrics(registry, store);
  const health = healthRoutes([{ name: 'store', check: () => throwFailure(store) }]);
  const openApi = openApiRoutes(registry);
  const versions = versionRoutes(options.version ?? '0.0.0');
  const others = [...health, ...openApi, ...versions, metrics.route, backupRoute(store, clock), ...access.routes];
  const otherPaths = others.map(({ path }) => path).filter((path) => !path.endsWith('/') || path === '/openapi/v3/');
  const parts: Parts = {
    store,
    registry,
    clock,
    log,
    authenticator: access.authenticator,
    impersonate: access.impersonate,
    authorizer: access.authorizer,
    admission: inTurn([access.admission, policies]),
    presenter: tablePresenter(() => new Date(clock.now())),
    routes: [...others, ...discoveryRoutes({ registry, serverAddress: options.address(), otherPaths })],
    connectors: [...access.connectors, ...podConnectors(() => parts), scaleConnector(() => parts)],
    watches: new WatchClock(clock),
    observe: metrics.observe,
  };
  return parts;
}

/** A server that cannot write is not ready, though it still answers reads. */
function throwFailure({ failure }: Store): void {
  if (failure !== undefined) throw failure;
}

export interface ApiServerOptions extends ControlPlaneOptions {
  /** Certificates, kubeconfig and store live here; absent: in memory, with certificates in a directory that goes with the server. */
  dataDir?: string;
  /** Where objects are kept. Default disk, or memory where there is no dataDir. */
  storage?: 'disk' | 'memory';
  /** Default 127.0.0.1. */
  bindAddress?: string;
  /** Default 0: any that is free. */
  port?: number;
  limits?: Partial<ServerLimits>;
}

export interface ApiServer extends ControlPlane {
  url: string;
  port: number;
  pki: Pki;
  /** The administrator's way in. */
  kubeconfig: string;
  caFile: string;
}

export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const { bindAddress = '127.0.0.1', log = silentLog } = options;
  const directory = options.dataDir ?? mkdtempSync(join(tmpdir(), 'relet-apiserver-'));
  makeDirectory(directory);
  finishRestore(directory);
  const isOnDisk = options.dataDir !== undefined && options.storage !== 'memory';
  const pki = await openPki({ dir: join(directory, 'pki'), bindAddress, log });
  let port = options.port ?? 0;
  const plane = await createControlPlane({
    ...options,
    ...(isOnDisk ? { storeDirectory: join(directory, 'store') } : {}),
    serviceAccountKey: pki.serviceAccountKey,
    kubeletClient: pki.kubeletClient,
    ownPort: () => port || undefined,
    address: () => `${bindAddress}:${port}`,
  });
  const { key, cert } = pki.apiserver;
  const serving = { handle: plane.handle, log, key, cert, clientCa: pki.ca, host: bindAddress, port };
  const server = await startServer(
    options.limits === undefined ? serving : { ...serving, limits: options.limits },
  ).catch(async (error: unknown) => {
    await plane.close();
    throw error;
  });
  port = server.port;
  const url = serverUrl(bindAddress, port);
  const kubeconfig = join(directory, 'admin.kubeconfig');
  writeKubeconfig(kubeconfig, { server: url, ca: pki.ca, user: 'kubernetes-admin', client: pki.admin });
  return {
    ...plane,
    url,
    port,
    pki,
    kubeconfig,
    caFile: join(directory, 'pki', 'ca.crt'),
    async close() {
      // Watches first: they would hold the connections open.
      await Promise.all([plane.close(), server.close()]);
      if (options.dataDir === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}
