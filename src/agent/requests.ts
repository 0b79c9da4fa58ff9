/**
 * What a person on the host asks of the node, without the API. A relet that runs finds the request in a file and is woken
 * by SIGHUP; where none runs, the records are changed directly, under the lock.
 */
import type { Clock } from '../clock.js';
import { isObject } from '../json.js';
import type { Log } from '../log.js';
import { rfc3339 } from '../time.js';
import { type Hold, isText } from './hold.js';
import type { Memory } from './state/memory.js';
import { assign, forgetFailures, sourceOf } from './transitions.js';

export type Request =
  /** Back to the local config, and stay there. */
  | { verb: 'use-local'; who?: string }
  /** Forget failed trials: what failed may be tried again. */
  | { verb: 'clear-verdict' }
  /** Follow no new assignment. */
  | { verb: 'hold'; why: string; who?: string }
  /** Follow again. */
  | { verb: 'release' };

/** Changes what is remembered. Whether another config should run now is for the caller to find out. */
export function obey(memory: Memory, request: Request, now: Date): void {
  switch (request.verb) {
    case 'use-local':
      // Held first: otherwise the next look at the API would assign it again.
      memory.hold.write(hold(request, 'use-local was asked for on the host', now));
      assign(memory, undefined, sourceOf(memory.lastKnownGood()));
      break;
    case 'clear-verdict':
      forgetFailures(memory);
      break;
    case 'hold':
      memory.hold.write(hold(request, request.why, now));
      break;
    case 'release':
      memory.hold.remove();
      break;
    default:
      request satisfies never;
  }
}

function hold({ who }: { who?: string }, why: string, now: Date): Hold {
  return { since: rfc3339(now.getTime()), why, ...(who && { who }) };
}

/** Does what waits in the file, and takes the file away: that is the answer. */
export function takeRequest({ memory, clock, log }: { memory: Memory; clock: Clock; log: Log }): void {
  const request = memory.request.read();
  if (request) obey(memory, request, new Date(clock.now()));
  memory.request.remove();
  log.info('asked on the host', { request: request?.verb ?? 'to look again' });
}

export function isRequest(value: unknown): value is Request {
  if (!isObject(value) || !isText(value.who)) return false;
  if (value.verb === 'hold') return typeof value.why === 'string';
  return value.verb === 'use-local' || value.verb === 'clear-verdict' || value.verb === 'release';
}
