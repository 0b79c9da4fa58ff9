/** A promise that resolves when an AbortSignal fires. */

/** Resolves when the signal fires, at once when it has fired. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
