/** Timelines of rehearsals. */
import { expect, test } from 'vitest';
import { areas, progressText, splitLines } from './rehearsal-view.js';

test('counts are steps from the bottom up, over the whole time', () => {
  const samples = [
    { seconds: 0, updated: 0, inTrial: 1, pending: 0, failed: 0 },
    { seconds: 10, updated: 1, inTrial: 0, pending: 0, failed: 1 },
  ];
  expect(areas(samples, 100, 20)).toEqual({
    updated: 'M0 20L100 20L100 10L100 20L100 20L0 20Z',
    trial: 'M0 10L100 10L100 10L100 10L100 20L0 20Z',
    failed: 'M0 10L100 10L100 0L100 10L100 10L0 10Z',
  });
  expect(areas([], 100, 20)).toEqual({ updated: '', trial: '', failed: '' });
});

test('lines that arrive in pieces are complete before they are read', () => {
  expect(splitLines('{"a":1}\n\n{"b"')).toEqual({ lines: ['{"a":1}'], rest: '{"b"' });
  expect(splitLines('{"a":1}\n')).toEqual({ lines: ['{"a":1}'], rest: '' });
});

test('progress of the command is a sentence; what is not JSON stays as it is', () => {
  const line = JSON.stringify({ seconds: 600, wave: '2/3', selected: 40, updated: 4, failed: 1, waiting: 'trials' });
  expect(progressText(line)).toBe('After 10m: wave 2/3, 4 of 40 nodes updated, 1 failed; waits for: trials');
  expect(progressText('reading the cluster')).toBe('reading the cluster');
});
