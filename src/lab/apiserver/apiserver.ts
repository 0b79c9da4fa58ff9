/**
 * The embedded control plane, put together: store, kinds, access, and the handler that every request goes through. With a
 * socket (startApiServer) or without one (createControlPlane), for tests and for clients in the same process.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../clock.js';
import { type Log, silentLog } from '../../log.js';
import { makeDirectory } from '../../make-directory.js';
import { type Random, systemRandom } from '../../random.js';
import { type Access, type AccessOptions, createAccess } from './access/access.js';
import { admissionChain } from './admission.js';
import { openAuditLog } from './audit/audit-log.js';
import { backupRoute } from './backup/backup.js';
import { finishRestore } from './backup/restore.js';
import { startDefinitionCleanup } from './crd/cleanup.js';
import { customResourceDefinitions } from './crd/definitions.js';
import { serveDefinedKinds } from './crd/served-kinds.js';
import { discoveryRoutes } from './discovery/routes.js';
import { expireEvents } from './event-expiry.js';
import { startGarbageCollector } from './garbage/collector.js';
import { createHandler, type Handle } from './handler.js';
import { healthRoutes } from './health.js';
import { type ServerLimits, startServer } from './http/server.js';
import { tablePresenter } from './http/table.js';
import { createMetrics, type Metrics } from './metrics.js';
import { ensureSystemNamespaces, startNamespaceController } from './namespace-controller.js';
import { openApiRoutes } from './openapi/routes.js';
import { findObject } from './own-objects.js';
import { serverUrl, writeKubeconfig } from './pki/admin-kubeconfig.js';
import { openPki, type Pki } from './pki/pki.js';
import { podConnectors } from './pod-subresources.js';
import { validatingPolicies } from './policy/policy-admission.js';
import { Registry } from './registry.js';
import type { Resource } from './resource.js';
import { builtInResources } from './resources/built-in.js';
import { createRouter, type Dispatch } from './router.js';
import { scaleConnector } from './scale-subresource.js';
import { openStore } from './store/open-store.js';
import type { HistoryLimits } from './store/revision-store.js';
import type { Store } from './store/store.js';
import type { WriteContext } from './verbs/verb.js';
import { createVerbs } from './verbs/verbs.js';
import { versionRoutes } from './version.js';
import { WatchClock } from './watch/watch-clock.js';

type AccessChoices = Pick<AccessOptions, 'modes' | 'nodeConfigAccess' | 'anonymous' | 'tokens' | 'kubeletCa'>;

export interface ControlPlaneOptions extends AccessChoices {
  /** Where the store is; absent: in memory. */
  storeDirectory?: string;
  /** The feature gate with which Node.spec.configSource and Node.status.config are stored. Default true. */
  dynamicKubeletConfig?: boolean;
  history?: HistoryLimits;
  /** Delete objects whose owners are gone, and finish foreground and orphan deletions. Default true. */
  garbageCollection?: boolean;
  /** A line for every request is appended to this file; absent: requests are not logged. */
  auditLogPath?: string;
  /** Objects get metadata.managedFields when they are created, not only when they are applied. Default true. */
  managedFields?: boolean;
  /** Between two bookmarks of a watch. Default a minute. */
  bookmarkMs?: number;
  /** The version of relet that /version shows. */
  version?: string;
  clock: Clock;
  random: Random;
  log?: Log;
}

export interface ControlPlane {
  handle: Handle;
  store: Store;
  registry: Registry;
  /** Ends watches, waits for pending writes, closes the store. */
  close(): Promise<void>;
}

/** What only a server with a socket has. */
interface Identity extends Pick<AccessOptions, 'serviceAccountKey' | 'kubeletClient' | 'ownPort'> {
  /** host:port, shown to clients that ask /api. */
  address(): string;
}

type PlaneOptions = ControlPlaneOptions & Identity & { log: Log };

