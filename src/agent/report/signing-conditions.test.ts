/** Conditions about signatures: none on a host that never had a trust file, and the state of each on one that has. */
import { expect, test } from 'vitest';
import type { SigningReport } from './report.js';
import { signingConditions } from './signing-conditions.js';

const status = { required: true };

test.each<[string, Partial<SigningReport>, string[]]>([
  ['nothing is wrong', {}, ['TrustFileUsable True', 'SignatureExpired False', 'UnsignedAccepted False']],
  ['the trust file is gone', { problem: 'it is missing' }, ['TrustFileUsable False it is missing']],
  ['the active statement has expired', { expiredAt: '2026-01-01' }, ['SignatureExpired True 2026-01-01']],
  ['a person lets unsigned configs pass', { unsigned: 'Until 10:00' }, ['UnsignedAccepted True Until 10:00']],
])('where %s', (_what, report, expected) => {
  const shown = signingConditions({ status, ...report }, []).map(
    ({ type, status, message }) => `${type} ${status} ${message}`,
  );
  for (const one of expected) {
    const [type, state, ...more] = one.split(' ');
    expect(shown).toContainEqual(expect.stringMatching(new RegExp(`^${type} ${state} .*${more.join(' ')}$`)));
  }
});

test('are absent without a trust file, and end with it where they were there', () => {
  expect(signingConditions(undefined, [])).toEqual([]);
  const present = signingConditions({ status }, []).map((one) => ({ ...one, lastTransitionTime: '' }));
  expect(signingConditions(undefined, present).map(({ type }) => type)).toEqual(present.map(({ type }) => type));
});
