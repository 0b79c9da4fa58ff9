/** Process-wide settings that a simulation changes while it runs, for speed and memory: stack traces, and AbortSignal.any. */
import { setMaxListeners } from 'node:events';

/** Errors are thrown and caught by the thousand, and their stacks are not read. */
export async function withoutStacks<T>(work: () => Promise<T>): Promise<T> {
  const original = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return await work();
  } finally {
    Error.stackTraceLimit = original;
  }
}

/**
 * AbortSignal.any without the list in which Node.js keeps such signals while somebody waits for them. What waits in a simulation that is
 * over would stay there for ever, with the whole cluster behind it: 5 MB a schedule.
 */
export async function withPlainSignals<T>(work: () => Promise<T>): Promise<T> {
  const original = AbortSignal.any;
  AbortSignal.any = anyOf;
  try {
    return await work();
  } finally {
    AbortSignal.any = original;
  }
}

function anyOf(signals: Iterable<AbortSignal>): AbortSignal {
  const first = new AbortController();
  for (const signal of signals) {
    // More than ten wait for the end of a process.
    setMaxListeners(0, signal);
    if (signal.aborted) first.abort(signal.reason);
    else signal.addEventListener('abort', () => first.abort(signal.reason), { once: true });
  }
  return first.signal;
}
