/**
 * The way of every request, top to bottom:
 *
 *     authenticate ─► info ─► impersonate ─► authorize ─► route ─► verb ─► admit ─► store
 *          └401                    └403          └403        └404/405    └4xx
 *
 * What stands behind the steps is handed in, so that each can be tested alone.
 */
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import type { Admission } from './admission.js';
import type { Authorizer, User } from './attributes.js';
import type { Exchange } from './exchange.js';
import type { Presenter } from './presenter.js';
import type { Registry } from './registry.js';
import type { RequestInfo } from './request-info.js';
import type { Resource } from './resource.js';
import type { Store } from './store/store.js';

export interface Authenticator {
  /** Undefined: nobody we know, answered with 401. Anonymous access is the authenticator's decision. */
  authenticate(exchange: Exchange): User | undefined | Promise<User | undefined>;
}

/** Who the request acts as, from Impersonate-* headers; throws 403. Returns the same user where there are none. */
export type Impersonate = (user: User, exchange: Exchange) => User | Promise<User>;

/** Answers for a path that is no resource: /version, /healthz, /openapi/v2, /apis … */
export interface Route {
  /** '/version' matches exactly, '/openapi/v3/' everything below. */
  path: string;
  handle(exchange: Exchange, info: RequestInfo): void | Promise<void>;
}

/** Answers for a subresource that is no part of the object: nodes/proxy, pods/eviction, serviceaccounts/token. */
export interface Connector {
  group: string;
  resource: string;
  subresource: string;
  handle(exchange: Exchange, info: RequestInfo, resource: Resource): void | Promise<void>;
}

export interface Parts {
  store: Store;
  registry: Registry;
  clock: Clock;
  log: Log;
  authenticator: Authenticator;
  impersonate: Impersonate;
  authorizer: Authorizer;
  admission: Admission;
  presenter: Presenter;
  routes: Route[];
  connectors: Connector[];
}
