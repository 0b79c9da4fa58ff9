/** The audit log entry of one request: an Event of audit.k8s.io/v1 at level Metadata. No bodies, hence no secrets. */
import type { ApiError } from '../../../api/status.js';
import { rfc3339Micro } from '../../../clock.js';
import type { User } from '../attributes.js';
import type { Exchange } from '../http/exchange.js';
import type { RequestInfo } from '../http/request-info.js';

/** What the handler knows about a request. */
export interface Trace {
  /** Unique for the request. */
  auditId: string;
  receivedMs: number;
  /** The authenticated user; absent where authentication failed. */
  authenticated?: User;
  /** The effective user, the verb and the resource. */
  info?: RequestInfo;
  decision?: { allowed: boolean; reason?: string | undefined };
  /** From admission. */
  annotations: Record<string, string>;
  /** Why it failed. */
  error?: ApiError;
}

export type Stage = 'ResponseStarted' | 'ResponseComplete';

export function auditEvent(exchange: Exchange, trace: Trace, stage: Stage, nowMs: number): object {
  const { info, authenticated, decision } = trace;
  const isImpersonated = info !== undefined && authenticated !== undefined && info.user !== authenticated;
  const decided = decision === undefined ? {} : decisionAnnotations(decision);
  const annotations = { ...decided, ...trace.annotations };
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: trace.auditId,
    stage,
    requestURI: exchange.search === '' ? exchange.path : `${exchange.path}?${exchange.search}`,
    verb: info?.verb ?? exchange.method.toLowerCase(),
    user: userOf(authenticated),
    ...(isImpersonated ? { impersonatedUser: userOf(info.user) } : {}),
    sourceIPs: [exchange.remoteAddress],
    userAgent: exchange.header('user-agent') ?? '',
    ...(info?.isResource ? { objectRef: objectRef(info) } : {}),
    responseStatus: responseStatus(exchange, trace.error),
    requestReceivedTimestamp: rfc3339Micro(trace.receivedMs),
    stageTimestamp: rfc3339Micro(nowMs),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
}

function userOf(user: User | undefined): object {
  if (user === undefined) return {};
  const { name, uid, groups, extra } = user;
  return {
    username: name,
    ...(uid ? { uid } : {}),
    ...(groups.length > 0 ? { groups } : {}),
    ...(extra !== undefined && Object.keys(extra).length > 0 ? { extra } : {}),
  };
}

function objectRef({ resource, namespace, name, apiGroup, apiVersion, subresource }: RequestInfo): object {
  const all = { resource, namespace, name, apiGroup, apiVersion, subresource };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
}

function responseStatus(exchange: Exchange, error: ApiError | undefined): object {
  if (error === undefined) return { metadata: {}, code: exchange.responseCode };
  const { status, message, reason, code } = error.status;
  return { metadata: {}, status, message, ...(reason === undefined ? {} : { reason }), code };
}

function decisionAnnotations({ allowed, reason = '' }: NonNullable<Trace['decision']>): Record<string, string> {
  return {
    'authorization.k8s.io/decision': allowed ? 'allow' : 'forbid',
    'authorization.k8s.io/reason': reason,
  };
}
