/** Times as kubectl shortens them: `45s`, `12m`, `3h20m`, `5d`, `2y30d`. */

export function shortDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return withRest(days, 'd', hours % 24, 'h');
  if (days < 730) return `${days}d`;
  return withRest(Math.floor(days / 365), 'y', days % 365, 'd');
}

const withRest = (count: number, unit: string, rest: number, restUnit: string): string =>
  rest === 0 ? `${count}${unit}` : `${count}${unit}${rest}${restUnit}`;

/** `<unknown>` for no time, as kubectl has it. */
export function ageOf(timestamp: string | undefined, nowMs: number): string {
  const then = Date.parse(timestamp ?? '');
  return Number.isNaN(then) ? '<unknown>' : shortDuration(nowMs - then);
}
