/** Windows of a strategy: time zones, midnight, days on which they begin, and clocks that change. */
import { describe, expect, test } from 'vitest';
import type { Day } from '../api/node-config-set.js';
import { isTimeZone, windowAt } from './windows.js';

const window = (days: Day[], from: string, to: string, timeZone = 'UTC') => {
  const minute = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));
  return { days, fromMinute: minute(from), toMinute: minute(to), timeZone };
};
const at = (text: string) => Date.parse(text);

describe('windows', () => {
  test.each([
    // 2026-06-05 is a Friday.
    ['before it begins', window([], '22:00', '23:00'), '2026-06-05T21:59:59Z', false, '2026-06-05T22:00:00Z'],
    ['at its beginning', window([], '22:00', '23:00'), '2026-06-05T22:00:00Z', true, '2026-06-05T23:00:00Z'],
    ['at its end', window([], '22:00', '23:00'), '2026-06-05T23:00:00Z', false, '2026-06-06T22:00:00Z'],
    ['over midnight, before it', window([], '22:00', '04:00'), '2026-06-05T23:30:00Z', true, '2026-06-06T04:00:00Z'],
    ['over midnight, after it', window([], '22:00', '04:00'), '2026-06-06T03:59:00Z', true, '2026-06-06T04:00:00Z'],
    ['on the day it begins', window(['Sat'], '22:00', '04:00'), '2026-06-06T22:30:00Z', true, '2026-06-07T04:00:00Z'],
    [
      'on the day after, which is not listed',
      window(['Sat'], '22:00', '04:00'),
      '2026-06-07T01:00:00Z',
      true,
      '2026-06-07T04:00:00Z',
    ],
    [
      'on the morning of its day',
      window(['Sat'], '22:00', '04:00'),
      '2026-06-06T01:00:00Z',
      false,
      '2026-06-06T22:00:00Z',
    ],
    [
      'in another zone',
      window(['Sat'], '22:00', '23:00', 'Europe/Berlin'),
      '2026-06-06T20:30:00Z',
      true,
      '2026-06-06T21:00:00Z',
    ],
    [
      'in winter',
      window(['Sat'], '22:00', '23:00', 'Europe/Berlin'),
      '2026-01-03T21:30:00Z',
      true,
      '2026-01-03T22:00:00Z',
    ],
    // On 2026-03-29 clocks in Berlin go from 02:00 to 03:00.
    [
      'the night clocks go forward',
      window([], '01:30', '03:30', 'Europe/Berlin'),
      '2026-03-29T00:45:00Z',
      true,
      '2026-03-29T01:30:00Z',
    ],
    // On 2026-10-25 they go from 03:00 back to 02:00.
    [
      'the night clocks go back',
      window([], '01:30', '03:30', 'Europe/Berlin'),
      '2026-10-24T23:45:00Z',
      true,
      '2026-10-25T02:30:00Z',
    ],
    [
      'all day, from midnight to midnight',
      window(['Sun'], '00:00', '00:00'),
      '2026-06-07T12:00:00Z',
      true,
      '2026-06-08T00:00:00Z',
    ],
  ] as const)('%s', (_, one, now, open, changes) => {
    const found = windowAt([{ ...one, days: [...one.days] }], at(now));
    expect({ open: found.open, changes: new Date(found.changesAtMs ?? 0).toISOString() }).toEqual({
      open,
      changes: changes.replace('Z', '.000Z'),
    });
  });

  test('without windows it is always open, and one of several is enough', () => {
    expect(windowAt([], 0)).toEqual({ open: true });
    const both = [window([], '01:00', '02:00'), window([], '03:00', '04:00')];
    expect(windowAt(both, at('2026-06-05T03:30:00Z')).open).toBe(true);
    expect(windowAt(both, at('2026-06-05T02:30:00Z'))).toEqual({
      open: false,
      changesAtMs: at('2026-06-05T03:00:00Z'),
    });
  });

  test('only names of the IANA database are time zones', () => {
    expect(['Europe/Berlin', 'UTC', 'America/New_York'].every(isTimeZone)).toBe(true);
    expect(['Berlin', 'CEST+3', '', 'Europe/Nowhere'].some(isTimeZone)).toBe(false);
  });
});
