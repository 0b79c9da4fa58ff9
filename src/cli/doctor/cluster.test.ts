/** Diagnoses about guards that were, or were not, checked. */
import { describe, expect, test } from 'vitest';
import { guardsDiagnosis } from './cluster.js';

const now = Date.parse('2026-01-01T00:10:00Z');
const inForce = {
  type: 'Guarded',
  status: 'True' as const,
  reason: 'AdmissionPolicies',
  message: 'policies guard',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
const checkedAt = (renewTime: string) => ({ renewTime, leaseDurationSeconds: 180 });

describe('relet doctor: guards', () => {
  test('that were checked lately are in force', () => {
    const found = guardsDiagnosis(inForce, checkedAt('2026-01-01T00:09:48.000000Z'), now);
    expect(found).toEqual({ level: 'ok', what: 'guards: policies guard, 12s ago (AdmissionPolicies)' });
  });

  test.each([
    ['whose check is old', checkedAt('2026-01-01T00:05:00.000000Z'), 'last checked 5m ago'],
    ['that nobody ever checked', {}, 'never checked'],
    ['whose check has no valid time', checkedAt('yesterday'), 'nobody knows'],
  ])('%s are not claimed to be in force', (_what, lease, words) => {
    const found = guardsDiagnosis(inForce, lease, now);
    expect(found).toMatchObject({ level: 'error', what: expect.stringContaining(words) });
    expect(found.remedy).toContain('the controller runs');
  });
});
