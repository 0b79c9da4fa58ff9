/**
 * The path of every request, top to bottom:
 *
 *     authenticate ─► info ─► impersonate ─► authorize ─► route ─► verb ─► admit ─► store
 *          └401                    └403          └403        └404/405    └4xx
 *
 * This file does the steps up to authorize, router.ts the rest.
 */
import { ApiError } from '../../api/status.js';
import type { Log } from '../../log.js';
import type { Authorizer, User } from '../../memory-api/attributes.js';
import { type RequestInfo, requestInfo } from '../../memory-api/requests/request-info.js';
import { respondError } from '../../memory-api/requests/respond.js';
import type { Dispatch } from '../../memory-api/router.js';
import { badRequest, forbidden, unauthorized } from '../../memory-api/status-error.js';
import { forbiddenMessage } from './access/authorizer.js';
import type { PeerExchange } from './http/peer-exchange.js';

export interface Authenticator {
  /** Undefined: an unknown user, answered with 401. Anonymous access is the authenticator's decision. */
  authenticate(exchange: PeerExchange): User | undefined | Promise<User | undefined>;
}

/**
 * The user that the request acts as, from Impersonate-* headers; throws 403. Returns the same user where there are
 * none.
 */
export type Impersonate = (user: User, exchange: PeerExchange) => User | Promise<User>;

/** Authentication, impersonation and authorization of requests. */
export interface RequestAccess {
  authenticator: Authenticator;
  impersonate: Impersonate;
  authorizer: Authorizer;
}

export interface HandlerOptions {
  access: RequestAccess;
  dispatch: Dispatch;
  log: Log;
  /** Called after every answered request, while a watch is open. */
  onRequest?(exchange: PeerExchange, info: RequestInfo): void;
}

export type Handle = (exchange: PeerExchange) => Promise<void>;

export function createHandler({ access, dispatch, log, onRequest }: HandlerOptions): Handle {
  return async (exchange) => {
    let info: RequestInfo | undefined;
    try {
      info = await identify(exchange, access);
      authorize(info, access);
      await dispatch(exchange, info);
    } catch (error) {
      fail(exchange, info, error, log);
    } finally {
      if (info !== undefined) onRequest?.(exchange, info);
    }
  };
}

/** Authenticates and impersonates. */
async function identify(exchange: PeerExchange, access: RequestAccess): Promise<RequestInfo> {
  const authenticated = await access.authenticator.authenticate(exchange);
  if (authenticated === undefined) throw unauthorized();
  return readInfo(await access.impersonate(authenticated, exchange), exchange);
}

function authorize(info: RequestInfo, { authorizer }: RequestAccess): void {
  const decision = authorizer.authorize(info);
  if (!decision.allowed) throw forbiddenError(info, decision.reason);
}

function forbiddenError(info: RequestInfo, reason: string | undefined): ApiError {
  const resource = info.isResource ? { group: info.apiGroup, resource: info.resource } : { group: '', resource: '' };
  return forbidden(resource, info.isResource ? info.name : '', forbiddenMessage(info, reason));
}

function readInfo(user: User, exchange: PeerExchange): RequestInfo {
  try {
    return requestInfo(user, exchange.method, exchange.path, exchange.query);
  } catch (error) {
    if (error instanceof URIError) throw badRequest(`invalid URL escape in ${exchange.path}`);
    throw error;
  }
}

function fail(exchange: PeerExchange, info: RequestInfo | undefined, error: unknown, log: Log): void {
  const isOurs = !(error instanceof ApiError);
  if (isOurs && !exchange.closed) {
    log.error('request failed', { method: exchange.method, path: exchange.path, user: info?.user.name, error });
  }
  respondError(exchange, error);
}
