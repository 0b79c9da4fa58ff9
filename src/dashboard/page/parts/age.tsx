/** A relative time, past or future. It updates itself, and shows the exact time on hover. */
import { ageText, now } from '../now.js';

export const Age = ({ ms }: { ms: number }) => <Time ms={ms} text={ageText(ms, now.value)} />;

/** `4m10s ago`. */
export const Ago = ({ ms }: { ms: number }) => <Time ms={ms} text={`${ageText(ms, now.value)} ago`} />;

/** `4m10s left`, then `over`. */
export const Countdown = ({ endMs }: { endMs: number }) => (
  <Time ms={endMs} text={endMs > now.value ? `${ageText(now.value, endMs)} left` : 'over'} />
);

function Time({ ms, text }: { ms: number; text: string }) {
  // As kubectl shows a time that is missing or not valid.
  if (!Number.isFinite(ms)) return '<unknown>';
  const iso = new Date(ms).toISOString();
  return (
    <time dateTime={iso} title={iso}>
      {text}
    </time>
  );
}
