/** How long ago something was, or how long until it will be; moves by itself, and shows the exact time on demand. */
import { ageText, now } from '../now.js';

export function Age({ ms }: { ms: number }) {
  const iso = new Date(ms).toISOString();
  return (
    <time dateTime={iso} title={iso}>
      {ageText(ms, now.value)}
    </time>
  );
}

/** `4m10s left`, then `over`. */
export function Countdown({ endMs }: { endMs: number }) {
  const left = endMs - now.value;
  return (
    <time dateTime={new Date(endMs).toISOString()}>{left > 0 ? `${ageText(now.value, endMs)} left` : 'over'}</time>
  );
}
