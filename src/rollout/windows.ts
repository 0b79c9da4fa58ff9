/** Maintenance windows in which nodes may be changed: times of day in a time zone, on some days of the week, also over midnight. Pure. */
import type { Day } from '../api/node-config-set.js';

export interface TimeWindow {
  /** On which it begins; empty: every day. */
  days: Day[];
  fromMinute: number;
  /** Not later than `fromMinute`: on the next day. */
  toMinute: number;
  timeZone: string;
}

const week: readonly Day[] = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const minuteMs = 60_000;
const dayMinutes = 24 * 60;

/** Clocks that change in between move a boundary by so much. */
const clockChanges = [-60, -30, 0, 30, 60];

/** Whether one is open now, and when that changes next. Without windows it is always open. */
export function windowAt(windows: readonly TimeWindow[], nowMs: number): { open: boolean; changesAtMs?: number } {
  if (windows.length === 0) return { open: true };
  const isAnyOpen = (atMs: number) => windows.some((one) => isOpen(one, atMs));
  const open = isAnyOpen(nowMs);
  const changesAtMs = boundaries(windows, nowMs).find((atMs) => isAnyOpen(atMs) !== open);
  return changesAtMs === undefined ? { open } : { open, changesAtMs };
}

/** When a window may begin or end in the next eight days, soonest first. */
function boundaries(windows: readonly TimeWindow[], nowMs: number): number[] {
  const startMs = Math.floor(nowMs / minuteMs) * minuteMs;
  const found = windows.flatMap(({ fromMinute, toMinute, timeZone }) => {
    const { minute } = localTime(startMs, timeZone);
    const days = [0, 1, 2, 3, 4, 5, 6, 7, 8];
    return days.flatMap((day) =>
      [fromMinute, toMinute].flatMap((at) => clockChanges.map((by) => day * dayMinutes + at - minute + by)),
    );
  });
  return [...new Set(found)]
    .filter((minutes) => minutes > 0)
    .sort((a, b) => a - b)
    .map((minutes) => startMs + minutes * minuteMs);
}

function isOpen({ days, fromMinute, toMinute, timeZone }: TimeWindow, atMs: number): boolean {
  const { day, minute } = localTime(atMs, timeZone);
  const beginsOn = (one: number) => days.length === 0 || days.includes(week[(one + 7) % 7]!);
  if (fromMinute < toMinute) return beginsOn(day) && minute >= fromMinute && minute < toMinute;
  return (beginsOn(day) && minute >= fromMinute) || (beginsOn(day - 1) && minute < toMinute);
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Day of the week, Sunday is 0, and minute of the day in that zone. */
function localTime(atMs: number, timeZone: string): { day: number; minute: number } {
  let format = formats.get(timeZone);
  if (format === undefined) {
    const fields = { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
    format = new Intl.DateTimeFormat('en-US', { ...fields, timeZone });
    formats.set(timeZone, format);
  }
  const parts = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  return { day: week.indexOf(parts.weekday as Day), minute: Number(parts.hour) * 60 + Number(parts.minute) };
}

export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
