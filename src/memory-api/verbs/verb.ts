/** Arguments of every verb: the request, its resource, and the form of the answer. */
import type { Clock } from '../../clock.js';
import type { Random } from '../../random.js';
import type { Admission, AdmissionRequest, Operation } from '../admission.js';
import type { RequestInfo } from '../requests/request-info.js';
import type { Responding } from '../requests/respond.js';
import type { Store } from '../store/store.js';

export interface VerbRequest extends Responding {
  info: RequestInfo;
}

export type Verb = (request: VerbRequest) => void | Promise<void>;

/** Arguments of a verb that writes, beside the request. */
export interface WriteContext {
  store: Store;
  admission: Admission;
  clock: Clock;
  random: Random;
  /** Whether objects get metadata.managedFields when they are created. Default true. */
  tracksManagers?: boolean;
}

/** Name of the resource in errors, as in the request, like in Kubernetes. */
export function about({ info }: VerbRequest): { group: string; resource: string } {
  return { group: info.apiGroup, resource: info.resource };
}

export function admissionRequest(
  { exchange, info, resource }: VerbRequest,
  operation: Operation,
  details: Pick<AdmissionRequest, 'object' | 'oldObject' | 'dryRun'> & { options: object },
): AdmissionRequest {
  return {
    attributes: info,
    operation,
    resource,
    ...details,
    options: { ...details.options },
    warn: (text) => exchange.warn(text),
  };
}

/** Continues synchronously unless there is a promise to wait for, so that no other request runs between read and write. */
export function thenMaybeSync<T>(value: void | Promise<void>, then: () => T | Promise<T>): T | Promise<T> {
  return value instanceof Promise ? value.then(then) : then();
}
