/** The condition of a node as `relet describe` prints it. */
import { expect, test } from 'vitest';
import { configuredNode } from '../../../test/configured-node.js';
import { conditionText } from './describe.js';

test('ConfigOK of the assignment before is shown as such', () => {
  const condition = { status: 'True', reason: 'ConfigActive', message: 'It runs.', since: '2026-03-01T12:00:00Z' };
  const at = Date.parse('2026-03-01T12:00:15Z');
  const shown = [1, 2].map((observedGeneration) =>
    conditionText(configuredNode('n', { condition, generation: 2, observedGeneration }), at),
  );
  expect(shown).toEqual([
    'True for 15s, for the assignment before this one: It runs; ConfigActive',
    'True for 15s: It runs; ConfigActive',
  ]);
});
