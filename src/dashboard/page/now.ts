/** The time for ages and countdowns: one signal for the whole page, which moves once a second while the page is visible. */
import { signal } from '@preact/signals';
import { shortDuration } from '../../go/short-duration.js';

export const now = signal(Date.now());

export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1000);
}

/** `3m20s`, as kubectl shows ages; a clock that is a little behind the server's is not an error. */
export const ageText = (sinceMs: number, nowMs: number): string => shortDuration(Math.max(0, nowMs - sinceMs));
