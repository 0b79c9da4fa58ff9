/** A server for replays: in memory, over a real socket, with the identities of the recording. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccess } from '../../src/apiserver/access/access.js';
import { readTokenFile } from '../../src/apiserver/access/token-file.js';
import { customResourceDefinitions } from '../../src/apiserver/crd/definitions.js';
import { serveDefinedKinds } from '../../src/apiserver/crd/served-kinds.js';
import { discoveryRoutes } from '../../src/apiserver/discovery/routes.js';
import { createHandler } from '../../src/apiserver/handler.js';
import { healthRoutes } from '../../src/apiserver/health.js';
import { createMetrics } from '../../src/apiserver/metrics.js';
import { openApiRoutes } from '../../src/apiserver/openapi/routes.js';
import { writeKubeconfig } from '../../src/apiserver/pki/admin-kubeconfig.js';
import { openPki } from '../../src/apiserver/pki/pki.js';
import { Registry } from '../../src/apiserver/registry.js';
import { builtInResources } from '../../src/apiserver/resources/built-in.js';
import { podConnectors } from '../../src/apiserver/resources/pod-connectors.js';
import { startServer } from '../../src/apiserver/server.js';
import { memoryJournal } from '../../src/apiserver/store/journal.js';
import { RevisionStore } from '../../src/apiserver/store/revision-store.js';
import { tablePresenter } from '../../src/apiserver/table.js';
import { versionRoute } from '../../src/apiserver/version.js';
import { WatchClock } from '../../src/apiserver/watch-clock.js';
import { systemClock } from '../../src/clock.js';
import { createLog } from '../../src/log.js';
import type { Target } from './session.js';

export interface ReplayServer extends Target {
  kubeconfig: string;
  folder: string;
  close(): Promise<void>;
}

export async function startReplayServer({ dynamicKubeletConfig = true } = {}): Promise<ReplayServer> {
  const folder = mkdtempSync(join(tmpdir(), 'relet-replay-'));
  const log = createLog({ format: 'text', level: 'error', write: (line) => process.stderr.write(line) });
  const clock = systemClock;
  const pki = await openPki({ dir: join(folder, 'pki'), bindAddress: '127.0.0.1', log });
  const store = new RevisionStore(memoryJournal(), clock);
  const registry = new Registry(builtInResources({ dynamicKubeletConfig }));
  let port: number | undefined;
  const access = createAccess({
    store,
    clock,
    log,
    anonymous: true,
    tokens: [
      readTokenFile('admin-token,admin,1,system:masters\nnode-token,system:node:node-a,2,system:nodes\n', 'tokens')
        .tokens,
    ],
    serviceAccountKey: pki.serviceAccountKey,
    kubeletClient: pki.kubeletClient,
    ownPort: () => port,
  });
  registry.replace([], [customResourceDefinitions({ registry, clock }), ...access.resources]);
  const metrics = createMetrics(registry, store);
  const routes = [
    ...healthRoutes([]),
    versionRoute('0.0.0'),
    metrics.route,
    ...openApiRoutes(registry),
    ...access.routes,
  ];
  const otherPaths = routes.map(({ path }) => path.replace(/(.)\/$/, '$1'));
  const watches = new WatchClock(clock);
  const handle = createHandler({
    store,
    registry,
    clock,
    log,
    ...access,
    presenter: tablePresenter(() => new Date(clock.now())),
    routes: [...routes, ...discoveryRoutes({ registry, serverAddress: '127.0.0.1:0', otherPaths })],
    connectors: [...access.connectors, ...podConnectors],
    watches,
    observe: metrics.observe,
  });
  for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease'])
    await store.write({
      key: { group: '', resource: 'namespaces', namespace: '', name },
      expected: 0,
      delete: false,
      encode: (revision) =>
        Buffer.from(
          JSON.stringify({
            kind: 'Namespace',
            apiVersion: 'v1',
            metadata: {
              name,
              uid: crypto.randomUUID(),
              resourceVersion: `${revision}`,
              creationTimestamp: `${new Date().toISOString().slice(0, 19)}Z`,
              labels: { 'kubernetes.io/metadata.name': name },
            },
            spec: { finalizers: ['kubernetes'] },
            status: { phase: 'Active' },
          }),
        ),
    });
  await access.start();
  const stop = serveDefinedKinds(store, registry);
  const server = await startServer({
    handle,
    log,
    key: pki.apiserver.key,
    cert: pki.apiserver.cert,
    clientCa: pki.ca,
    host: '127.0.0.1',
    port: 0,
  });
  port = server.port;
  const kubeconfig = join(folder, 'admin.kubeconfig');
  writeKubeconfig(kubeconfig, { server: `https://127.0.0.1:${port}`, ca: pki.ca, user: 'admin', client: pki.admin });
  await store.compact(store.revision - 1);
  return {
    port,
    ca: pki.ca,
    tokens: { admin: 'admin-token', node: 'node-token' },
    kubeconfig,
    folder,
    async close() {
      stop();
      access.stop();
      watches.close();
      await server.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
