/** Time that can be injected: real in production, moved by hand in tests. */

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
