/** The expected end of a rollout, without waits for a person or a window. */

import type { SetSummary } from '../../wire.js';
import { ageText, now } from '../now.js';

export function ExpectedEnd({ set: { assessment, expectedEndAt } }: { set: SetSummary }) {
  if (assessment !== 'progressing' || expectedEndAt === 0) return null;
  const time = new Date(expectedEndAt);
  return (
    <time dateTime={time.toISOString()} title={time.toISOString()}>
      {time.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })}, in about{' '}
      {ageText(now.value, expectedEndAt)}
    </time>
  );
}
