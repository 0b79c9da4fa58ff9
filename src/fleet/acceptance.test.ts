/** Errors that a payload has in common with the local config. */
import { expect, test } from 'vitest';
import { overlayText } from '../../test/overlay-files.js';
import { acceptanceErrors } from './acceptance.js';

const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, '1Mi']));
const minor = 37;

test('errors that the local config has alone too are left out', () => {
  const local = { kubeReserved: keys(20) };
  expect(acceptanceErrors(overlayText('config: {maxPods: 50}'), { minor, local })).toEqual([]);
});

test('errors that are only counted are never left out: they may be other ones', () => {
  const overlay = overlayText('config: {kubeReserved: {z: 1Mi}}\nunset: ["kubeReserved[k9]"]');
  const errors = acceptanceErrors(overlay, { minor, local: { kubeReserved: keys(150) } });
  expect(errors.some(({ more }) => more === 50)).toBe(true);
  const pinned = acceptanceErrors(overlay, { minor, local: { kubeReserved: keys(150) }, pinned: ['maxPods'] });
  expect(pinned.some(({ more }) => more === 50)).toBe(true);
});
