/** Places for child processes: for each person and by the memory of the server. */
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../../test/manual-clock.js';
import { memoryOf, Places } from './places.js';

const never = new AbortController().signal;

/** Work that runs until it is ended; `running` has the names of what runs. */
function rig(limitMB: number) {
  const clock = new ManualClock();
  const places = new Places({ limitMB, clock });
  const running = new Map<string, () => void>();
  const start = (name: string, person: string, kind: 'rehearsal' | 'command' | 'answer', signal = never) => {
    const outcome = places.within({ person, kind, signal }, async () => {
      await new Promise<void>((resolve) => running.set(name, resolve));
      running.delete(name);
      return 'ended';
    });
    return outcome.catch((error: { problem?: { reason: string; message: string } }) => error.problem?.message ?? error);
  };
  const settled = async () => {
    for (let i = 0; i < 20; i++) await Promise.resolve();
  };
  return { clock, running, start, settled, names: () => [...running.keys()] };
}

describe('places', () => {
  test('a third command of a person waits until one of the two has ended, that of another person does not', async () => {
    const { start, names, running, settled } = rig(4096);
    for (const name of ['a1', 'a2', 'a3']) void start(name, 'ann', 'command');
    void start('b1', 'bob', 'command');
    await settled();
    expect(names()).toEqual(['a1', 'a2', 'b1']);
    running.get('a1')!();
    await settled();
    expect(names()).toEqual(['a2', 'b1', 'a3']);
  });

  test('people together never get more memory than the limit leaves, and small work passes a rehearsal that waits', async () => {
    const { start, names, running, settled } = rig(2048);
    void start('a', 'ann', 'rehearsal');
    void start('b', 'bob', 'rehearsal');
    void start('c', 'cid', 'answer');
    await settled();
    expect(names()).toEqual(['a', 'c']);
    running.get('a')!();
    await settled();
    expect(names()).toEqual(['c', 'b']);
  });

  test('work without a place in time is refused with the reason, and its place is not lost', async () => {
    const { start, names, running, settled, clock } = rig(2048);
    void start('a', 'ann', 'rehearsal');
    const other = start('b', 'bob', 'rehearsal');
    void start('a2', 'ann', 'answer');
    const own = start('a3', 'ann', 'answer');
    await settled();
    clock.advance(10_000);
    expect(await other).toMatch(/^Commands of other people use all the memory/);
    expect(await own).toMatch(/^2 commands of yours are running already/);
    for (const name of ['a', 'a2']) running.get(name)!();
    await settled();
    void start('b', 'bob', 'rehearsal');
    await settled();
    expect(names()).toEqual(['b']);
  });

  test('work whose browser has gone while it waited is never started', async () => {
    const { start, names, running, settled } = rig(2048);
    const gone = new AbortController();
    void start('a', 'ann', 'rehearsal');
    const waiting = start('b', 'bob', 'rehearsal', gone.signal);
    await settled();
    gone.abort(new Error('gone'));
    running.get('a')!();
    expect(await waiting).toEqual(new Error('gone'));
    expect(names()).toEqual([]);
  });

  test.each([128, 512, 1024, 2048, 65_536])(
    'with %d MB a rehearsal and another child fit, if anything does',
    (limitMB) => {
      const { totalMB, shares } = memoryOf(limitMB);
      expect(shares.rehearsal).toBeLessThanOrEqual(totalMB);
      if (limitMB >= 1024) {
        expect(shares.rehearsal + shares.command).toBeLessThanOrEqual(totalMB);
        expect(shares.rehearsal + shares.command).toBeLessThan(limitMB - 256);
      }
    },
  );
});
