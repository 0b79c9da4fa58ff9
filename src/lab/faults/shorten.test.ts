/** Which actions are left out of a schedule that breaks a promise. */
import { describe, expect, test } from 'vitest';
import { type Action, makeSchedule } from './schedule.js';
import { shorten } from './shorten.js';
import type { SimulationResult } from './simulate.js';

const kill = (atMs: number): Action => ({ atMs, kind: 'kill-kubelet', node: 'node-1' });
const config = { name: 'c1', version: 1, class: 'good', isOverlay: false } as const;

/** As a schedule that breaks a promise for as long as it has all of these actions. */
function failsWith(needed: readonly Action[], promise: 1 | 2 = 2) {
  return async (schedule: SimulationResult['run']['schedule']): Promise<SimulationResult> => {
    const isBroken = needed.every((action) => schedule.actions.includes(action));
    const violations = isBroken ? [{ promise, atMs: 0, what: '' }] : [];
    return { run: { schedule } as SimulationResult['run'], violations };
  };
}

describe('shorten', () => {
  const actions = Array.from({ length: 20 }, (_, index) => kill(index));
  const schedule = { ...makeSchedule('any'), actions };

  test('leaves only the actions without which the promise is kept', async () => {
    const needed = [actions[3]!, actions[16]!];
    const run = failsWith(needed);
    const { shortest, leftOut, isComplete, runs } = await shorten(await run(schedule), {
      run,
      mayContinue: () => true,
    });
    expect(shortest.run.schedule.actions).toEqual(needed);
    expect({ leftOut, isComplete }).toEqual({ leftOut: 18, isComplete: true });
    expect(runs).toBeLessThan(30);
  });

  test('does not take another promise for the one that was broken', async () => {
    const first = await failsWith([])(schedule);
    const run = failsWith([], 1);
    expect((await shorten(first, { run, mayContinue: () => true })).leftOut).toBe(0);
  });

  test('does not leave out the creation of a config that is used', async () => {
    const create: Action = { atMs: 0, kind: 'create', config };
    const assign: Action = { atMs: 1, kind: 'assign', node: 'node-1', config: 'c1' };
    const run = failsWith([assign]);
    const first = await run({ ...schedule, actions: [create, assign, kill(2)] });
    const { shortest } = await shorten(first, { run, mayContinue: () => true });
    expect(shortest.run.schedule.actions).toEqual([create, assign]);
  });

  test('reports how far it came when the time is over', async () => {
    const run = failsWith([actions[19]!]);
    let left = 2;
    const result = await shorten(await run(schedule), { run, mayContinue: () => left-- > 0 });
    expect(result).toMatchObject({ runs: 2, isComplete: false });
    expect(result.leftOut).toBeGreaterThan(0);
  });
});
