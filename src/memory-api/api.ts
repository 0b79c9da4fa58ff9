/**
 * The Kubernetes API in memory, put together: kinds, definitions, verbs, watches, and what a controller manager does for
 * them. It has no sockets and knows no credentials: the rehearsal calls it directly, the API server of the lab is around it.
 */
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import type { Random } from '../random.js';
import { namespaceLifecycle } from './admission/namespace-lifecycle.js';
import { podPriority, tolerationSeconds } from './admission/pod-defaults.js';
import { taintNodes } from './admission/taint-nodes.js';
import { type Admission, admissionChain } from './admission.js';
import { startDefinitionCleanup } from './crd/cleanup.js';
import { customResourceDefinitions } from './crd/definitions.js';
import { serveDefinedKinds } from './crd/served-kinds.js';
import { expireEvents } from './event-expiry.js';
import { startGarbageCollector } from './garbage/collector.js';
import { ensureSystemNamespaces, startNamespaceController } from './namespace-controller.js';
import { findObject } from './own-objects.js';
import { podConnectors } from './pod-subresources.js';
import { Registry } from './registry.js';
import type { Presenter } from './requests/presenter.js';
import type { Resource } from './resource.js';
import { builtInResources } from './resources/built-in.js';
import { type Connector, createRouter, type Dispatch, type Route } from './router.js';
import type { Store } from './store/store.js';
import type { WriteContext } from './verbs/verb.js';
import { createVerbs } from './verbs/verbs.js';
import { WatchClock } from './watch/watch-clock.js';

export interface ApiOptions {
  store: Store;
  clock: Clock;
  random: Random;
  log: Log;
  /** Kinds beside the built-in ones; one of the same name replaces a built-in kind. */
  resources?: Resource[];
  /** The feature gate with which Node.spec.configSource and Node.status.config are stored. Default true. */
  dynamicKubeletConfig?: boolean;
  /** Delete objects whose owners are gone. Default true. */
  garbageCollection?: boolean;
  /** Objects get metadata.managedFields when they are created, not only when they are applied. Default true. */
  managedFields?: boolean;
  /** Between two bookmarks of a watch. Default a minute. */
  bookmarkMs?: number;
}

export interface Served {
  admission: Admission;
  presenter: Presenter;
  /** Paths that are not resources. */
  routes: Route[];
  /** Subresources beside those of Pods. */
  connectors: Connector[];
}

export interface Api {
  registry: Registry;
  /** Creates the system's namespaces, calls `prepare`, and starts the controllers. Before the first request. */
  start(prepare?: () => Promise<void>): Promise<void>;
  /** Finds the answer to a request of a known user. */
  dispatch(served: Served): Dispatch;
  /** Ends watches and controllers. */
  close(): void;
}

export function createApi(options: ApiOptions): Api {
  const { store, clock, random, log, resources = [] } = options;
  const registry = new Registry([
    ...builtInResources({ dynamicKubeletConfig: options.dynamicKubeletConfig ?? true }),
    ...resources,
  ]);
  registry.replace([], [customResourceDefinitions({ registry, clock })]);
  const watches = new WatchClock(clock, options.bookmarkMs);
  const isServed = ({ group, version, plural }: Resource) => registry.find(group, version, plural) !== undefined;
  const ended = new AbortController();
  const stops = [
    serveDefinedKinds(store, registry),
    () => ended.abort(new Error('the API is closing')),
    registry.onChange(() => watches.endUnserved(isServed)),
  ];
  return {
    registry,
    async start(prepare) {
      await ensureSystemNamespaces({ store, clock, random }, registry);
      await prepare?.();
      stops.push(
        startNamespaceController({ store, registry, clock, log }),
        startDefinitionCleanup({ store, clock, log }),
      );
      if (options.garbageCollection ?? true) stops.push(startGarbageCollector({ store, registry, clock, log }));
      void expireEvents(store, clock, log, ended.signal);
    },
    dispatch({ admission, presenter, routes, connectors }) {
      const write: WriteContext = { store, admission, clock, random, tracksManagers: options.managedFields ?? true };
      return createRouter({
        registry,
        presenter,
        routes,
        connectors: [...connectors, ...podConnectors(write, presenter)],
        verbs: createVerbs(write, registry, watches),
      });
    },
    close() {
      watches.close();
      for (const stop of stops) stop();
    },
  };
}

/** Admission that every cluster has and that depends on no credentials. */
export function commonAdmission(store: Store): Admission {
  const objects = { find: (key: Parameters<typeof findObject>[1]) => findObject(store, key) };
  return admissionChain([namespaceLifecycle(objects), taintNodes, podPriority, tolerationSeconds]);
}
