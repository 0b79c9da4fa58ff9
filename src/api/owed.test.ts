/** The annotation that says what is left to do on a host. */
import { expect, test } from 'vitest';
import { addOwed, readOwed } from './owed.js';

const reboot = { needs: ['reboot' as const], fields: ['cgroupDriver'], at: '2026-01-01T00:00:00Z' };
const drain = { needs: ['drain' as const], fields: ['featureGates[X]'], at: '2026-01-02T00:00:00Z' };

test('it is read as it was written', () => {
  expect(readOwed(JSON.stringify(reboot))).toEqual(reboot);
});

test.each([
  undefined,
  '',
  'reboot',
  '[]',
  '{"needs":["reboot"]}',
  '{"needs":["party"],"at":"x"}',
  '{"needs":1,"at":"x"}',
])('%j owes nothing', (text) => {
  expect(readOwed(text)).toBeUndefined();
});

test('an action of a newer relet is left out', () => {
  expect(readOwed('{"needs":["party","drain"],"at":"x"}')).toEqual({ needs: ['drain'], fields: [], at: 'x' });
});

test('another change keeps what is still owed', () => {
  expect(addOwed(reboot, drain)).toEqual({
    needs: ['drain', 'reboot'],
    fields: ['cgroupDriver', 'featureGates[X]'],
    at: drain.at,
  });
  expect(addOwed(reboot, undefined)).toEqual(reboot);
  expect(addOwed(undefined, drain)).toEqual(drain);
});
