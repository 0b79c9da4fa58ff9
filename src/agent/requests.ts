/**
 * Requests of a person on the host, without the API. A relet that runs finds the request in a file and is woken
 * by SIGHUP; where none runs, the records are changed directly, under the lock.
 */
import { type Clock, rfc3339 } from '../clock.js';
import { isObject } from '../json.js';
import type { Log } from '../log.js';
import { unsignedRecord } from './signing-record.js';
import { defineRecord } from './state/json-record.js';
import { type NodeState, sourceOf } from './state/node-state.js';
import { assign } from './transitions.js';
import { forgetFailures } from './trial/trial.js';

/** A held node follows no new assignment until it is released; the running config stays, and a rollback still happens. */
export interface Hold {
  since: string;
  why: string;
  /** The person who made the request, if known. */
  who?: string;
}

export const holdRecord = defineRecord('hold', isHold);

/** relet leaves the host, once the kubelet is healthy with its local config. Only where it has put files there: beside a kubelet. */
export interface Detach {
  /** When it was done. */
  done?: string;
}

export const detachRecord = defineRecord('detach', isDetach);

/** As the `relet node` of the first edition writes it. */
type FormerRetry = 'clear-verdict';

export type Request =
  /** Back to the local config, and stay there. */
  | { verb: 'use-local'; who?: string }
  /** Configs that failed may be tried again. */
  | { verb: 'retry' | FormerRetry }
  /** Follow no new assignment. */
  | { verb: 'hold'; why: string; who?: string }
  /** Follow again. */
  | { verb: 'release' }
  /** Configs need no signature for so long; 0 ends it. */
  | { verb: 'accept-unsigned'; seconds: number; why: string; who?: string }
  /** Back to the local config, and leave the host. */
  | { verb: 'detach'; who?: string };

export const requestRecord = defineRecord('request', isRequest);

/** Changes the records. The caller decides whether another config should run now. */
export function handleRequest(state: NodeState, request: Request, now: Date): void {
  switch (request.verb) {
    case 'use-local':
      // Held first: otherwise the next sync would assign it again.
      state.write(holdRecord, hold(request, 'use-local was asked for on the host', now));
      assign(state, undefined, sourceOf(state.lastKnownGood()));
      break;
    case 'retry':
    case 'clear-verdict':
      forgetFailures(state);
      break;
    case 'hold':
      state.write(holdRecord, hold(request, request.why, now));
      break;
    case 'release':
      state.remove(holdRecord);
      state.remove(detachRecord);
      break;
    case 'accept-unsigned': {
      const { seconds, why, who } = request;
      const since = Math.floor(now.getTime() / 1000);
      state.write(unsignedRecord, { since, until: since + seconds, why, ...(who && { who }) });
      break;
    }
    case 'detach':
      state.write(holdRecord, hold(request, 'detach was asked for on the host', now));
      assign(state, undefined, sourceOf(state.lastKnownGood()));
      if (state.read(detachRecord) === undefined) state.write(detachRecord, {});
      break;
    default:
      request satisfies never;
  }
}

function hold({ who }: { who?: string }, why: string, now: Date): Hold {
  return { since: rfc3339(now.getTime()), why, ...(who && { who }) };
}

/** Does what waits in the file, and takes the file away: that is the answer. */
export function takeRequest({ state, clock, log }: { state: NodeState; clock: Clock; log: Log }): Request | undefined {
  const request = state.read(requestRecord);
  if (request) handleRequest(state, request, new Date(clock.now()));
  state.remove(requestRecord);
  log.info('request from the host', { request: request?.verb ?? 'sync' });
  return request;
}

function isRequest(value: unknown): value is Request {
  if (!isObject(value) || !isText(value.who)) return false;
  if (value.verb === 'hold') return typeof value.why === 'string';
  if (value.verb === 'accept-unsigned') return typeof value.why === 'string' && Number.isFinite(value.seconds);
  const verbs: unknown[] = ['use-local', 'retry', 'clear-verdict', 'release', 'detach'];
  return verbs.includes(value.verb);
}

function isDetach(value: unknown): value is Detach {
  return isObject(value) && isText(value.done);
}

function isHold(value: unknown): value is Hold {
  return isObject(value) && typeof value.since === 'string' && typeof value.why === 'string' && isText(value.who);
}

const isText = (value: unknown): value is string | undefined => value === undefined || typeof value === 'string';
