/** A signal that fires after a time or with the caller's signal, whichever is first, and leaves no timer or listener. */
import type { Clock } from '../clock.js';

export class TimeoutError extends Error {
  override name = 'TimeoutError';
}

export interface Deadline {
  signal: AbortSignal;
  /** Must be called when the work ended. */
  done(): void;
}

export function deadline(clock: Clock, ms: number, outer: AbortSignal | undefined, what: string): Deadline {
  const inner = new AbortController();
  const timer = new AbortController();
  const onAbort = () => inner.abort(outer?.reason);
  if (outer?.aborted) onAbort();
  outer?.addEventListener('abort', onAbort, { once: true });
  clock.sleep(ms, timer.signal).then(
    () => inner.abort(new TimeoutError(`${what}: no answer in ${ms} ms`)),
    () => {},
  );
  return {
    signal: inner.signal,
    done() {
      outer?.removeEventListener('abort', onAbort);
      timer.abort();
    },
  };
}
