/** What a component reads from the server: the newest answer stays while the next one is on its way, so that nothing flickers. */
import { useCallback, useEffect, useState } from 'preact/hooks';
import { ApiFailure, get } from './api.js';

export interface Resource<T> {
  data: T | undefined;
  failure: ApiFailure | undefined;
  isLoading: boolean;
  reload(): void;
}

/**
 * Reads api/PATH, and again when it changes, when `reload` is called, or when `version` changes: something that this answer
 * depends on, such as the row of the node. Undefined reads nothing.
 */
export function useResource<T>(path: string | undefined, version?: unknown): Resource<T> {
  const [state, setState] = useState<{ path: string | undefined; data?: T; failure?: ApiFailure }>({ path });
  const [isLoading, setLoading] = useState(true);
  const [attempt, setAttempt] = useState(0);

  // attempt and version are there to read again.
  useEffect(() => {
    if (path === undefined) return undefined;
    const stop = new AbortController();
    setLoading(true);
    get<T>(path, stop.signal).then(
      (data) => {
        setState({ path, data });
        setLoading(false);
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        setState((before) => ({ ...(before.path === path && before), path, failure: asFailure(error) }));
        setLoading(false);
      },
    );
    return () => stop.abort();
  }, [path, attempt, version]);

  const reload = useCallback(() => setAttempt((count) => count + 1), []);
  const current = state.path === path ? state : undefined;
  return { data: current?.data, failure: current?.failure, isLoading, reload };
}

export const asFailure = (error: unknown): ApiFailure =>
  error instanceof ApiFailure
    ? error
    : new ApiFailure(0, 'Unknown', error instanceof Error ? error.message : String(error));
