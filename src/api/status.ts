/** The Status object with which an API server answers a failed request, the error class that carries it, and predicates for such errors. */
export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: { continue?: string; resourceVersion?: string };
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
}

export class ApiError extends Error {
  readonly status: Status;

  constructor(code: number, reason: string, message: string, details?: StatusDetails, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ApiError';
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      // Kubernetes leaves an empty reason out.
      ...(reason === '' ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code,
    };
  }

  get code(): number {
    return this.status.code ?? 500;
  }

  get reason(): string {
    return this.status.reason ?? '';
  }
}

/** The server responded, but not as a Kubernetes API server does: a login page, half a body, far too much. */
export class InvalidResponseError extends Error {
  override name = 'InvalidResponseError';
}

/** From the body of an error response: a Status object, or the text of something in between. */
export function apiError(code: number, body: string, request: string): ApiError {
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch {
    answer = undefined;
  }
  if (isStatus(answer)) return statusError(answer, request, code);
  const text = body.replace(/\s+/g, ' ').trim().slice(0, 200);
  return new ApiError(code, '', `${request}: the server answered ${code}${text && `: ${text}`}`);
}

export function statusError(answer: Partial<Status>, request: string, fallbackCode = 500): ApiError {
  const code = typeof answer.code === 'number' ? answer.code : fallbackCode;
  const message = answer.message || `${request}: the server answered ${code}`;
  return new ApiError(code, answer.reason ?? '', message, answer.details);
}

export function isStatus(value: unknown): value is Partial<Status> {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'Status';
}

const hasCode = (code: number) => (error: unknown) => error instanceof ApiError && error.code === code;

export const isUnauthorized = hasCode(401);
export const isForbidden = hasCode(403);
export const isNotFound = hasCode(404);
export const isInvalid = hasCode(422);
export const isAlreadyExists = (error: unknown) => error instanceof ApiError && error.reason === 'AlreadyExists';
/** AlreadyExists is a 409 too, but not a conflict. */
export const isConflict = (error: unknown) => hasCode(409)(error) && !isAlreadyExists(error);
/** The resourceVersion or continue token is too old; or too large: newer than anything that this server has. */
export const isExpired = (error: unknown) =>
  hasCode(410)(error) ||
  (error instanceof ApiError &&
    (error.status.details?.causes ?? []).some(({ reason }) => reason === 'ResourceVersionTooLarge'));
