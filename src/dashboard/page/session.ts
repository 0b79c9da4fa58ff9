/** Who is logged in, and what they may do: what they may not do is absent from the page. */
import { effect, signal } from '@preact/signals';
import type { Me } from '../wire.js';
import { type ApiFailure, get, loggedOut, post, setCsrf } from './api.js';
import { asFailure } from './resource.js';
import { accessVersion, closeStream, openStream } from './stream.js';

export const me = signal<Me | undefined>(undefined);
/** Why the session cannot be read, where it is not a missing login. */
export const sessionFailure = signal<ApiFailure | undefined>(undefined);

/** A one-time link ends in `#once=CODE`: the fragment is not sent by the browser, and leaves the address at once. */
export async function openSession(): Promise<void> {
  // Permissions changed while the page was open.
  effect(() => {
    if (accessVersion.value > 0) void readMe();
  });
  const once = /^#once=(.+)$/.exec(location.hash)?.[1];
  if (once !== undefined) {
    history.replaceState(null, '', location.pathname + location.search);
    // The link may have been used before, in this very browser: then there is a session already.
    await post('login', { once }).catch(() => undefined);
  }
  await readMe();
}

async function readMe(): Promise<void> {
  try {
    const answer = await get<Me>('me');
    const isNew = me.value === undefined || loggedOut.value;
    // Another person may have been logged in: what they have read is not shown.
    if (isNew) closeStream();
    setCsrf(answer.csrf);
    sessionFailure.value = undefined;
    loggedOut.value = false;
    me.value = answer;
    if (isNew) openStream();
  } catch (error) {
    const failure = asFailure(error);
    if (failure.status !== 401) sessionFailure.value = failure;
  }
}

export const retrySession = (): void => void readMe();

/** Throws an ApiFailure where the token is refused. */
export async function login(token: string): Promise<void> {
  await post('login', { token });
  setCsrf('');
  await readMe();
}

export async function logout(): Promise<void> {
  closeStream();
  await post('logout').catch(() => undefined);
  me.value = undefined;
  loggedOut.value = true;
}
