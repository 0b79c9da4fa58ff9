/** The Clock interface: real time in production, moved by hand in tests; and times in the format of the Kubernetes API. */

export interface Clock {
  /** Wall-clock milliseconds since the epoch. May jump; never measure durations with it. */
  now(): number;
  /** Milliseconds that only ever go forward. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with the signal's reason when it is aborted first. With 0 it only yields to the event loop. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // Not performance.now(): the first use of `performance` loads a dozen of Node's modules.
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      // A timer waits for a millisecond at least.
      if (ms === 0) return void setImmediate(wake);
      const timer = setTimeout(wake, ms);
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};

/** metav1.Time: RFC 3339 in UTC with whole seconds. */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** metav1.MicroTime: RFC 3339 in UTC with microseconds. */
export function rfc3339Micro(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/** The result, or undefined if it takes longer: then it is no longer waited for, and how it ends is its own affair. */
export async function withinMs<T>(clock: Pick<Clock, 'sleep'>, ms: number, work: Promise<T>): Promise<T | undefined> {
  const over = new AbortController();
  const late = clock.sleep(ms, over.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}
