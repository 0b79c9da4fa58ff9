/** The queue of names: coalescing, one worker a name, the four endings, rate and shutdown. */
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../test/manual-clock.js';
import { type Ending, WorkQueue, type WorkQueueOptions } from './work-queue.js';

function setUp(options: Partial<WorkQueueOptions> & { endings?: Ending[] } = {}) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const started: { key: string; atMs: number }[] = [];
  const finish: (() => void)[] = [];
  const { endings = [], ...rest } = options;
  const queue = new WorkQueue({
    clock,
    signal: stop.signal,
    random: () => 0,
    work: async (key) => {
      started.push({ key, atMs: clock.monotonic() });
      await new Promise<void>((resolve) => finish.push(resolve));
      const ending = endings.shift() ?? { kind: 'done' };
      if (ending.kind === 'retry' && ending.error === 'throw') throw new Error('thrown');
      return ending;
    },
    ...rest,
  });
  const finishOne = async () => {
    finish.shift()!();
    await clock.advance(0);
  };
  return { clock, stop, started, queue, finishOne, finish };
}

describe('work queue', () => {
  test('a retry waits as it is told to, an appointment by the clock', async () => {
    const waits: number[] = [];
    let proceed: () => void = () => {};
    const { queue, clock, started, finishOne } = setUp({
      endings: [
        { kind: 'retry', error: new Error('away') },
        { kind: 'again', afterMs: 500 },
      ],
      pause: (ms) => {
        waits.push(ms);
        return new Promise((resolve) => {
          proceed = resolve;
        });
      },
    });
    queue.add('a');
    await finishOne();
    await clock.advance(60_000);
    expect(started).toHaveLength(1);
    proceed();
    await clock.advance(0);
    expect(started).toHaveLength(2);
    await finishOne();
    await clock.advance(500);
    expect([started.length, waits]).toEqual([3, [100]]);
  });

  test('a name added many times while it waits is worked once', async () => {
    const { queue, started, finishOne } = setUp();
    queue.add('busy');
    for (let i = 0; i < 10; i++) queue.add('a');
    await finishOne();
    await finishOne();
    expect(started.map(({ key }) => key)).toEqual(['busy', 'a']);
    expect(queue.size).toBe(0);
  });

  test('a name added during its own work is worked once more, never twice at a time', async () => {
    const { queue, started, finishOne } = setUp({ workers: 4 });
    queue.add('a');
    queue.add('a');
    queue.add('a');
    expect(started).toHaveLength(1);
    await finishOne();
    expect(started).toHaveLength(2);
    await finishOne();
    expect(started).toHaveLength(2);
  });

  test('as many passes run at a time as there are workers', async () => {
    const { queue, started, finishOne } = setUp({ workers: 2 });
    for (const key of ['a', 'b', 'c']) queue.add(key);
    expect(started.map(({ key }) => key)).toEqual(['a', 'b']);
    await finishOne();
    expect(started.map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  });

  test('failures wait longer each time, and a success forgets them', async () => {
    const retry: Ending = { kind: 'retry', error: 'throw' };
    const waits: number[] = [];
    const { clock, queue, finishOne } = setUp({
      endings: [retry, retry, retry, { kind: 'done' }, retry],
      backoff: { initialMs: 100, maxMs: 350 },
      onRetry: (_key, _error, _failures, waitMs) => waits.push(waitMs),
    });
    queue.add('a');
    for (const waitMs of [100, 200, 350]) {
      await finishOne();
      await clock.advance(waitMs);
    }
    await finishOne();
    queue.add('a');
    await finishOne();
    expect(waits).toEqual([100, 200, 350, 100]);
  });

  test('a pass that asks to come back does so after its time, once', async () => {
    const { clock, queue, started, finishOne } = setUp({ endings: [{ kind: 'again', afterMs: 5000 }] });
    queue.add('a');
    await finishOne();
    await clock.advance(4999);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    expect(started).toHaveLength(2);
  });

  test('a pass that gives up says so and comes back only when added', async () => {
    const given: unknown[] = [];
    const { clock, queue, started, finishOne } = setUp({
      endings: [{ kind: 'give-up', error: 'no use' }],
      onGiveUp: (key, error) => given.push([key, error]),
    });
    queue.add('a');
    await finishOne();
    await clock.advance(3_600_000);
    expect(given).toEqual([['a', 'no use']]);
    expect(started).toHaveLength(1);
    queue.add('a');
    expect(started).toHaveLength(2);
  });

  test('of two appointments the earlier counts, and an add cancels both', async () => {
    const { clock, queue, started, finishOne } = setUp();
    queue.addAfter('a', 1000);
    queue.addAfter('a', 500);
    queue.addAfter('a', 2000);
    expect(clock.sleeping).toEqual([500]);
    queue.add('a');
    expect(clock.sleeping).toEqual([]);
    await finishOne();
    await clock.advance(5000);
    expect(started).toHaveLength(1);
  });

  test('a rate lets a burst through and then one by one', async () => {
    const { clock, queue, started, finishOne } = setUp({ workers: 10, rate: { perSecond: 2, burst: 2 } });
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    await clock.advance(2000);
    expect(started).toEqual([
      { key: 'a', atMs: 0 },
      { key: 'b', atMs: 0 },
      { key: 'c', atMs: 500 },
      { key: 'd', atMs: 1000 },
    ]);
    await finishOne();
  });

  test('stopping drops what waits, lets the pass under way end, and leaves no timer', async () => {
    const { clock, stop, queue, started, finishOne } = setUp();
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 1000);
    stop.abort();
    let stopped = false;
    void queue.stopped.then(() => {
      stopped = true;
    });
    await clock.advance(0);
    expect(stopped).toBe(false);
    await finishOne();
    expect(stopped).toBe(true);
    queue.add('d');
    expect(started.map(({ key }) => key)).toEqual(['a']);
    expect(clock.sleeping).toEqual([]);
  });
});
