/** Maps errors to the problem that the page gets: status code, reason, and remedy. Pure. */

import { ApiError, InvalidResponseError } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { KubeconfigError } from '../../kube/kubeconfig.js';
import { TimeoutError } from '../../kube/requester.js';
import { ConnectionError } from '../../kube/transport.js';
import { shorten } from '../../shorten.js';
import { oneLine } from '../../visible-text.js';
import type { Problem } from '../wire.js';

/** Thrown by a route; the one place that answers requests sends it. */
export class RequestProblem extends Error {
  override readonly name = 'RequestProblem';
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.message);
  }
}

export const badRequest = (message: string, remedy?: string): RequestProblem =>
  new RequestProblem(400, { reason: 'BadRequest', message, ...(remedy && { remedy }) });

/** A node, a set or a person chose the words of an error, so they are bounded. */
const longestMessage = 2000;

/** Undefined for an unexpected error: a bug, which is logged. */
export function problemOf(error: unknown): { status: number; problem: Problem } | undefined {
  if (error instanceof RequestProblem) return { status: error.status, problem: error.problem };
  if (!(error instanceof Error)) return undefined;
  const message = shorten(oneLine(error.message), longestMessage);
  const as = (status: number, reason: string, remedy?: string) => ({
    status,
    problem: { reason, message, ...(remedy && { remedy }) },
  });
  if (error instanceof ApiError) {
    const status = error.code >= 400 && error.code < 600 ? error.code : 502;
    return as(status, error.reason || 'ApiError', remedies[status]);
  }
  if (error instanceof CannotRun) return as(422, 'CannotRun');
  if (error instanceof ConnectionError || error instanceof TimeoutError)
    return as(503, 'APIServerUnreachable', 'The page tries again automatically; check the API server and the network.');
  if (error instanceof InvalidResponseError || error instanceof KubeconfigError) return as(502, 'APIServerUnusable');
  return undefined;
}

const remedies: Record<number, string | undefined> = {
  401: 'Log in again.',
  403: "Ask an administrator for this permission; 'relet doctor' lists what is needed.",
  404: 'It may have been deleted meanwhile.',
  409: 'Somebody changed it at the same time; look at it again and repeat the change.',
};
