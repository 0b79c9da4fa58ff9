/** Requests to the dashboard's server. Every failure becomes an ApiFailure, which names what to do. */
import { signal } from '@preact/signals';
import { csrfHeader } from '../wire.js';

export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  constructor(
    /** Status of the answer; 0 if there was none. */
    readonly status: number,
    readonly reason: string,
    message: string,
    readonly remedy?: string,
    readonly command?: string,
  ) {
    super(message);
  }
}

/** The session is over, or there never was one: the page shows the login. */
export const loggedOut = signal(false);

/**
 * The server wants it in every request that changes something; a page of another origin cannot know it. It is in all others too, once it
 * is known: tabs share their cookie, which may be that of another login by now.
 */
let csrf = '';
export const setCsrf = (value: string): void => {
  csrf = value;
};

export const apiUrl = (path: string): URL => new URL(`api/${path}`, document.baseURI);

/** `sets/a%2Fb` from ['sets', 'a/b']. */
export const apiPath = (...segments: string[]): string => segments.map(encodeURIComponent).join('/');

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  request<T>(path, { headers: csrf === '' ? {} : { [csrfHeader]: csrf }, signal: signal ?? null });

export const post = <T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> =>
  postRaw(path, body, signal).then((answer) => answer.json() as Promise<T>);

/** For an answer that is read while it arrives. */
export const postRaw = (path: string, body: unknown, signal?: AbortSignal): Promise<Response> =>
  answered(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', [csrfHeader]: csrf },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });

async function request<T>(path: string, init: RequestInit): Promise<T> {
  return (await answered(path, init)).json() as Promise<T>;
}

async function answered(path: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    // A proxy in front answers a program that asks for JSON with 401, or with a redirect to its login, which only a whole page can follow.
    const headers = { ...init.headers, accept: 'application/json' };
    answer = await fetch(apiUrl(path), { ...init, headers, credentials: 'same-origin', redirect: 'manual' });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiFailure(
      0,
      'Unreachable',
      'The dashboard’s server does not answer.',
      'Check that `relet dashboard` still runs and that the network is up; the page tries again automatically.',
    );
  }
  if (answer.ok) return answer;
  if (answer.type === 'opaqueredirect') {
    loggedOut.value = true;
    throw new ApiFailure(401, 'ProxyLogin', 'The proxy in front of this page asks for a login.');
  }
  if (answer.status === 401) loggedOut.value = true;
  const failure = await failureOf(answer);
  if (failure.reason !== 'CSRFTokenMissing') throw failure;
  // Another login in this browser: nothing that it may read is shown under the name on this page.
  location.reload();
  return new Promise(() => {});
}

async function failureOf(answer: Response): Promise<ApiFailure> {
  const known = (await answer.json().catch(() => ({}))) as Partial<
    Record<'reason' | 'message' | 'remedy' | 'command', string>
  >;
  const message = known.message ?? `The server answered ${answer.status} ${answer.statusText}.`;
  return new ApiFailure(answer.status, known.reason ?? 'Unknown', message, known.remedy, known.command);
}
