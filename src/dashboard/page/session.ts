/** The logged-in user and their permissions: actions without a permission are not shown. */
import { effect, signal } from '@preact/signals';
import type { Me } from '../wire.js';
import { ApiFailure, get, loggedOut, post, setCsrf } from './api.js';
import { notify } from './parts/notices.js';
import { asFailure } from './resource.js';
import { accessVersion, closeStream, openStream } from './stream.js';

export const me = signal<Me | undefined>(undefined);
/** Why there is no session, where it is not only a missing login. */
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
    // Not shown where there is a session already: the link may have been used before, in this very browser.
    await post('login', { once }).catch((error: unknown) => {
      sessionFailure.value = linkFailure(asFailure(error));
    });
  }
  await readMe();
}

/** A link that the API server could not check is not used up. */
function linkFailure(failure: ApiFailure): ApiFailure {
  const { status, reason, message } = failure;
  if (status === 401) return failure;
  return new ApiFailure(status, reason, message, 'Open the link again; it works once, within ten minutes.');
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
    if (failure.status === 401) {
      // The login itself is what is asked for; any other reason is why the one before it failed.
      if (failure.reason !== 'LoginNeeded') sessionFailure.value = failure;
      return;
    }
    if (me.value === undefined || loggedOut.value) sessionFailure.value = failure;
    else notify('failed', `Your permissions could not be read again: ${failure.message}`);
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
  try {
    await post('logout');
  } catch (error) {
    const failure = asFailure(error);
    if (failure.status !== 401) return notify('failed', `You are still logged in: ${failure.message}`);
  }
  closeStream();
  me.value = undefined;
  loggedOut.value = true;
}
