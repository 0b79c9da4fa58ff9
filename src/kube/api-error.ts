/** What the server answers when it refuses, as an ApiError: a Status object, or whatever stood in its way. */
import { ApiError, type Status } from '../api/status.js';

export { ApiError };

/** From the body of a refusal. `request` names what was asked. */
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
/** AlreadyExists is a 409 too, and another matter. */
export const isConflict = (error: unknown) => hasCode(409)(error) && !isAlreadyExists(error);
/** The resourceVersion or continue token is too old; or, TooLarge, from a future that this server never had. */
export const isExpired = (error: unknown) =>
  hasCode(410)(error) ||
  (error instanceof ApiError &&
    (error.status.details?.causes ?? []).some(({ reason }) => reason === 'ResourceVersionTooLarge'));
