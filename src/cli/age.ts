/** How long ago something was, as kubectl says it: `45s`, `12m`, `3h20m`, `5d`. */
import { shortDuration } from '../go/short-duration.js';

/** `<unknown>` for no time, as kubectl has it. A server whose clock is ahead made it just now. */
export function ageOf(timestamp: string | undefined, nowMs: number): string {
  const then = Date.parse(timestamp ?? '');
  return Number.isNaN(then) ? '<unknown>' : shortDuration(Math.max(0, nowMs - then));
}
