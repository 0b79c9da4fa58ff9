/** Consequences of an approval, before a person gives it. */
import { expect, test } from 'vitest';
import type { Wave, WaveStatus } from '../api/node-config-set.js';
import { nextStopText, untilNextStop as untilStop } from './next-stop.js';

const untilNextStop = (waves: WaveStatus[], rules: Wave[], approved: number) =>
  untilStop({ spec: { selector: {}, config: {}, strategy: { waves: rules } }, status: { waves } }, approved);

/** Targets; the first wave has its nodes and waits. */
const waiting = (...targets: number[]): WaveStatus[] =>
  targets.map((nodes, at) => {
    const done = at === 0 ? nodes : 0;
    const state = at === 0 ? 'AwaitingApproval' : 'Pending';
    return { wave: at + 1, nodes, assigned: done, updated: done, failed: 0, state };
  });
const asks: Wave = { nodes: 1, approve: true };

test('the approval of a canary before an empty wave lets all other nodes change', () => {
  const next = untilNextStop(waiting(1, 1, 10), [asks, { nodes: '10%' }, { nodes: '100%' }], 1);
  expect(next).toEqual({ waves: [{ wave: 3, nodes: 9, soakMs: 0 }], skipped: [2], waitsAfter: undefined });
  expect(nextStopText(next)).toBe(
    '9 nodes will change in wave 3. Then the rollout is complete. Wave 2 has no nodes and is skipped.',
  );
});

test('an empty wave that asks for approval is not a stop', () => {
  const next = untilNextStop(waiting(1, 1, 10), [asks, { nodes: '10%', approve: true }, { nodes: '100%' }], 1);
  expect([next.waves.length, next.waitsAfter]).toEqual([1, undefined]);
});

test('several waves follow until one asks again', () => {
  const rules = [asks, { nodes: 3, soak: '10m' }, { nodes: 6, approve: true }, { nodes: '100%' }];
  const next = untilNextStop(waiting(1, 3, 6, 10), rules, 1);
  expect(nextStopText(next)).toBe(
    '5 nodes will change without another approval: 2 nodes in wave 2, then a soak of 10m; 3 nodes in wave 3. Then it waits for the approval of wave 3.',
  );
});

test('what is approved beforehand is not asked for', () => {
  const rules = [asks, { nodes: 3, approve: true }, { nodes: '100%' }];
  expect(untilNextStop(waiting(1, 3, 10), rules, 2).waitsAfter).toBeUndefined();
  expect(untilNextStop(waiting(1, 3, 10), rules, 1).waitsAfter).toBe(2);
});

test('the rest of a wave under way counts', () => {
  const [first, ...more] = waiting(3, 10);
  const rolling = [{ ...first!, assigned: 1, state: 'Rolling' as const }, ...more];
  expect(untilNextStop(rolling, [asks, { nodes: '100%' }], 1).waves).toMatchObject([{ nodes: 2 }, { nodes: 7 }]);
});
