/**
 * Admission: mutates and validates writes after authorization. The plugins in admission/ and policy/ implement it; the
 * verbs call it.
 */
import type { KubeObject } from '../api/object.js';
import type { Attributes } from './attributes.js';
import type { Resource } from './resource.js';

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export interface AdmissionRequest {
  attributes: Attributes;
  operation: Operation;
  resource: Resource;
  /** The object to be written; absent on DELETE and CONNECT. `mutate` may change it in place. */
  object?: KubeObject;
  /** Stored object; absent on CREATE and CONNECT. Never to be changed. */
  oldObject?: KubeObject;
  /** The options of the request: dryRun, fieldManager, propagationPolicy … */
  options: Record<string, unknown>;
  dryRun: boolean;
  /** Adds a Warning header to the response. */
  warn(text: string): void;
}

export interface Admission {
  /** Before defaults of the resource are validated. Throws an ApiError to reject. */
  mutate(request: AdmissionRequest): void | Promise<void>;
  /** After validation, on the object as it will be stored. Throws an ApiError to reject. */
  validate(request: AdmissionRequest): void | Promise<void>;
}

/** Runs the plugins in order until one rejects. Stays synchronous unless a plugin returns a promise. */
export function admissionChain(parts: Admission[]): Admission {
  const ask = (step: 'mutate' | 'validate', request: AdmissionRequest, from = 0): void | Promise<void> => {
    for (let at = from; at < parts.length; at++) {
      const answer = parts[at]![step](request);
      if (answer instanceof Promise) return answer.then(() => ask(step, request, at + 1));
    }
  };
  return { mutate: (request) => ask('mutate', request), validate: (request) => ask('validate', request) };
}
