/**
 * The API server, put together: the API in memory (src/memory-api) on a store, access in front of it, and the handler that
 * every request goes through. With a socket (startApiServer) or without one (createControlPlane), for tests and simulations.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../clock.js';
import { type Log, silentLog } from '../../log.js';
import { makeDirectory } from '../../make-directory.js';
import { admissionChain } from '../../memory-api/admission.js';
import { type ApiOptions, createApi } from '../../memory-api/api.js';
import { findObject } from '../../memory-api/own-objects.js';
import type { Registry } from '../../memory-api/registry.js';
import type { Route } from '../../memory-api/router.js';
import type { HistoryLimits } from '../../memory-api/store/revision-store.js';
import type { Store } from '../../memory-api/store/store.js';
import { type Random, systemRandom } from '../../random.js';
import { type AccessOptions, createAccess } from './access/access.js';
import { discoveryRoutes } from './discovery/routes.js';
import { createHandler, type Handle, type HandlerOptions } from './handler.js';
import { healthRoutes } from './health.js';
import { type ServerLimits, startServer } from './http/server.js';
import { tablePresenter } from './http/table.js';
import { openApiRoutes } from './openapi/routes.js';
import { serverUrl, writeKubeconfig } from './pki/admin-kubeconfig.js';
import { openPki, type Pki } from './pki/pki.js';
import { validatingPolicies } from './policy/policy-admission.js';
import { validatedPolicyKinds } from './policy/validate-policy.js';
import { openStore } from './store/open-store.js';
import { versionRoutes } from './version.js';

type AccessChoices = Pick<AccessOptions, 'modes' | 'nodeConfigAccess' | 'anonymous' | 'tokens' | 'kubeletCa'>;

type ApiChoices = Omit<ApiOptions, 'store' | 'resources' | 'log'>;

export interface ControlPlaneOptions extends AccessChoices, ApiChoices {
  /** Directory of the store; absent: in memory. */
  storeDirectory?: string;
  history?: HistoryLimits;
  /** Absent: its own. The store of another API server of the cluster, which runs the controllers. */
  sharedStore?: Store;
  /** Called after every answered request, for tests and benchmarks that count them. */
  onRequest?: HandlerOptions['onRequest'];
  /** The version of relet that /version shows. */
  version?: string;
  log?: Log;
}

export interface ControlPlane {
  handle: Handle;
  store: Store;
  registry: Registry;
  /** Ends watches, waits for pending writes, closes the store. */
  close(): Promise<void>;
}

/** Options that only a server with a socket has. */
interface Identity extends Pick<AccessOptions, 'serviceAccountKey' | 'kubeletClient' | 'ownPort'> {
  /** host:port, shown to clients that ask /api. */
  address(): string;
}

type PlaneOptions = ControlPlaneOptions & Identity & { log: Log };

export async function createControlPlane(options: ControlPlaneOptions & Identity): Promise<ControlPlane> {
  const { storeDirectory: directory, clock, history, log = silentLog, sharedStore } = options;
  const store = sharedStore ?? (await openStore({ directory, clock, history, log }));
  try {
    return await assemble({ ...options, log }, store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function assemble(options: PlaneOptions, store: Store): Promise<ControlPlane> {
  const { log, onRequest } = options;
  const access = createAccess({ ...options, store });
  const api = createApi({ ...options, store, resources: [...access.resources, ...validatedPolicyKinds] });
  const { registry } = api;
  if (options.sharedStore === undefined) await api.start(() => access.start());
  const policies = validatingPolicies({
    store,
    registry,
    authorizer: access.authorizer,
    objects: { find: (key) => findObject(store, key) },
  });
  const dispatch = api.dispatch({
    admission: admissionChain([access.admission, policies]),
    presenter: tablePresenter(() => new Date(options.clock.now())),
    routes: routesOf(options, registry, store),
    connectors: access.connectors,
  });
  return {
    handle: createHandler({ access, dispatch, log, ...(onRequest === undefined ? {} : { onRequest }) }),
    store,
    registry,
    async close() {
      api.close();
      access.stop();
      policies.stop();
      await store.close();
    },
  };
}

/** Every path that is answered and is not a resource. */
function routesOf(options: PlaneOptions, registry: Registry, store: Store): Route[] {
  const health = healthRoutes({ store: () => throwFailure(store) });
  const others = [...health, ...openApiRoutes(registry), ...versionRoutes(options.version ?? '0.0.0')];
  const otherPaths = others.map(({ path }) => path).filter((path) => !path.endsWith('/') || path === '/openapi/v3/');
  return [...others, ...discoveryRoutes({ registry, serverAddress: options.address(), otherPaths })];
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
  /** Storage of objects. Default disk, or memory if there is no dataDir. */
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
