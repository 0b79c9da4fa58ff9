/** Times in API objects: RFC 3339 in UTC, to the second, or to the microsecond for leases and new events. */
import { quote } from '../../go/quote.js';
import { DecodeError } from '../resource.js';

const layouts = { time: '2006-01-02T15:04:05Z07:00', microtime: '2006-01-02T15:04:05.000000Z07:00' };
const pattern = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?(Z|[+-]\d{2}:\d{2})$/;

export interface Instant {
  epochSeconds: number;
  micros: number;
}

export function parseTime(text: string, precision: 'time' | 'microtime' = 'time'): Instant {
  const match = pattern.exec(text);
  const epochMs = match === null ? Number.NaN : Date.parse(text.replace(/[.,]\d+/, ''));
  if (match === null || Number.isNaN(epochMs)) {
    // Go names the part that failed; here it is always the first.
    throw new DecodeError(`${parsing(text, precision)} cannot parse ${quote(text)} as "2006"`);
  }
  const fraction = /\.\d{6}(?!\d)/;
  if (precision === 'microtime' && !fraction.test(text)) {
    throw new DecodeError(`${parsing(text, precision)} cannot parse ${quote(text.slice(19))} as ".000000"`);
  }
  return { epochSeconds: epochMs / 1000, micros: Number((match[7] ?? '').padEnd(6, '0').slice(0, 6)) };
}

function parsing(text: string, precision: 'time' | 'microtime'): string {
  return `parsing time ${quote(text)} as ${quote(layouts[precision])}:`;
}

export function formatTime({ epochSeconds, micros }: Instant, precision: 'time' | 'microtime'): string {
  const seconds = new Date(epochSeconds * 1000).toISOString().slice(0, 19);
  return precision === 'time' ? `${seconds}Z` : `${seconds}.${`${micros}`.padStart(6, '0')}Z`;
}
