/**
 * The path of every request, top to bottom:
 *
 *     authenticate ─► info ─► impersonate ─► authorize ─► route ─► verb ─► admit ─► store
 *          └401                    └403          └403        └404/405    └4xx
 *
 * This file does the steps up to authorize, router.ts the rest.
 */
import { ApiError } from '../../api/status.js';
import type { Clock } from '../../clock.js';
import type { Log } from '../../log.js';
import type { Random } from '../../random.js';
import { forbiddenMessage } from './access/authorizer.js';
import type { Authorizer, User } from './attributes.js';
import type { Trace } from './audit/audit-event.js';
import type { AuditLog } from './audit/audit-log.js';
import type { Exchange } from './http/exchange.js';
import { type RequestInfo, requestInfo } from './http/request-info.js';
import { apiError, respondError } from './http/respond.js';
import type { Dispatch } from './router.js';
import { badRequest, forbidden, unauthorized } from './status-error.js';

export interface Authenticator {
  /** Undefined: an unknown user, answered with 401. Anonymous access is the authenticator's decision. */
  authenticate(exchange: Exchange): User | undefined | Promise<User | undefined>;
}

/**
 * The user that the request acts as, from Impersonate-* headers; throws 403. Returns the same user where there are
 * none.
 */
export type Impersonate = (user: User, exchange: Exchange) => User | Promise<User>;

/** Authentication, impersonation and authorization of requests. */
export interface RequestAccess {
  authenticator: Authenticator;
  impersonate: Impersonate;
  authorizer: Authorizer;
}

export interface HandlerOptions {
  access: RequestAccess;
  dispatch: Dispatch;
  clock: Clock;
  log: Log;
  /** Absent: requests are not logged. */
  audit?: { log: Pick<AuditLog, 'record'>; random: Random };
  /** Called after every answered request, for metrics. */
  observe?(exchange: Exchange, info: RequestInfo | undefined, milliseconds: number): void;
}

export type Handle = (exchange: Exchange) => Promise<void>;

export function createHandler({ access, dispatch, clock, log, audit, observe }: HandlerOptions): Handle {
  return async (exchange) => {
    const started = clock.monotonic();
    const trace: Trace = { auditId: audit?.random.uuid() ?? '', receivedMs: clock.now(), annotations: {} };
    const annotate = (key: string, value: string) => {
      trace.annotations[key] = value;
    };
    try {
      const info = await identify(exchange, access, trace);
      await dispatch(exchange, info, audit === undefined ? undefined : annotate);
    } catch (error) {
      trace.error = apiError(error);
      fail(exchange, trace.info, error, log);
    } finally {
      observe?.(exchange, trace.info, clock.monotonic() - started);
      audit?.log.record(exchange, trace);
    }
  };
}

/** Authenticates, impersonates and authorizes. */
async function identify(exchange: Exchange, access: RequestAccess, trace: Trace): Promise<RequestInfo> {
  const authenticated = await access.authenticator.authenticate(exchange);
  if (authenticated === undefined) throw unauthorized();
  trace.authenticated = authenticated;
  const user = await access.impersonate(authenticated, exchange);
  const info = readInfo(user, exchange);
  trace.info = info;
  const decision = access.authorizer.authorize(info);
  trace.decision = decision;
  if (!decision.allowed) throw forbiddenError(info, decision.reason);
  return info;
}

function forbiddenError(info: RequestInfo, reason: string | undefined): ApiError {
  const resource = info.isResource ? { group: info.apiGroup, resource: info.resource } : { group: '', resource: '' };
  return forbidden(resource, info.isResource ? info.name : '', forbiddenMessage(info, reason));
}

function readInfo(user: User, exchange: Exchange): RequestInfo {
  try {
    return requestInfo(user, exchange.method, exchange.path, exchange.query);
  } catch (error) {
    if (error instanceof URIError) throw badRequest(`invalid URL escape in ${exchange.path}`);
    throw error;
  }
}

function fail(exchange: Exchange, info: RequestInfo | undefined, error: unknown, log: Log): void {
  const isOurs = !(error instanceof ApiError);
  if (isOurs && !exchange.closed) {
    log.error('request failed', { method: exchange.method, path: exchange.path, user: info?.user.name, error });
  }
  respondError(exchange, error);
}
