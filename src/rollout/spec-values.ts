/** Parsers for single values of a spec; an error names the field. Pure. */
import type { Share } from '../api/node-config-set.js';
import { tryParseDuration } from '../go/duration.js';

/** The spec has a value that the schema let through, or that no API server has seen. */
export class InvalidSpec extends Error {
  override readonly name = 'InvalidSpec';
}

export function checkedShare(share: Share, at: string): Share {
  const isRight = typeof share === 'number' ? Number.isInteger(share) && share >= 0 : /^(100|[0-9]{1,2})%$/.test(share);
  if (!isRight) throw new InvalidSpec(`${at}: '${share}' is not a number of nodes or a percentage such as 25%`);
  return share;
}

export function durationMs(text: string, at: string): number {
  const nanoseconds = tryParseDuration(text);
  if (nanoseconds === undefined || nanoseconds < 0n)
    throw new InvalidSpec(`${at}: '${text}' is not a duration such as 10m or 1h30m`);
  return Number(nanoseconds / 1_000_000n);
}

export function minuteOfDay(text: string, at: string): number {
  const [, hour, minute] = /^([01][0-9]|2[0-3]):([0-5][0-9])$/.exec(text) ?? [];
  if (hour === undefined) throw new InvalidSpec(`${at}: '${text}' is not a time of day such as 22:00`);
  return Number(hour) * 60 + Number(minute);
}
