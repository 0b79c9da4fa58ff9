/** A hook that reads data from the server. The last answer stays until the next one arrives, so that the page does not flicker. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiFailure, get } from './api.js';

export interface Resource<T> {
  data: T | undefined;
  failure: ApiFailure | undefined;
  isLoading: boolean;
  reload(): void;
}

interface State<T> {
  path: string | undefined;
  data?: T;
  failure?: ApiFailure;
}

/**
 * Reads api/PATH, and again when it changes, when `reload` is called, or when `version` changes: something that this answer
 * depends on, such as the row of the node. Undefined reads nothing.
 */
export function useResource<T>(path: string | undefined, version?: unknown): Resource<T> {
  const [state, setState] = useState<State<T>>({ path });
  const [isLoading, setLoading] = useState(true);
  const [attempt, setAttempt] = useState(0);
  const reader = useRef<() => Promise<void>>(undefined);

  useEffect(() => {
    if (path === undefined) return undefined;
    const stop = new AbortController();
    let isReading = false;
    let isDue = false;
    reader.current = async () => {
      // Data that changes faster than it is answered is shown all the same, and read again.
      isDue = true;
      if (isReading) return;
      isReading = true;
      setLoading(true);
      while (isDue) {
        isDue = false;
        const next = await get<T>(path, stop.signal).then(
          (data) => () => ({ path, data }),
          (error: unknown) => (before: State<T>) => ({
            ...(before.path === path && before),
            path,
            failure: asFailure(error),
          }),
        );
        if (stop.signal.aborted) return;
        setState(next);
      }
      isReading = false;
      setLoading(false);
    };
    return () => {
      stop.abort();
      reader.current = undefined;
    };
  }, [path]);
  // attempt and version are there to read again.
  useEffect(() => void reader.current?.(), [path, attempt, version]);

  const reload = useCallback(() => setAttempt((count) => count + 1), []);
  const current = state.path === path ? state : undefined;
  return { data: current?.data, failure: current?.failure, isLoading, reload };
}

export const asFailure = (error: unknown): ApiFailure =>
  error instanceof ApiFailure
    ? error
    : new ApiFailure(0, 'Unknown', error instanceof Error ? error.message : String(error));