export async function createControlPlane(options: ControlPlaneOptions & Identity): Promise<ControlPlane> {
  const { storeDirectory: directory, clock, history, log = silentLog } = options;
  const store = await openStore({ directory, clock, history, log });
  try {
    return await assemble({ ...options, log }, store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function assemble(options: PlaneOptions, store: Store): Promise<ControlPlane> {
  const { clock, random, log, auditLogPath } = options;
  const audit = auditLogPath === undefined ? undefined : await openAuditLog(auditLogPath, clock, log);
  const access = createAccess({ ...options, store });
  const registry = new Registry([
    ...builtInResources({ dynamicKubeletConfig: options.dynamicKubeletConfig ?? true }),
    ...access.resources,
  ]);
  registry.replace([], [customResourceDefinitions({ registry, clock })]);
  const watches = new WatchClock(clock, options.bookmarkMs);
  const stopControllers = await startControllers(options, store, registry, access);
  const policies = validatingPolicies({
    store,
    registry,
    authorizer: access.authorizer,
    objects: { find: (key) => findObject(store, key) },
    clock,
  });
  const admission = admissionChain([access.admission, policies]);
  const metrics = createMetrics(registry, store, clock);
  const dispatch = createDispatch({
    options,
    registry,
    access,
    watches,
    metrics,
    write: { store, admission, clock, random, tracksManagers: options.managedFields ?? true },
  });
  const isServed = ({ group, version, plural }: Resource) => registry.find(group, version, plural) !== undefined;
  const stopEnding = registry.onChange(() => watches.endUnserved(isServed));
  return {
    handle: createHandler({
      access,
      dispatch,
      clock,
      log,
      observe: metrics.observe,
      ...(audit === undefined ? {} : { audit: { log: audit, random } }),
    }),
    store,
    registry,
    async close() {
      watches.close();
      stopControllers();
      policies.stop();
      stopEnding();
      await store.close();
      await audit?.close();
    },
  };
}

/** Everything that acts without a request: what a cluster's controller manager does, as far as it is needed here. */
async function startControllers(
  options: PlaneOptions,
  store: Store,
  registry: Registry,
  access: Access,
): Promise<() => void> {
  const { clock, random, log } = options;
  const ended = new AbortController();
  const stops = [
    serveDefinedKinds(store, registry, clock),
    () => access.stop(),
    () => ended.abort(new Error('the server is closing')),
  ];
  await ensureSystemNamespaces({ store, clock, random }, registry);
  await access.start();
  stops.push(startNamespaceController({ store, registry, clock, log }), startDefinitionCleanup({ store, clock, log }));
  if (options.garbageCollection ?? true) stops.push(startGarbageCollector({ store, registry, clock, log }));
  void expireEvents(store, clock, log, ended.signal);
  return () => {
    for (const stop of stops) stop();
  };
}

interface Served {
  options: PlaneOptions;
  registry: Registry;
  access: Access;
  watches: WatchClock;
  metrics: Metrics;
  write: WriteContext;
}

/** Every path, subresource and verb that is answered. */
function createDispatch({ options, registry, access, watches, metrics, write }: Served): Dispatch {
  const { store, clock } = write;
  const presenter = tablePresenter(() => new Date(clock.now()));
  const health = healthRoutes([{ name: 'store', check: () => throwFailure(store) }]);
  const openApi = openApiRoutes(registry);
  const versions = versionRoutes(options.version ?? '0.0.0');
  const others = [...health, ...openApi, ...versions, metrics.route, backupRoute(store, clock), ...access.routes];
  const otherPaths = others.map(({ path }) => path).filter((path) => !path.endsWith('/') || path === '/openapi/v3/');
  return createRouter({
    registry,
    presenter,
    routes: [...others, ...discoveryRoutes({ registry, serverAddress: options.address(), otherPaths })],
    connectors: [...access.connectors, ...podConnectors(write, presenter), scaleConnector(write, presenter)],
    verbs: createVerbs(write, registry, watches),
  });
}

/** A server that cannot write is not ready, though it still answers reads. */
function throwFailure({ failure }: Store): void {
  if (failure !== undefined) throw failure;
}

export interface ApiServerOptions extends Omit<ControlPlaneOptions, 'clock' | 'random'> {
  /** Default: the system's, as for `random`. */
  clock?: Clock;
  random?: Random;
  /**
   * Directory of certificates, kubeconfig and store; absent: in memory, with certificates in a directory that is
   * deleted at close.
   */
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
  /** The administrator's kubeconfig file. */
  kubeconfig: string;
  caFile: string;
}

export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const { bindAddress = '127.0.0.1', log = silentLog, clock = systemClock, random = systemRandom } = options;
  const directory = options.dataDir ?? mkdtempSync(join(tmpdir(), 'relet-apiserver-'));
  makeDirectory(directory);
  finishRestore(directory);
  const isOnDisk = options.dataDir !== undefined && options.storage !== 'memory';
  const pki = await openPki({ dir: join(directory, 'pki'), bindAddress, log, clock, random });
  let port = options.port ?? 0;
  const plane = await createControlPlane({
    ...options,
    clock,
    random,
    ...(isOnDisk ? { storeDirectory: join(directory, 'store') } : {}),
    serviceAccountKey: pki.serviceAccountKey,
    kubeletClient: pki.kubeletClient,
    ownPort: () => port || undefined,
    address: () => `${bindAddress}:${port}`,
  });
  const { key, cert } = pki.apiserver;
  const serving = { handle: plane.handle, clock, log, key, cert, clientCa: pki.ca, host: bindAddress, port };
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
      // Watches first: they would keep the connections open.
      await Promise.all([plane.close(), server.close()]);
      if (options.dataDir === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}
