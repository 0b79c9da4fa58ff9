/** What every verb is given: the request, the resource it is about, and the parts of the server. */
import type { AdmissionRequest, Operation } from '../admission.js';
import type { Parts } from '../handler.js';
import type { Exchange } from '../http/exchange.js';
import type { Output } from '../http/negotiate.js';
import type { RequestInfo } from '../http/request-info.js';
import type { Resource } from '../resource.js';

export interface VerbRequest {
  exchange: Exchange;
  info: RequestInfo;
  resource: Resource;
  output: Output;
  parts: Parts;
  /** Adds to what the audit log says of the request; absent where nothing is logged. */
  annotate?: (key: string, value: string) => void;
}

export type Verb = (request: VerbRequest) => void | Promise<void>;

/** How errors name the resource: by what the request said, as Kubernetes does. */
export function about({ info }: VerbRequest): { group: string; resource: string } {
  return { group: info.apiGroup, resource: info.resource };
}

export function admissionRequest(
  { exchange, info, resource, annotate }: VerbRequest,
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
    ...(annotate === undefined ? {} : { annotate }),
  };
}

/** Waits only where there is something to wait for: between reading and writing no other request may come. */
export function soon<T>(value: void | Promise<void>, then: () => T | Promise<T>): T | Promise<T> {
  return value instanceof Promise ? value.then(then) : then();
}
