/** What the server answers when it refuses: a Status object, or whatever stood in its way. */

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: { reason?: string; message?: string; field?: string }[];
  retryAfterSeconds?: number;
}

export class ApiError extends Error {
  override name = 'ApiError';
  /** The HTTP status, or the code inside a watch's ERROR event. */
  readonly status: number;
  /** Kubernetes' word such as NotFound or Conflict; empty where the answer was no Status. */
  readonly reason: string;
  readonly details: StatusDetails;
  /** What was asked, such as `GET /api/v1/nodes/a`. */
  readonly request: string;

  constructor(options: { status: number; reason?: string; message: string; details?: StatusDetails; request: string }) {
    super(options.message);
    this.status = options.status;
    this.reason = options.reason ?? '';
    this.details = options.details ?? {};
    this.request = options.request;
  }
}

/** From the body of a refusal. `request` names what was asked. */
export function apiError(status: number, body: string, request: string): ApiError {
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch {
    answer = undefined;
  }
  if (isStatus(answer)) return statusError(answer, request, status);
  const text = body.replace(/\s+/g, ' ').trim().slice(0, 200);
  return new ApiError({ status, message: `${request}: the server answered ${status}${text && `: ${text}`}`, request });
}

export function statusError(answer: StatusLike, request: string, fallbackStatus = 500): ApiError {
  const status = typeof answer.code === 'number' ? answer.code : fallbackStatus;
  return new ApiError({
    status,
    reason: typeof answer.reason === 'string' ? answer.reason : '',
    message: answer.message || `${request}: the server answered ${status}`,
    details: answer.details ?? {},
    request,
  });
}

export interface StatusLike {
  kind: 'Status';
  code?: number;
  reason?: string;
  message?: string;
  details?: StatusDetails;
}

export function isStatus(value: unknown): value is StatusLike {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'Status';
}

const hasStatus = (status: number) => (error: unknown) => error instanceof ApiError && error.status === status;

export const isUnauthorized = hasStatus(401);
export const isForbidden = hasStatus(403);
export const isNotFound = hasStatus(404);
/** AlreadyExists is a 409 too, and another matter. */
export const isConflict = (error: unknown) => hasStatus(409)(error) && (error as ApiError).reason !== 'AlreadyExists';
export const isAlreadyExists = (error: unknown) =>
  hasStatus(409)(error) && (error as ApiError).reason === 'AlreadyExists';
export const isInvalid = hasStatus(422);
/** The resourceVersion or continue token is too old; or, TooLarge, from a future that this server never had. */
export const isExpired = (error: unknown) =>
  hasStatus(410)(error) ||
  (error instanceof ApiError &&
    (error.details.causes ?? []).some(({ reason }) => reason === 'ResourceVersionTooLarge'));
