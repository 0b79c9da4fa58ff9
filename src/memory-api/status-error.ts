/** API errors with Kubernetes' reasons and wording. */
import { ApiError, type StatusDetails } from '../api/status.js';
import { quote } from '../go/quote.js';
import { aggregateFieldErrors, type FieldError, fieldErrorBody, fieldErrorReason } from './field-error.js';

/** Subject of an error: a resource (`configmaps` of group '') or a kind (`ConfigMap`). */
export interface GroupResource {
  group: string;
  resource: string;
}

/** `leases.coordination.k8s.io`, or `nodes` for the core group. */
export function qualified({ group, resource }: GroupResource): string {
  return group === '' ? resource : `${resource}.${group}`;
}

function about({ group, resource }: GroupResource, name = ''): StatusDetails {
  return {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    ...(resource === '' ? {} : { kind: resource }),
  };
}

export function notFound(resource: GroupResource, name: string): ApiError {
  return new ApiError(404, 'NotFound', `${qualified(resource)} ${quote(name)} not found`, about(resource, name));
}

/** No such path, group, version or resource. */
export function noSuchResource(): ApiError {
  return new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});
}

export function alreadyExists(resource: GroupResource, name: string): ApiError {
  const message = `${qualified(resource)} ${quote(name)} already exists`;
  return new ApiError(409, 'AlreadyExists', message, about(resource, name));
}

export function generateNameConflict(resource: GroupResource, name: string): ApiError {
  const message = `${qualified(resource)} ${quote(name)} already exists, the server was not able to generate a unique name for the object`;
  return new ApiError(409, 'AlreadyExists', message, { ...about(resource, name), retryAfterSeconds: 1 });
}

export const optimisticLockText =
  'the object has been modified; please apply your changes to the latest version and try again';

export function conflict(resource: GroupResource, name: string, why: string = optimisticLockText): ApiError {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} ${quote(name)}: ${why}`;
  return new ApiError(409, 'Conflict', message, about(resource, name));
}

/** `kind` is a group and a kind here, as in `Role.rbac.authorization.k8s.io "x" is invalid`. */
export function invalid(kind: { group: string; kind: string }, name: string, errors: FieldError[]): ApiError {
  const subject = { group: kind.group, resource: kind.kind };
  const head = `${qualified(subject)} ${quote(name)} is invalid`;
  const causes = errors.map((error) => ({
    reason: fieldErrorReason(error.type),
    message: fieldErrorBody(error),
    ...(error.field === '' ? {} : { field: error.field }),
  }));
  return new ApiError(422, 'Invalid', errors.length === 0 ? head : `${head}: ${aggregateFieldErrors(errors)}`, {
    ...about(subject, name),
    ...(causes.length === 0 ? {} : { causes }),
  });
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

export function unauthorized(): ApiError {
  return new ApiError(401, 'Unauthorized', 'Unauthorized');
}

/** With no resource (a path such as /metrics) the message begins `forbidden:`. */
export function forbidden(resource: GroupResource, name: string, why: string): ApiError {
  const subject = qualified(resource);
  const head = subject === '' ? 'forbidden' : `${subject}${name === '' ? '' : ` ${quote(name)}`} is forbidden`;
  const { kind, ...rest } = about(resource, name);
  return new ApiError(403, 'Forbidden', `${head}: ${why}`, kind === '' ? rest : { ...rest, kind: kind! });
}

export function methodNotAllowed(): ApiError {
  const message = 'the server does not allow this method on the requested resource';
  return new ApiError(405, 'MethodNotAllowed', message, {});
}

export function notAcceptable(accepted: string[]): ApiError {
  return new ApiError(406, 'NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`);
}

export function unsupportedMediaType(accepted: string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new ApiError(415, 'UnsupportedMediaType', message);
}

/** The requested revision is no longer kept; clients list again. `metadata.continue` may have a token to continue with. */
export function expired(message: string): ApiError {
  return new ApiError(410, 'Expired', message);
}

export function requestEntityTooLarge(why: string): ApiError {
  return new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: ${why}`);
}

/** No reason of Kubernetes fits. */
export function insufficientStorage(message: string, cause: unknown): ApiError {
  return new ApiError(507, '', message, {}, cause);
}

export function internal(cause: unknown): ApiError {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new ApiError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] }, cause);
}

/** An error of Go's that the server passes on as it is: code 500 and no reason. */
export function plainInternal(message: string): ApiError {
  return new ApiError(500, '', message);
}

export function serviceUnavailable(message: string): ApiError {
  return new ApiError(503, 'ServiceUnavailable', message);
}

export function timeout(message: string, retryAfterSeconds = 0): ApiError {
  return new ApiError(504, 'Timeout', `Timeout: ${message}`, retryAfterSeconds > 0 ? { retryAfterSeconds } : {});
}
